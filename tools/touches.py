"""Touches: which keys and agents were seen when, noted in memory and written by a worker at most once a minute."""

from datetime import datetime, timedelta

from storage.agents import touch_agent, touch_key
from storage.unit import Tx
from tools.context import Caller

REST = timedelta(seconds=60)


class Touches:
    """What is to be written; a crash loses at most the last minute of it."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], datetime] = {}  # (key id, or "" for a signature; agent id) -> last call

    def note(self, caller: Caller, now: datetime) -> None:
        if caller.agent_id:
            self.seen[caller.key_id or "", caller.agent_id] = now

    def take(self) -> dict[tuple[str, str], datetime]:
        taken, self.seen = self.seen, {}
        return taken


def write_touches(tx: Tx, touches: dict[tuple[str, str], datetime]) -> int:
    """Write last_used_at and last_seen_at where they are older than a minute; how many keys were touched."""
    for (key_id, agent_id), at in touches.items():
        tx.run(touch_key, id=key_id, at=at, before=at - REST)
        tx.run(touch_agent, id=agent_id, at=at, before=at - REST)
    return len(touches)
