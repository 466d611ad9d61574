"""What a panel comes to: one pure function of its seats, its round and the time, asked again until nothing is left to do.

A majority of the seats decides at once. A seat whose deadline passed is missed. When no seat waits any more, those that
were missed or fell void in the first round are drawn again, once; after that the most votes decide, and where two
outcomes have as many, or nobody voted, the case goes to the operator. A seat that falls void (its evaluator left the
market or was suspended) is nobody's miss, and the parties should not have fewer judges for it: it is drawn again
together with the missed ones.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from tools.rules.draw import PANEL_SEATS
from tools.rules.jobfacts import Outcome


class Escalation(StrEnum):
    """Why a panel could not decide."""

    NO_ELIGIBLE_EVALUATORS = "no_eligible_evaluators"
    NO_VOTES = "no_votes"
    NO_PLURALITY = "no_plurality"


@dataclass(frozen=True, slots=True)
class Seat:
    """A seat as the rules see it: still `pending`, or with a vote, or neither."""

    round: int
    vote: Outcome | None
    pending: bool
    deadline_at: datetime


@dataclass(frozen=True, slots=True)
class Lapse:
    """The pending seats are missed: their deadline has passed."""


@dataclass(frozen=True, slots=True)
class Draw:
    """So many seats are to be drawn, in this round."""

    round: int
    seats: int


@dataclass(frozen=True, slots=True)
class Decision:
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Handover:
    """The operator decides."""

    reason: Escalation


Step: TypeAlias = Lapse | Draw | Decision | Handover


def majority(seats: int) -> int:
    """How many votes for one outcome decide at once."""
    return seats // 2 + 1


def tally(votes: Sequence[Seat]) -> Counter[Outcome]:
    return Counter(seat.vote for seat in votes if seat.vote is not None)


def next_step(number: int, size: int, seats: Sequence[Seat], now: datetime) -> Step | None:
    """What is to be done at `now` with a case whose panel has `size` seats and is in round `number`; None: it waits for votes."""
    if number == 0:
        return Draw(1, PANEL_SEATS)
    votes = tally(seats)
    leading = votes.most_common(2)
    if leading and leading[0][1] >= majority(size):
        return Decision(leading[0][0])
    waiting = [seat for seat in seats if seat.pending]
    if any(now >= seat.deadline_at for seat in waiting):
        return Lapse()
    if waiting:
        return None
    empty = sum(seat.vote is None for seat in seats)
    if number == 1 and empty:
        return Draw(2, empty)
    if not leading:
        return Handover(Escalation.NO_VOTES)
    if len(leading) == 2 and leading[0][1] == leading[1][1]:
        return Handover(Escalation.NO_PLURALITY)
    return Decision(leading[0][0])


def seated(wanted: int, eligible: int, *, live: bool, number: int) -> int | None:
    """How many of the wanted seats are filled; None: the operator decides instead.

    The first panel on live is whole or none; on test, and where seats are drawn again, there are as many as there are.
    """
    if number > 1:
        return min(wanted, eligible)
    if eligible == 0 or (live and eligible < wanted):
        return None
    return min(wanted, eligible)
