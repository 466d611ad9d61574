"""Last-seen times of keys and agents, buffered in memory and written by a worker at most once a minute."""

from datetime import datetime, timedelta

from storage.agents import begin_live, last_seen_of, last_used_of, touch_agent, touch_key
from storage.store import Store
from storage.tables import AgentRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.engine.caller import Caller

REST = timedelta(seconds=60)
MAX_REMEMBERED = 100_000


class LastSeenBuffer:
    """The buffered times; a crash loses at most the last minute."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], datetime] = {}  # (key id, or "" for a signature; agent id) -> last call
        self.on_live: set[str] = set()  # agents of which the first call on live is written

    def note_call(self, caller: Caller, now: datetime) -> bool:
        """Buffer the time of a call; return whether `begin_live` must run before its answer."""
        if caller.agent_id is None:
            return False
        self.seen[caller.key_id or "", caller.agent_id] = now
        return caller.env is Env.LIVE and caller.agent_id not in self.on_live

    async def begin_live(self, store: Store, caller: Caller, now: datetime) -> None:
        """Write an agent's first call on live, if this is the first."""
        agent = await store.read(lambda tx: tx.get(AgentRow, caller.agent))
        if agent is not None and agent.live_since is None:  # from now on its test key changes no identity
            await store.write(lambda tx: tx.run(begin_live, id=caller.agent, at=now), "begin_live")
        if len(self.on_live) >= MAX_REMEMBERED:
            self.on_live.clear()
        self.on_live.add(caller.agent)

    def drain(self) -> dict[tuple[str, str], datetime]:
        taken, self.seen = self.seen, {}
        return taken


def write_touches(tx: Tx, touches: dict[tuple[str, str], datetime]) -> None:
    """Write last_used_at of keys and last_seen_at of agents that are over a minute old."""
    keys, agents = dict[str, datetime](), dict[str, datetime]()
    for (key_id, agent_id), at in touches.items():
        keys[key_id] = at
        agents[agent_id] = max(at, agents.get(agent_id, at))
    tx.run_each(touch_key, _overdue(tx.all(last_used_of, ids=[*keys]), keys))
    seen = _overdue(tx.all(last_seen_of, ids=[*agents]), agents)
    tx.run_each(touch_agent, seen)
    tx.invalidate(*(f"seller:{one['id']}" for one in seen))  # their listings show when they were last seen


def _overdue(written: list[tuple[str, datetime | None]], calls: dict[str, datetime]) -> list[dict[str, object]]:
    """Return the values of the due updates by id, so that all processes lock in one order."""
    return [
        {"id": row_id, "at": calls[row_id], "before": calls[row_id] - REST}
        for row_id, last in sorted(written)
        if last is None or last < calls[row_id] - REST
    ]
