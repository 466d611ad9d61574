"""Actions are tried by dry run, rare states first, and each disagreement with available_actions is found."""

import re
from collections import Counter
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from storage.tables import HeldWalletRow
from tests.simulation.available import (
    CALLS,
    ENOUGH,
    EVERY,
    PLACES,
    TERMS,
    Actions,
    Place,
    fewest,
    has_left,
    judge,
    lines,
)
from tests.simulation.records import Result, Violation
from tests.simulation.run import Plan, run
from tests.simulation.wires import Answer
from tests.support.panels import Court
from tests.support.trade import Trade

JOB: dict[str, Any] = {
    "object": "job", "id": "job_1", "status": "open", "role": "seller", "available_actions": ["accept", "decline"], "worker": None,
}  # fmt: skip
REFUSED = Answer(409, {"error": {"code": "invalid_transition"}})


def done(**changes: Any) -> Answer:
    return Answer(200, JOB | changes)


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        ("accept", done(status="in_progress")),
        ("deliver", REFUSED),
        ("quote", done(worker="w1")),  # a renewed lease is no move
        ("cancel", done(status="declined")),  # a seller's cancellation is a decline
        ("withdraw_dispute", Answer(200, {"object": "dispute", "status": "resolved"})),
    ],
)
def test_an_action_that_fits_is_accepted(action: str, answer: Answer) -> None:
    judge(JOB, action, answer)


@pytest.mark.parametrize(
    ("job", "action", "answer", "message"),
    [
        (JOB, "accept", REFUSED, "offered and refused"),
        (JOB, "deliver", done(status="delivered"), "not offered and accepted"),
        (JOB, "pay", Answer(402, {"error": {"code": TERMS}}), "not offered and accepted"),
        (
            JOB | {"status": "disputed"},
            "withdraw_dispute",
            Answer(200, {"object": "dispute"}),
            "not offered and accepted",
        ),
    ],
)
def test_an_action_that_does_not_fit_is_a_violation(
    job: dict[str, Any], action: str, answer: Answer, message: str
) -> None:
    with pytest.raises(Violation, match=re.escape(message)):
        judge(job, action, answer)


def test_each_state_and_role_is_tried_equally_often() -> None:
    operations = 1_000
    found = run(Plan(5, operations))
    assert isinstance(found, Result), found
    counts = fewest(found.tried)
    assert max(counts.values()) <= operations / EVERY + 2
    assert sum(count > 0 for count in counts.values()) > len(PLACES) / 3


async def test_a_case_whose_evaluator_left_is_decided_by_the_next_write(trade: Trade) -> None:
    court = await Court.opened(trade)
    market, job = trade.market, await court.job_seen()

    async def left() -> bool:
        return await market.store.read(lambda tx: has_left(tx, job))

    assert not await left()
    one, *_ = await court.panel()
    for status in ("suspended", "active"):
        await market.as_operator("set_agent_status", agent_id=one.id, status=status)
        assert await left() is (status == "suspended")
    wallet = HeldWalletRow(address="0xBuyers", agent_id=court.buyer.id, held_at=market.clock.at)
    await market.store.write(lambda tx: tx.add(wallet))
    assert not await left()
    shared = HeldWalletRow(address="0xBuyers", agent_id=one.id, held_at=market.clock.at)
    await market.store.write(lambda tx: tx.add(shared))
    assert await left()


async def test_a_remembered_job_is_tried_with_a_key_of_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = SimpleNamespace(keys={"test": "as_test_1", "live": "as_live_1"})
    oracle = Actions(cast(Any, SimpleNamespace(seed=1, identities={"agt_1": agent})))
    tried = list[Mapping[Place, tuple[str, str]]]()
    monkeypatch.setattr(oracle, "_try_one", tried.append)
    for env in ("test", "live"):
        oracle.jobs["open"] = {"job_1": JOB | {"env": env, "seller": {"id": "agt_1"}}}
        await oracle.look()
    assert [one["open", "seller"] for one in tried] == [("as_test_1", "job_1"), ("as_live_1", "job_1")]


def test_the_places_with_too_few_checks_are_named() -> None:
    tried = Counter({(place, action): ENOUGH for place in PLACES for action in CALLS})
    assert len([*lines(tried)]) == 1
    tried[("open", "buyer"), "pay"] = 3
    first, second = lines(tried)
    assert "at least 3 of each" in first
    assert second == f"fewer than {ENOUGH:,} checks: open by the buyer 3"
