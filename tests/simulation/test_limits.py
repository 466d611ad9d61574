"""An unanswered message or a webhook too many is found, and so is a refusal without a cause."""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from tests.simulation.limits import COMMITTED, UNANSWERED, WEBHOOKS, Act, Message, Places, Talk, Unanswered, runs_of
from tests.simulation.records import Observation, Violation
from tests.simulation.wires import Answer, Call

AT = datetime(2027, 1, 1, tzinfo=UTC)
REFUSED = {"error": {"code": "awaiting_reply"}}


def after(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def talk(*senders: str, acts: Sequence[Act] = (), day_after: int = 99) -> Talk:
    """Return a thread with a message each minute; capitals mark notes of actions."""
    times = [60.0 * place + (86_400 if place > day_after else 0) for place in range(len(senders))]
    messages = [
        Message(f"msg_{place}", sender.lower(), sender.isupper(), after(at))
        for place, (sender, at) in enumerate(zip(senders, times, strict=True))
    ]
    return Talk("thr_1", messages, acts)


A_DAY = 86_400 + 60.0 * UNANSWERED
FULL = ["a"] * UNANSWERED


@pytest.mark.parametrize(
    ("thread", "allowed"),
    [
        (talk(*FULL), True),
        (talk(*FULL, "a"), False),
        (talk(*FULL, "a", day_after=9), True),
        (talk(*FULL, "b", "a"), True),
        (talk(*FULL, "B", "a"), True),
        (talk(*FULL, "A"), True),
        (talk(*FULL, "A", "a"), False),
        (talk(*FULL, "a", acts=[Act("b", after(30))]), True),
        (talk(*FULL, "a", acts=[Act("b", after(-30))]), False),
        (talk(*FULL, "a", acts=[Act("a", after(30))]), False),
        (talk(*FULL, *FULL, "a", acts=[Act("b", after(30))]), False),
    ],
)
def test_after_ten_unanswered_messages_one_a_day_is_taken(thread: Talk, allowed: bool) -> None:
    with nullcontext() if allowed else pytest.raises(Violation, match="follows 10 unanswered"):
        assert len([*runs_of(thread, timedelta())]) == len(thread.messages)


class Market(SimpleNamespace):
    """A run as far as these oracles ask it; each read finds the same."""

    scenario = SimpleNamespace(processes=1, clocks_differ=0.0)
    identities: ClassVar = dict[str, Any]()
    made = 0
    found: Any = None

    async def read(self, _: Any) -> Any:
        return self.found

    def see(self, oracle: Any, operation: str, status: int, body: Any, at: float = 0.0, **given: Any) -> None:
        self.made += 1
        call = Call(self.made, operation, given, "key")
        oracle.observe(Observation(call, "a", Answer(status, body), after(at), after(at)))


@pytest.mark.parametrize(
    ("thread", "allowed"),
    [
        (talk(*FULL), True),
        (talk(*FULL[1:]), False),
        (talk(*FULL, "b"), False),
        (talk(*FULL, acts=[Act("b", after(30))]), False),
        (talk(*["b"] * UNANSWERED), False),
        (talk(*FULL, "a", *FULL, day_after=9, acts=[Act("b", after(A_DAY + 30))]), True),
    ],
)
async def test_a_message_is_refused_only_after_ten_unanswered_ones(thread: Talk, allowed: bool) -> None:
    market = Market(found=({"thr_1": thread}, {}))
    oracle = Unanswered(market)  # type: ignore[arg-type]
    for message in thread.messages:
        if message.sender == "a":
            market.see(oracle, "post_message", 201, {"id": message.id}, thread_id="thr_1")
    at = thread.messages[-1].at - AT + 2 * COMMITTED
    market.see(oracle, "post_message", 409, REFUSED, at.total_seconds(), thread_id="thr_1")
    with nullcontext() if allowed else pytest.raises(Violation, match="fewer than 10 unanswered"):
        await oracle.at_end()


@pytest.mark.parametrize(("held", "deleted", "allowed"), [(10, 0, True), (9, 0, False), (10, 1, False), (11, 1, True)])
async def test_a_webhook_is_refused_only_at_the_limit(held: int, deleted: int, allowed: bool) -> None:
    market = Market(found=[])
    oracle = Places(market)  # type: ignore[arg-type]
    for number in range(held):
        market.see(oracle, "create_webhook", 201, {"id": f"whk_{number}"})
    for number in range(deleted):
        market.see(oracle, "delete_webhook", 200, {}, webhook_id=f"whk_{number}")
    market.see(oracle, "create_webhook", 409, {"error": {"code": "webhook_limit"}})
    with nullcontext() if allowed else pytest.raises(Violation, match=f"webhooks of {WEBHOOKS}"):
        await oracle.at_end()


@pytest.mark.parametrize(("count", "allowed"), [(10, True), (11, False)])
async def test_no_agent_has_more_webhooks_than_the_limit(count: int, allowed: bool) -> None:
    oracle = Places(Market(found=[("whk_1", "agt_1", "test")] * count))  # type: ignore[arg-type]
    with nullcontext() if allowed else pytest.raises(Violation, match="11 webhooks of 10"):
        await oracle.look()


@pytest.mark.parametrize(("count", "allowed"), [(10, True), (11, False)])
def test_no_list_shows_more_webhooks_than_the_limit(count: int, allowed: bool) -> None:
    hooks = [{"id": f"whk_{number}", "source": "registered"} for number in range(count)]
    market = Market()
    with nullcontext() if allowed else pytest.raises(Violation, match="11 webhooks of 10"):
        market.see(Places(market), "list_webhooks", 200, {"data": [*hooks, {"id": "whk_p", "source": "profile"}]})  # type: ignore[arg-type]
