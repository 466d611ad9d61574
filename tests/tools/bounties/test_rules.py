"""The lifecycle of bounties and proposals: every rule agrees with the tables; expiry takes precedence over parties."""

from datetime import UTC, datetime, timedelta

import pytest

from storage.vocabulary import UNDECIDED, Actor, BountyStatus, ProposalStatus
from tools.bounties import rules as bounties
from tools.bounties.rules import (
    BOUNTY_MOVES,
    PROPOSAL_MOVES,
    BountyFacts,
    bounty_move,
    due_move,
    proposal_move,
    state_now,
)
from tools.events.types import KINDS

END = datetime(2026, 11, 22, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)
BUYERS = {
    **{(state, "award"): BountyStatus.AWARDED for state in UNDECIDED},
    **{(state, "close"): BountyStatus.CLOSED for state in UNDECIDED},
}


def test_rows_and_rules_know_the_same_states() -> None:
    assert [one.value for one in BountyStatus] == [one.value for one in BountyStatus]
    assert [one.value for one in ProposalStatus] == [one.value for one in ProposalStatus]


def test_an_open_bounty_expires_at_its_instant_and_no_other_ever_does() -> None:
    for state in BountyStatus:
        before, after = (state_now(BountyFacts(state, END), END - MOMENT), state_now(BountyFacts(state, END), END))
        assert (before, after) == (state, BountyStatus.EXPIRED if state in UNDECIDED else state)
    move = due_move(BountyFacts(BountyStatus.OPEN, END), END)
    assert move is not None
    assert (move.action, move.event) == ("expire", "bounty.expired")


@pytest.mark.parametrize("state", BountyStatus)
@pytest.mark.parametrize("action", ["award", "close", "expire", "post"])
def test_a_buyer_ends_only_an_open_bounty_and_only_before_its_time(state: BountyStatus, action: str) -> None:
    move = bounty_move(BountyFacts(state, END), action, END - MOMENT)
    assert (move and move.target) == BUYERS.get((state, action))
    assert bounty_move(BountyFacts(state, END), action, END) is None


@pytest.mark.parametrize("state", [None, *ProposalStatus])
def test_a_proposal_changes_only_while_it_is_pending(state: ProposalStatus | None) -> None:
    found = {
        (action, actor)
        for action in ("propose", "withdraw", "award", "close", "expire")
        for actor in Actor
        if proposal_move(state, action, actor)
    }
    made, pending = {("propose", Actor.SELLER)}, {
        ("withdraw", Actor.SELLER), ("award", Actor.BUYER), ("close", Actor.BUYER), ("expire", Actor.CLOCK),
    }  # fmt: skip
    assert found == {None: made, ProposalStatus.PENDING: made | pending}.get(state, set())
    chosen = proposal_move(ProposalStatus.PENDING, "award", Actor.BUYER)
    assert chosen is not None
    assert chosen.target is ProposalStatus.ACCEPTED


def test_every_event_of_the_tables_is_a_kind_that_can_be_asked_for() -> None:
    moved = {move.event for move in (*BOUNTY_MOVES, *PROPOSAL_MOVES) if move.event}
    assert moved == {
        kind for kind in KINDS if kind.startswith("bounty.") and kind != "bounty.match"
    }  # an alert is not a transition


def test_the_tables_are_written_for_the_docs_a_line_for_each_move() -> None:
    lines = bounties.tables().splitlines()
    assert len(lines) == 2 + len(BOUNTY_MOVES) + len(PROPOSAL_MOVES)
    assert lines[2] == "| bounty | (none) | buyer | post | open |  |"
    assert "| proposal | pending | buyer | award | accepted | bounty.awarded |" in lines
