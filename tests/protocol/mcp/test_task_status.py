"""The MCP task that shows a job, in every situation of the lifecycle."""

import pytest

from storage.vocabulary import FINAL, Actor, ClosedAs
from tests.tools.jobs.test_lifecycle import CASES, NOW, Case, job
from tools.jobs.facts import JobFacts
from tools.jobs.lifecycle import after, after_due_move, moves_for, waiting_on
from tools.jobs.waiting_rules import CANCELLED_BY_BUYER, TaskStatus, has_output, task_status

ENDED = (TaskStatus.COMPLETED, TaskStatus.CANCELLED)
SEALED = {"delivered": True}
SHOWN = {"delivered": True, "paid_at": NOW, "paid_minor": 100}


@pytest.mark.parametrize(
    "status, known, task",
    [
        ("open", {}, "working"),
        ("quote_requested", {"price_minor": None}, "working"),
        ("quoted", {"price_minor": None, "quoted_price_minor": 100}, "input_required"),
        ("awaiting_payment", {}, "input_required"),
        ("in_progress", {}, "working"),
        ("in_progress", SHOWN, "completed"),  # under revision: the buyer already has an output
        ("delivered", SEALED, "input_required"),
        ("delivered", SHOWN, "completed"),
        ("delivered", {"delivered": True, "price_minor": 0}, "completed"),
        ("disputed", SHOWN, "completed"),
        ("resolved", SHOWN, "completed"),
        ("completed", SHOWN, "completed"),
        ("declined", {"closed_as": ClosedAs.SELLER_DECLINED}, "completed"),
        ("expired", {"closed_as": ClosedAs.ACCEPT_TIMEOUT}, "completed"),
        ("expired", {"closed_as": ClosedAs.PAYMENT_TIMEOUT, "pay_by": NOW}, "input_required"),  # a payment revives it
        ("cancelled", {"closed_as": ClosedAs.SELLER_FAILED}, "completed"),
        ("cancelled", {"closed_as": ClosedAs.DELIVERY_TIMEOUT}, "completed"),
        ("cancelled", {"closed_as": ClosedAs.BUYER_WITHDREW}, "cancelled"),
        ("cancelled", {"closed_as": ClosedAs.BUYER_WALKED_AWAY, **SEALED}, "cancelled"),
        ("cancelled", {"closed_as": ClosedAs.BUYER_LEFT_AFTER_DEADLINE}, "cancelled"),
    ],
)
def test_a_job_is_a_task_of_this_status(status: str, known: dict[str, object], task: str) -> None:
    assert task_status(job(status, **known), NOW) == task


def test_every_reason_of_the_buyer_to_leave_is_known() -> None:
    assert {one for one in ClosedAs if one.value.startswith("buyer_")} - {ClosedAs.BUYER_ACCEPTED} == CANCELLED_BY_BUYER


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_task_asks_for_input_exactly_while_the_job_waits_for_its_buyer_and_hides_its_output(case: Case) -> None:
    waits = waiting_on(case.facts, NOW)
    buyers_turn = waits is not None and waits.who == "buyer"
    asks = task_status(case.facts, NOW) is TaskStatus.INPUT_REQUIRED
    assert asks == (buyers_turn and not has_output(case.facts))
    if asks:
        assert waits is not None
        assert waits.action in ("pay", "accept_quote")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_task_that_has_ended_stays_as_it_is_and_a_job_that_has_ended_ends_its_task(case: Case) -> None:
    status = task_status(case.facts, NOW)
    if status in ENDED:
        assert {task_status(one, NOW) for one in _next(case.facts)} <= {status}
    elif after_due_move(case.facts, NOW).status in FINAL:
        assert status is TaskStatus.INPUT_REQUIRED  # a late payment is possible
    else:
        assert status in (TaskStatus.WORKING, TaskStatus.INPUT_REQUIRED)


def _next(facts: JobFacts) -> list[JobFacts]:
    seen = after_due_move(facts, NOW)
    return [after(seen, move) for actor in Actor for move in moves_for(seen, actor, NOW)]
