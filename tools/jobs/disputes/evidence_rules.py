"""Evidence in a dispute: until when the parties can add to it, and which of their messages a case file keeps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, takewhile

WAITS_FOR = 10  # on live no vote counts in the first tenth of the time to vote
MAX_MESSAGES = 100  # of each party
MAX_BYTES = 128 * 1024
OLDEST = 4  # a quarter of both bounds is for the oldest messages


@dataclass(frozen=True, slots=True)
class Statement:
    """A party's message, as far as the bounds need it."""

    id: str
    size: int  # bytes of body and data


def votes_count_from(seated_at: datetime, verdict_by: datetime, done: Sequence[datetime], *, live: bool) -> datetime:
    """Return the time from which votes count.

    On test they count at once. On live they count after a tenth of the time, or earlier if both parties are `done`.
    """
    if not live:
        return seated_at
    waits = seated_at + (verdict_by - seated_at) / WAITS_FOR
    return min(waits, max(done)) if len(done) == 2 else waits


def kept(oldest: Sequence[Statement], newest: Sequence[Statement], pinned: Statement | None) -> set[str]:
    """Return the ids of a party's messages that its case file shows.

    `oldest` begins with the first message, `newest` with the last one. Each has MAX_MESSAGES of them, or all if there
    are fewer. The pinned one is always kept: with it the party opened the dispute or first answered it.
    """
    found = {pinned.id: pinned.size} if pinned else {}
    for statements, share in ((oldest, OLDEST), (newest, 1)):
        rest = [one for one in statements if one.id not in found]
        most = min(MAX_MESSAGES // share, MAX_MESSAGES - len(found))
        room = min(MAX_BYTES // share, MAX_BYTES - sum(found.values()))
        found |= {one.id: one.size for one in _fitting(rest, most, room)}
    return set(found)


def _fitting(statements: Sequence[Statement], most: int, room: int) -> Iterable[Statement]:
    """Return the first statements that fit, up to the first one that does not."""
    totals = accumulate(one.size for one in statements)
    fits = takewhile(lambda pair: pair[1] <= room, zip(statements[: max(0, most)], totals, strict=False))
    return [one for one, _ in fits]
