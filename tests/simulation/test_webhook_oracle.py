"""A webhook that is signed wrongly or does not arrive is found, and a schedule that does not fire."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from server.adapters.clock import SeedSigner
from storage.tables import EventRow, WebhookRow
from storage.vocabulary import DeliveryStatus, WebhookStatus
from tests.simulation.arrived import Arrived
from tests.simulation.fired import Fired, Run
from tests.simulation.fired import Plan as Planned
from tests.simulation.machine import SIGNING_SEED
from tests.simulation.neighbours import Receivers
from tests.simulation.records import Observation, Result, Violation
from tests.simulation.run import Plan, run
from tests.simulation.scenarios import Scenario
from tests.simulation.signed import BOTH_SIGN, CLAIMED, UNANSWERED, Secret, Signed, _may_sign, _must_sign, _newest
from tests.simulation.small_market import failure, judge_by
from tests.simulation.wires import Answer, Call
from tools.events.schedules import logic as schedules
from tools.events.schedules.rules import fired
from tools.events.webhooks import deliveries, logic, rules
from tools.events.webhooks.rules import Attempted

SMALL = Scenario(sellers=0, buyers=0, evaluators=0, clients=0, traders=3, quiet_seconds=2_000.0)
PLAN = Plan(4, 60)
AT = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture
def market(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let a small market be judged by the oracles of webhooks and schedules alone."""
    monkeypatch.setattr("tests.simulation.simulation.QUIET_EVERY", 20)
    judge_by(monkeypatch, SMALL, Signed, Arrived, Fired)
    return monkeypatch


def test_a_market_that_keeps_its_promises_passes(market: pytest.MonkeyPatch) -> None:
    posts, post = list[str](), Receivers.post

    async def counted(web: Receivers, url: str, body: bytes, headers: Mapping[str, str], by: str) -> Any:
        posts.append(headers["X-Event-Type"])
        return await post(web, url, body, headers, by)

    market.setattr(Receivers, "post", counted)
    assert isinstance(run(PLAN), Result)
    assert posts.count("schedule.fired") > 3


@pytest.mark.parametrize(
    ("name", "broken", "fault"),
    [
        ("signed_content", lambda name, at, body: b"%s.%d." % (name.encode(), at), "v1a is wrong"),
        ("plain_signature", lambda secret, at, body: "v1=" + "0" * 64, "X-Webhook-Signature"),
        ("v1", lambda secret, content: "v1," + "A" * 43 + "=", "a signature v1 is"),
        ("v1a", lambda signature: "v1a,", "v1a is wrong"),
    ],
)
def test_a_wrong_signature_is_found(market: pytest.MonkeyPatch, name: str, broken: Any, fault: str) -> None:
    market.setattr(deliveries, name, broken)
    assert fault in failure(PLAN)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"webhook-timestamp": "1798761600"}, "timestamps"),
        ({"X-Event-Id": "evt_0"}, "two events"),
        ({"X-Event-Type": "job.odd"}, "another event than its body"),
        ({"webhook-signature": ""}, "v1a is wrong"),
    ],
)
def test_a_wrong_header_is_found(market: pytest.MonkeyPatch, changed: Mapping[str, str], fault: str) -> None:
    headers_of = deliveries.headers_of
    market.setattr(deliveries, "headers_of", lambda *given: {**headers_of(*given), **changed})
    assert fault in failure(PLAN)


def test_an_event_that_is_not_queued_is_found(market: pytest.MonkeyPatch) -> None:
    market.setattr(logic, "_matching", lambda tx, row, events: [one for one in events if one.number % 3])
    assert "no delivery" in failure(PLAN)


def test_a_delivery_that_is_dropped_is_found(market: pytest.MonkeyPatch) -> None:
    settle = deliveries._settle

    def drop(ctx: Any, row: WebhookRow, delivery: Any, attempted: Any) -> None:
        settle(ctx, row, ctx.tx.change(delivery, status=DeliveryStatus.FAILED), attempted)

    async def taken(*_: Any) -> Attempted:
        return Attempted(200)

    market.setattr(deliveries, "_settle", drop)
    market.setattr("server.webhook_sender.post", taken)
    assert "delivered, due None, None, refused 0 times" in failure(PLAN)


def test_a_webhook_that_is_disabled_without_a_reason_is_found(market: pytest.MonkeyPatch) -> None:
    settle = deliveries._settle

    def disable(ctx: Any, row: WebhookRow, delivery: Any, attempted: Any) -> None:
        settle(ctx, row, delivery, attempted)
        off = {"status": WebhookStatus.DISABLED, "disabled_reason": "failures", "due_at": None}
        ctx.tx.change(ctx.tx.get(WebhookRow, row.id), **off)

    market.setattr(deliveries, "_settle", disable)
    assert "is disabled for failures after 0 refused posts" in failure(PLAN)


def test_a_schedule_that_does_not_fire_is_found(market: pytest.MonkeyPatch) -> None:
    market.setattr("server.workers.fire_due_schedules", lambda ctx, after: (0, None))
    assert "did not fire for" in failure(PLAN)


def test_a_schedule_that_skips_a_time_is_found(market: pytest.MonkeyPatch) -> None:
    def skip(due_at: datetime, interval: int | None, most: int | None, count: int, now: datetime) -> Any:
        after = fired(due_at, interval, most, count, now)
        return replace(after, next_at=after.next_at and after.next_at + timedelta(seconds=interval or 0))

    market.setattr(schedules, "fired", skip)
    assert " fired for " in failure(PLAN) or "did not fire for" in failure(PLAN)


class Web:
    """A simulated run as far as the oracle of signatures asks it."""

    def __init__(self) -> None:
        self.web, self.clock, self.machines = self, self, [self]
        self.off = timedelta(0)

    def now(self) -> datetime:
        return AT + self.off


def posted(secret: str) -> tuple[bytes, dict[str, str]]:
    """Return a post as the market makes it at AT."""
    body, at = b'{"id":"evt_1","type":"job.paid","agent_id":"agt_1","webhook_id":"whk_1"}', int(AT.timestamp())
    content = rules.signed_content("evt_1", at, body)
    headers = {
        "webhook-id": "evt_1", "webhook-timestamp": str(at), "X-Webhook-Id": "whk_1", "X-Webhook-Timestamp": str(at),
        "X-Event-Id": "evt_1", "X-Event-Type": "job.paid",
        "X-Webhook-Signature": rules.plain_signature(secret, at, body),
        "webhook-signature": f"{rules.v1(secret, content)} {rules.v1a(SeedSigner(SIGNING_SEED).sign(content))}",
    }  # fmt: skip
    return body, headers


def seen(operation: str, at: datetime, agent: str = "agt_1", **body: Any) -> Observation:
    call = Call(1, operation, {}, "as_test_1")
    return Observation(call, agent, Answer(201, {"id": "whk_1", **body}), at, at)


@pytest.mark.parametrize("secret", ["whsec_" + "0a" * 24, "chosen by its agent"])
async def test_a_secret_may_be_known_after_the_first_post(secret: str) -> None:
    run: Any = Web()
    oracle = Signed(run)
    oracle.posted(*posted(secret))
    await oracle.look()
    oracle.observe(seen("create_webhook", AT, secret=secret))
    await oracle.at_end()
    oracle.posted(*posted("whsec_" + "0b" * 24))
    run.off = 2 * UNANSWERED
    with pytest.raises(Violation, match="a signature v1 is wrong"):
        await oracle.look()


@pytest.mark.parametrize(
    ("agent", "secret", "fault"), [("agt_2", "s" * 16, "does not name"), (None, "s" * 16, "no answer showed")]
)
async def test_a_post_to_another_agent_or_of_no_webhook_is_found(agent: str | None, secret: str, fault: str) -> None:
    run: Any = Web()
    oracle = Signed(run)
    if agent is not None:
        oracle.observe(seen("create_webhook", AT, agent, secret=secret))
    oracle.posted(*posted(secret))
    with pytest.raises(Violation, match=fault):
        await oracle.at_end()


KNOWN = [Secret("a", AT, AT), Secret("b", AT + BOTH_SIGN, AT + BOTH_SIGN)]


@pytest.mark.parametrize(
    ("after", "must", "may", "newest"),
    [
        (CLAIMED, "a", "a", "a"),
        (BOTH_SIGN + CLAIMED, "a", "ab", "ab"),
        (BOTH_SIGN + 2 * CLAIMED, "ab", "ab", "b"),
        (2 * BOTH_SIGN, "b", "ab", "b"),
        (2 * BOTH_SIGN + 2 * CLAIMED, "b", "b", "b"),
    ],
)
def test_the_old_secret_signs_for_a_day(after: timedelta, must: str, may: str, newest: str) -> None:
    at = AT + after
    found = ["".join(one.text for one in some(KNOWN, at)) for some in (_must_sign, _may_sign, _newest)]
    assert found == [must, may, newest]


def test_a_schedule_skips_the_times_that_a_late_run_missed() -> None:
    plan = Planned("sch_1", "agt_1", AT, timedelta(seconds=60), 3)
    late = Run(AT, AT + timedelta(seconds=130))
    assert plan.after([]) == {AT}
    assert plan.after([late]) == {AT + timedelta(seconds=180)}
    assert plan.after([late] * 3) == set()
    assert replace(plan, interval=None).after([late]) == set()


def test_a_webhook_is_promised_its_types_until_it_is_changed() -> None:
    run: Any = None
    oracle = Arrived(run)
    body: dict[str, Any] = {"env": "test", "status": "active", "event_types": ["job.*"]}
    oracle.observe(seen("create_webhook", AT, **body))
    oracle.observe(seen("update_webhook", AT + CLAIMED, **body))
    event = EventRow(
        id=1, agent_id="agt_1", env="test", kind="job.paid", data="{}", created_at=AT + timedelta(seconds=1)
    )
    assert oracle.promised["whk_1"].wants(event)
    oracle.observe(seen("update_webhook", AT + CLAIMED, **{**body, "event_types": ["message.received", "job.paid"]}))
    assert not oracle.promised["whk_1"].wants(event)
    oracle.observe(seen("update_webhook", AT + CLAIMED, **{**body, "status": "disabled"}))
    assert oracle.promised == {}
