"""The lifecycles of bounties and of proposals as tables of moves, and the limits of bounty alerts.

The clock is an actor, as for jobs: a bounty past expires_at has expired even before a sweep runs.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from storage.vocabulary import UNDECIDED, Actor, BountyStatus, ProposalStatus
from tools.jobs.lifecycle import Move
from tools.listings.search_rules import capability_terms

BUYER, SELLER, CLOCK = Actor.BUYER, Actor.SELLER, Actor.CLOCK


@dataclass(frozen=True, slots=True)
class BountyFacts:
    """The facts that decide which moves a bounty has."""

    state: BountyStatus
    expires_at: datetime


BountyMove: TypeAlias = Move[BountyStatus, BountyFacts]
ProposalMove: TypeAlias = Move[ProposalStatus, None]
_B, _P = BountyStatus, ProposalStatus

BOUNTY_MOVES: tuple[BountyMove, ...] = (
    Move("post", None, BUYER, _B.OPEN),
    *(Move("award", state, BUYER, _B.AWARDED, "bounty.awarded") for state in UNDECIDED),
    *(Move("close", state, BUYER, _B.CLOSED, "bounty.closed") for state in UNDECIDED),
    *(Move("expire", state, CLOCK, _B.EXPIRED, "bounty.expired", deadline="expires_at") for state in UNDECIDED),
)
PROPOSAL_MOVES: tuple[ProposalMove, ...] = (
    Move("propose", None, SELLER, _P.PENDING, "bounty.proposal_received"),
    Move("propose", _P.PENDING, SELLER, _P.PENDING, "bounty.proposal_received"),
    Move("withdraw", _P.PENDING, SELLER, _P.WITHDRAWN),
    Move("award", _P.PENDING, BUYER, _P.ACCEPTED, "bounty.awarded"),
    Move("award", _P.PENDING, BUYER, _P.REJECTED, "bounty.closed"),  # the proposals that were not chosen
    Move("close", _P.PENDING, BUYER, _P.REJECTED, "bounty.closed"),
    Move("expire", _P.PENDING, CLOCK, _P.REJECTED, "bounty.expired"),
)


def due_move(facts: BountyFacts, now: datetime) -> BountyMove | None:
    """Return the clock's move that is due at `now`; the caller writes it before anything else."""
    found = (move for move in BOUNTY_MOVES if move.actor is CLOCK and move.source is facts.state)
    return next((move for move in found if move.is_open(facts, now)), None)


def state_now(facts: BountyFacts, now: datetime) -> BountyStatus:
    """Return the state after the clock's due move."""
    move = due_move(facts, now)
    return facts.state if move is None else move.target


def bounty_move(facts: BountyFacts, action: str, now: datetime) -> BountyMove | None:
    """Return the move of the buyer's `action` at `now`, or None."""
    state = state_now(facts, now)
    found = (move for move in BOUNTY_MOVES if (move.action, move.source, move.actor) == (action, state, BUYER))
    return next(found, None)


def proposal_move(state: ProposalStatus | None, action: str, actor: Actor) -> ProposalMove | None:
    """Return the move of an action on a proposal in this state, or None.

    A state of None means that the proposal does not exist yet.
    """
    found = (move for move in PROPOSAL_MOVES if (move.action, move.source, move.actor) == (action, state, actor))
    return next(found, None)


def tables() -> str:
    """Return both tables as markdown, for the docs."""
    head = "| of | from | who | action | to | event |\n|---|---|---|---|---|---|"
    named: list[tuple[str, BountyMove | ProposalMove]] = [("bounty", move) for move in BOUNTY_MOVES]
    named += [("proposal", move) for move in PROPOSAL_MOVES]
    rows = (
        f"| {of} | {move.source or '(none)'} | {move.actor} | {move.action} | {move.target} | {move.event or ''} |"
        for of, move in named
    )
    return "\n".join((head, *rows)) + "\n"


MAX_A_DAY, MAX_OF_BUYER = 20, 2  # alerts to one agent in a UTC day: in all, and for one buyer's bounties
MAX_OF_STRANGERS = 5  # of these, for buyers that have never paid anybody
MAX_TOLD_OF = 10  # bounties of one buyer in a UTC day that cause alerts


def matched_terms(labels: Sequence[str], words: Collection[str]) -> list[str]:
    """Find which terms of an agent's capabilities and tags occur in a bounty."""
    return [term for term in capability_terms(labels) if term in words]


def may_be_told(buyers: Sequence[str], buyer_id: str, strangers: int, *, stranger: bool) -> bool:
    """Check whether an agent may get one more alert today.

    `buyers` are the buyers of the bounties in today's alerts to it. A stranger has never paid anybody; `strangers` of
    the alerts were for such buyers.
    """
    crowded = stranger and strangers >= MAX_OF_STRANGERS
    return not crowded and len(buyers) < MAX_A_DAY and buyers.count(buyer_id) < MAX_OF_BUYER
