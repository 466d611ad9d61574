"""Health reports the true state of the database, of every timed step, and of the worker loop."""

from typing import Any

import pytest

from storage.transaction import Unavailable
from tests.support.market import TestMarket


async def state(market: TestMarket) -> tuple[int, Any, Any]:
    """Return the HTTP status, the market's status and the workers' status."""
    answer = await market.answer("get_health")
    said = {} if answer.refused else await market.call("get_health")
    return answer.status, said.get("status"), said.get("workers")


async def turn(market: TestMarket, after_seconds: float = 0) -> None:
    market.pass_seconds(after_seconds)
    await market.workers.run_due()


async def test_o1_health_is_503_while_the_database_does_not_answer(
    market: TestMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: Any) -> Any:
        raise Unavailable("gone")

    await turn(market)
    assert await state(market) == (200, "ok", True)
    with monkeypatch.context() as gone:
        gone.setattr(market.store, "scan", down)
        await turn(market, 5)
        answer = await market.answer("get_health")
        assert answer.error is not None
        assert (answer.status, answer.error["type"], answer.error["retryable"]) == (503, "internal_error", True)
    await turn(market, 5)
    assert await state(market) == (200, "ok", True)


@pytest.mark.parametrize(
    "name",
    [
        "sweep",
        "send_reminders",
        "fire_schedules",
        "close_deleted_accounts",
        "index_agents",
        "purge_old",
        "write_touches",
    ],
)
async def test_o1_health_is_degraded_while_a_step_fails_and_the_other_steps_go_on(
    market: TestMarket, name: str
) -> None:
    async def fails() -> None:
        raise ZeroDivisionError

    (step,) = (step for step in market.workers.steps if step.run.__name__ == name)
    works, step.run = step.run, fails
    await turn(market)
    await turn(market, 5)
    assert await state(market) == (200, "degraded", False)
    assert [one.run.__name__ for one in market.workers.steps if one.failed] == ["fails"]
    step.run = works
    await turn(market, 300)
    await turn(market, 5)
    assert await state(market) == (200, "ok", True)


async def test_o1_health_is_degraded_when_the_loop_of_the_steps_stands(market: TestMarket) -> None:
    await turn(market)
    market.pass_seconds(30)
    assert await state(market) == (200, "ok", True)
    market.pass_seconds(1)
    assert await state(market) == (200, "degraded", False)
    await turn(market)
    assert await state(market) == (200, "ok", True)
