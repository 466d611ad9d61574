"""The next step of a dispute panel, as a pure function of its seats, its round and the time.

A majority of the seats decides at once. A seat whose deadline passed is missed. When no seat is pending any more, seats
that were missed or void in the first round are drawn again, once. After that the most votes decide. If there is a tie
or no vote, the case goes to the operator. A seat is void if its evaluator left the market or was suspended. It does not
count as a miss, but is drawn again with the missed ones, so that the parties do not have fewer judges.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import accumulate, takewhile
from typing import TypeAlias

from storage.vocabulary import Outcome

PANEL_SEATS = 3


class Escalation(StrEnum):
    """Why a panel could not decide."""

    NO_ELIGIBLE_EVALUATORS = "no_eligible_evaluators"
    NO_INDEPENDENT_PANEL = "no_independent_panel"
    NO_VOTES = "no_votes"
    NO_PLURALITY = "no_plurality"


@dataclass(frozen=True, slots=True)
class Seat:
    """A seat as the rules see it: `pending`, with a vote, or neither (missed or void)."""

    round: int
    vote: Outcome | None
    pending: bool
    deadline_at: datetime


@dataclass(frozen=True, slots=True)
class MissDeadline:
    """The step that marks the pending seats as missed, because their deadline has passed."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The step that draws this number of seats in this round."""

    round: int
    seats: int


@dataclass(frozen=True, slots=True)
class Decision:
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Escalate:
    """The step that leaves the decision to the operator."""

    reason: Escalation


Step: TypeAlias = MissDeadline | Draw | Decision | Escalate


def majority(seats: int) -> int:
    """Return how many votes for one outcome decide at once."""
    return seats // 2 + 1


def tally(votes: Sequence[Seat]) -> Counter[Outcome]:
    return Counter(seat.vote for seat in votes if seat.vote is not None)


def next_step(number: int, size: int, seats: Sequence[Seat], now: datetime) -> Step | None:
    """Return what to do at `now` with a case; None if it waits for votes.

    Its panel has `size` seats and is in round `number`; 0 is before the first draw.
    """
    if number == 0:
        return Draw(1, PANEL_SEATS)
    votes = tally(seats)
    leading = votes.most_common(2)
    if leading and leading[0][1] >= majority(size):
        return Decision(leading[0][0])
    waiting = [seat for seat in seats if seat.pending]
    if any(now >= seat.deadline_at for seat in waiting):
        return MissDeadline()
    if waiting:
        return None
    empty = sum(seat.vote is None for seat in seats)
    if number == 1 and empty:
        return Draw(2, empty)
    if not leading:
        return Escalate(Escalation.NO_VOTES)
    if len(leading) == 2 and leading[0][1] == leading[1][1]:
        return Escalate(Escalation.NO_PLURALITY)
    return Decision(leading[0][0])


def not_drawn(
    wanted: int, eligible: int, seated: int, *, live: bool, number: int, bought: bool = False
) -> Escalation | None:
    """Return why the operator decides instead of the drawn panel; None if the panel sits.

    On live the first panel needs all its seats, on test at least one. Seats that are drawn again need not all be
    filled. `bought` tells that nobody was seated because a party had paid an evaluator; it holds in both rounds.
    """
    if bought:
        return Escalation.NO_INDEPENDENT_PANEL
    least = wanted if live else 1
    if number > 1 or seated >= least:
        return None
    return Escalation.NO_ELIGIBLE_EVALUATORS if eligible < least else Escalation.NO_INDEPENDENT_PANEL


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
