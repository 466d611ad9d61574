"""The decision of a panel, computed from its seats, its round and the time."""

from datetime import UTC, datetime, timedelta

import pytest

from storage.vocabulary import Outcome
from tests.requirements import covers
from tools.jobs.panel_rules import (
    Decision,
    Draw,
    Escalate,
    Escalation,
    MissDeadline,
    Seat,
    Step,
    majority,
    next_step,
    not_drawn,
    tally,
)

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER, TICK = NOW + timedelta(hours=1), timedelta(microseconds=1)
B, S, H = Outcome.BUYER, Outcome.SELLER, Outcome.SPLIT


def voted(*votes: Outcome) -> list[Seat]:
    return [Seat(1, vote, pending=False, deadline_at=LATER) for vote in votes]


def waits(deadline_at: datetime = LATER) -> Seat:
    return Seat(1, None, pending=True, deadline_at=deadline_at)


EMPTY = Seat(1, None, pending=False, deadline_at=LATER)  # missed or void


def test_a_majority_is_more_than_half() -> None:
    assert [majority(seats) for seats in (1, 2, 3, 4, 5)] == [1, 2, 2, 3, 3]


def test_only_votes_are_counted() -> None:
    assert tally([*voted(B, B, S), EMPTY, waits()]) == {B: 2, S: 1}


@pytest.mark.parametrize(
    ("number", "size", "seats", "step"),
    [
        (0, 0, [], Draw(1, 3)),
        (0, 3, voted(B, B, B), Draw(1, 3)),
        (1, 3, [waits()] * 3, None),
        (1, 3, [*voted(B), waits(), waits()], None),
        (1, 3, [*voted(B, S), waits()], None),
        (1, 3, [*voted(B, B), waits()], Decision(B)),
        (1, 3, [*voted(S, H, S)], Decision(S)),
        (1, 3, [*voted(B, B), waits(NOW)], Decision(B)),  # a majority decides before a missed seat does
        (1, 1, voted(H), Decision(H)),
        (1, 5, [*voted(B, B, B, S), waits()], Decision(B)),
        (1, 2, [*voted(B), waits()], None),
        (1, 3, [waits(NOW), waits(), waits()], MissDeadline()),
        (1, 3, [waits(NOW + TICK)] * 3, None),
        (1, 3, [waits(NOW)] * 3, MissDeadline()),
        (2, 3, [*voted(B, S), waits(NOW)], MissDeadline()),
        (1, 3, [*voted(B), EMPTY, EMPTY], Draw(2, 2)),
        (1, 3, [*voted(B, S), EMPTY], Draw(2, 1)),
        (1, 3, [EMPTY, EMPTY, EMPTY], Draw(2, 3)),
        (1, 3, [*voted(B), EMPTY, waits()], None),
        (1, 3, voted(B, S, H), Escalate(Escalation.NO_PLURALITY)),
        (2, 3, voted(B, S, H), Escalate(Escalation.NO_PLURALITY)),
        (2, 3, [EMPTY, EMPTY, EMPTY], Escalate(Escalation.NO_VOTES)),
        (2, 3, [*voted(S), EMPTY, EMPTY], Decision(S)),  # a plurality decides in round 2
        (2, 3, [*voted(B, S), EMPTY], Escalate(Escalation.NO_PLURALITY)),
        (2, 5, [*voted(B, S, S), EMPTY, EMPTY], Decision(S)),
        (2, 5, [*voted(B, B, S, S), EMPTY], Escalate(Escalation.NO_PLURALITY)),
        (2, 5, [*voted(H, B, B, S), EMPTY], Decision(B)),
        (2, 3, [*voted(B), EMPTY, waits()], None),
        (2, 0, [], Escalate(Escalation.NO_VOTES)),
    ],
)
def test_the_next_step_follows_from_seats_round_and_time(
    number: int, size: int, seats: list[Seat], step: Step | None
) -> None:
    assert next_step(number, size, seats, NOW) == step


@covers("second.panels.escalation")
@pytest.mark.parametrize(
    ("eligible", "seated", "live", "number", "why"),
    [
        (3, 3, True, 1, None),
        (2, 2, True, 1, Escalation.NO_ELIGIBLE_EVALUATORS),
        (3, 2, True, 1, Escalation.NO_INDEPENDENT_PANEL),
        (9, 0, True, 1, Escalation.NO_INDEPENDENT_PANEL),
        (1, 1, False, 1, None),
        (0, 0, False, 1, Escalation.NO_ELIGIBLE_EVALUATORS),
        (4, 0, False, 1, Escalation.NO_INDEPENDENT_PANEL),
        (0, 0, True, 2, None),
        (5, 1, True, 2, None),
    ],
)
def test_why_the_operator_decides_instead_of_a_panel(
    eligible: int, seated: int, live: bool, number: int, why: Escalation | None
) -> None:
    assert not_drawn(3, eligible, seated, live=live, number=number) == why


@covers("second.panels.bought")
@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("number", [1, 2])
def test_the_operator_decides_where_a_party_paid_an_evaluator_that_would_sit(live: bool, number: int) -> None:
    assert not_drawn(3, 9, 0, live=live, number=number, bought=True) == Escalation.NO_INDEPENDENT_PANEL
