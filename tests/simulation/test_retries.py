"""A wait between two attempts that is too short or too long is found, and a post that no attempt counts."""

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from storage.tables import DeliveryRow
from storage.vocabulary import DeliveryStatus
from tests.simulation.records import Observation, Result, Violation
from tests.simulation.retries import Retries
from tests.simulation.run import Plan, run
from tests.simulation.scenarios import Scenario
from tests.simulation.small_market import failure, judge_by
from tests.simulation.wires import Answer, Call
from tools.events.webhooks import deliveries
from tools.events.webhooks.rules import Attempted, next_wait_seconds
from tools.kernel.ids import event_id

CALM = Scenario(sellers=0, buyers=0, evaluators=0, clients=0, traders=3, quiet_seconds=2_000.0)
SILENT = Scenario(sellers=0, buyers=0, evaluators=0, clients=0, traders=3, quiet_seconds=2_000.0, webhook_seconds=30.0)
PLAN = Plan(4, 60)
AT = datetime(2027, 1, 1, tzinfo=UTC)
NOW = AT + timedelta(seconds=1_000)


@pytest.fixture
def market(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Judge a small market whose receivers often fail by the model and this oracle alone."""
    monkeypatch.setattr("tests.simulation.simulation.QUIET_EVERY", 20)
    monkeypatch.setattr("tests.simulation.simulation.ORACLES", ())
    judge_by(monkeypatch, SILENT, Retries)
    return monkeypatch


def test_a_market_that_waits_as_promised_passes(market: pytest.MonkeyPatch) -> None:
    checked, check = Counter[int](), Retries._check_wait

    def counted(oracle: Retries, row: DeliveryRow) -> None:
        checked[row.attempt] += row.last_attempt_at is not None
        check(oracle, row)

    market.setattr(Retries, "_check_wait", counted)
    assert isinstance(run(PLAN), Result)
    assert checked[1] > 1
    assert checked[2] > 1


@pytest.mark.parametrize(
    ("wait", "fault"),
    [
        (lambda attempt, *given: 1.3 * next_wait_seconds(attempt, *given), "seconds after attempt"),
        (lambda attempt, *given: next_wait_seconds(attempt + 1, *given), "seconds after attempt"),
        (lambda attempt, *given: None, "given up after 1 attempts"),
    ],
)
def test_a_wrong_wait_is_found(market: pytest.MonkeyPatch, wait: Callable[..., float | None], fault: str) -> None:
    market.setattr(deliveries, "next_wait_seconds", wait)
    assert fault in failure(PLAN)


def test_a_post_that_no_attempt_counts_is_found(market: pytest.MonkeyPatch) -> None:
    post = deliveries.post

    async def twice(*given: Any) -> Attempted | None:
        await post(*given)
        return await post(*given)

    market.setattr("server.webhook_sender.post", twice)
    assert "attempts, and its receiver saw" in failure(PLAN)


def test_an_attempt_that_nobody_interrupted_has_its_post(market: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> Attempted:
        return Attempted(503)

    market.setattr("tests.simulation.run.named", lambda _: CALM)
    market.setattr("server.webhook_sender.post", fail)
    assert "has 2 attempts, and its receiver saw 0" in failure(PLAN)


def delivery(attempt: int, due: datetime | None, failed: datetime | None = AT, **more: Any) -> DeliveryRow:
    given = {"status": DeliveryStatus.PENDING, "last_attempt_at": failed, **more}
    return DeliveryRow(
        id="dlv_1",
        webhook_id="whk_1",
        event_number=1,
        kind="job.paid",
        attempt=attempt,
        due_at=due,
        created_at=AT,
        **given,
    )


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def judged(row: DeliveryRow, posts: int) -> Retries:
    """Return an oracle of a run with one fault, whose clocks show NOW at most."""
    web = SimpleNamespace(posts=Counter({f"{event_id(1)} whk_1": posts}))
    clock = SimpleNamespace(latest=lambda: NOW)

    async def read(judge: Any) -> None:
        judge(SimpleNamespace(all=lambda query: [row]))

    run: Any = SimpleNamespace(web=web, machines=[SimpleNamespace(clock=clock)], faults=Counter(crash=1), read=read)
    return Retries(run)


FAILED = {"status": DeliveryStatus.FAILED}


@pytest.mark.parametrize(
    ("row", "posts", "allowed"),
    [
        (delivery(1, AT + timedelta(seconds=5)), 1, True),
        (delivery(1, AT + timedelta(seconds=300)), 1, False),
        (delivery(2, AT + timedelta(seconds=5)), 1, True),  # the second attempt is under way
        (delivery(2, AT + timedelta(seconds=10)), 1, False),
        (delivery(2, later(5), NOW), 2, False),  # the second has failed
        (delivery(2, later(240), NOW), 2, True),
        (delivery(2, later(239), NOW), 2, False),
        (delivery(2, later(361), NOW), 2, False),
        (delivery(9, later(86_400), NOW), 9, True),
        (delivery(10, later(86_400), NOW), 10, False),
        (delivery(2, None, NOW), 2, False),
        (delivery(3, AT, None), 1, True),  # a crash interrupted one, and one is under way
        (delivery(4, AT, None), 1, False),
        (delivery(1, AT, None), 2, False),
        (delivery(11, None, **FAILED), 11, False),
        (delivery(10, None, **FAILED), 10, True),
        (delivery(9, None, **FAILED), 9, False),
        (delivery(1, None, last_error="too_many_waiting", **FAILED), 1, True),
    ],
)
async def test_waits_and_numbers_are_those_of_the_contract(row: DeliveryRow, posts: int, allowed: bool) -> None:
    with nullcontext() if allowed else pytest.raises(Violation):
        await judged(row, posts).look()


async def test_only_a_fault_after_a_delivery_was_made_may_have_ended_its_attempt() -> None:
    oracle = judged(delivery(3, AT, None), 1)
    oracle.faults_at_look = 1  # before the delivery is made
    with pytest.raises(Violation, match="3 attempts"):
        await oracle.look()


async def test_any_fault_may_have_ended_an_attempt_of_a_delivery_that_no_look_has_seen() -> None:
    oracle = judged(delivery(3, None, status=DeliveryStatus.DELIVERED), 1)
    oracle.faults_at_look = 1
    await oracle.at_end()


async def test_a_delivery_that_is_sent_again_is_not_judged() -> None:
    oracle = judged(delivery(2, AT), 9)
    call = Call(1, "redeliver_webhook", {"webhook_id": "whk_1", "delivery_id": "dlv_1"}, "as_test_1")
    oracle.observe(Observation(call, "agt_1", Answer(200, {}), AT, AT))
    await oracle.at_end()
