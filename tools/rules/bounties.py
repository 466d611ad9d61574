"""The lifecycle of bounties and of proposals: the tables of their moves, and every question that is asked of them.

As with jobs the clock is an actor: a bounty past expires_at is expired whether or not a sweep has run.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from tools.rules.lifecycle import Actor, Move

BUYER, SELLER, CLOCK = Actor.BUYER, Actor.SELLER, Actor.CLOCK


class BountyState(StrEnum):
    """The states of a bounty; all but open are final."""

    OPEN = "open"
    AWARDED = "awarded"
    CLOSED = "closed"
    EXPIRED = "expired"


class ProposalState(StrEnum):
    """The states of a proposal; all but pending are final."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class BountyFacts:
    """What decides which moves a bounty has."""

    state: BountyState
    expires_at: datetime


BountyMove: TypeAlias = Move[BountyState, BountyFacts]
ProposalMove: TypeAlias = Move[ProposalState, None]
_B, _P = BountyState, ProposalState

BOUNTY_MOVES: tuple[BountyMove, ...] = (
    Move("post", None, BUYER, _B.OPEN),
    Move("award", _B.OPEN, BUYER, _B.AWARDED, "bounty.awarded"),
    Move("close", _B.OPEN, BUYER, _B.CLOSED, "bounty.closed"),
    Move("expire", _B.OPEN, CLOCK, _B.EXPIRED, "bounty.expired", deadline="expires_at"),
)
PROPOSAL_MOVES: tuple[ProposalMove, ...] = (
    Move("propose", None, SELLER, _P.PENDING, "bounty.proposal_received"),
    Move("propose", _P.PENDING, SELLER, _P.PENDING, "bounty.proposal_received"),
    Move("withdraw", _P.PENDING, SELLER, _P.WITHDRAWN),
    Move("award", _P.PENDING, BUYER, _P.ACCEPTED, "bounty.awarded"),
    Move("award", _P.PENDING, BUYER, _P.REJECTED, "bounty.closed"),  # the others
    Move("close", _P.PENDING, BUYER, _P.REJECTED, "bounty.closed"),
    Move("expire", _P.PENDING, CLOCK, _P.REJECTED, "bounty.expired"),
)


def due_move(facts: BountyFacts, now: datetime) -> BountyMove | None:
    """The clock's move that is due at `now`; a caller writes it before anything else."""
    found = (move for move in BOUNTY_MOVES if move.actor is CLOCK and move.source is facts.state)
    return next((move for move in found if move.is_open(facts, now)), None)


def state_now(facts: BountyFacts, now: datetime) -> BountyState:
    """The state as it stands once the clock's due move is made."""
    move = due_move(facts, now)
    return facts.state if move is None else move.target


def bounty_move(facts: BountyFacts, action: str, now: datetime) -> BountyMove | None:
    """The move of the buyer's `action` at `now`; None where there is none."""
    state = state_now(facts, now)
    found = (move for move in BOUNTY_MOVES if (move.action, move.source, move.actor) == (action, state, BUYER))
    return next(found, None)


def proposal_move(state: ProposalState | None, action: str, actor: Actor) -> ProposalMove | None:
    """The move of an action on a proposal in this state (None: not yet made); None where there is none."""
    found = (move for move in PROPOSAL_MOVES if (move.action, move.source, move.actor) == (action, state, actor))
    return next(found, None)


def tables() -> str:
    """Both tables as markdown, for the docs."""
    head = "| of | from | who | action | to | event |\n|---|---|---|---|---|---|"
    named: list[tuple[str, BountyMove | ProposalMove]] = [("bounty", move) for move in BOUNTY_MOVES]
    named += [("proposal", move) for move in PROPOSAL_MOVES]
    rows = (
        f"| {of} | {move.source or '(none)'} | {move.actor} | {move.action} | {move.target} | {move.event or ''} |"
        for of, move in named
    )
    return "\n".join((head, *rows)) + "\n"
