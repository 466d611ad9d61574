"""Errors describe the party that a job waits for in one plain sentence, for each row of WAITS."""

import pytest

from storage.vocabulary import JobStatus
from tools.jobs.lifecycle import WAITS, Wait
from tools.jobs.waiting_rules import otherwise, pay_first, waits_for

DAY = "2026-11-21T03:51:07.123Z"


def test_an_unpaid_job_that_is_not_delivered_counts_against_the_seller() -> None:
    (wait,) = [one for one in WAITS if one.status is JobStatus.IN_PROGRESS and "cancelled" in one.then]
    assert waits_for(wait.who, wait.action, DAY, wait.then) == (
        f"waits for the seller to deliver. If the seller has not delivered by {DAY}, the job is cancelled one hour later "
        "and counts against the seller."
    )


@pytest.mark.parametrize("wait", [one for one in WAITS if one.deadline])
def test_every_wait_with_a_deadline_is_a_sentence(wait: Wait) -> None:
    said = otherwise(wait.who, wait.action, DAY, wait.then)
    assert said.startswith(f"If the {wait.who} ha")
    assert f" by {DAY}, {wait.then[0].lower()}" in said


def test_without_a_deadline_only_what_follows_is_said() -> None:
    (wait,) = [one for one in WAITS if not one.deadline]
    assert otherwise(wait.who, wait.action, None, wait.then) == wait.then


def test_only_what_a_sealed_delivery_does_not_allow_asks_to_pay_first() -> None:
    assert pay_first("request_revision", sealed=True) == [
        "Pay first: a revision can be asked for once the output is revealed."
    ]
    assert pay_first("request_revision", sealed=False) == pay_first("quote", sealed=True) == []
