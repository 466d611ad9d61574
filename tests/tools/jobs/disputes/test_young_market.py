"""Clauses about disputes on a young market: eligible evaluators, and how the operator learns that it has to decide."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from eth_account import Account

from tests.requirements import covers
from tests.support.http_receiver import Receiver, status
from tests.support.market import Agent, TestMarket
from tests.support.panels import evaluator
from tests.support.trade import Trade
from tests.support.webhooks import Scene

HOUR = 3600


async def escalated(market: TestMarket) -> tuple[Agent, Any]:
    """Dispute a free job for which there is no evaluator; return its buyer and the job."""
    trade = Trade(market, None)  # type: ignore[arg-type]
    seller, buyer = await market.register("Sela"), await market.register("Bo")
    for agent in (seller, buyer):
        agent.wallet = Account.create()
        await trade.bind(agent)
    job = await trade.job_at("revealed", seller, buyer, price=0)
    return buyer, await market.call("dispute_job", by=buyer, job_id=job["id"], reason="It is empty.")


def told_by(scene: Scene, url: str | None) -> None:
    scene.market.market.config = replace(scene.market.market.config, operator_webhook=url)


@covers("second.young.evaluators")
async def test_payments_info_says_how_many_evaluators_can_be_drawn(market: TestMarket) -> None:
    trade = Trade(market, None)  # type: ignore[arg-type]
    await market.register("Nobody")
    for tier in (0, 0, 1):
        await evaluator(trade, trust_tier=tier)
    await evaluator(trade, trust_tier=1, status="suspended")
    seen = (await market.call("get_payments_info"))["evaluators"]
    assert (seen["live"], seen["test"], seen["panel_on_live"]) == (1, 3, 3)
    market.market.config = replace(market.market.config, evaluator_min_age=timedelta(days=30))
    assert (await market.call("get_payments_info"))["evaluators"]["live"] == 0


@covers("second.young.waiting")
async def test_an_escalated_case_names_report_support(market: TestMarket) -> None:
    buyer, job = await escalated(market)
    assert job["waiting_on"]["who"] == "operator"
    assert "report_support" in job["waiting_on"]["then"]
    case = await market.call("get_dispute", by=buyer, dispute_id=job["dispute_id"])
    assert (case["status"], case["seats"]) == ("escalated", 0)
    for record in (job, case):
        posts, asks, *others = record["next_steps"]
        assert posts["why"] == "Post your evidence in the job's thread: the operator decides and reads it."
        assert (posts["tool"], asks["tool"]) == ("post_message", "report_support")
        assert [one["tool"] for one in others] == ["get_dispute", "withdraw_dispute"]
        assert not any("panel" in one["why"] or "evaluators" in one["why"] for one in record["next_steps"])
    assert (await market.call("report_support", by=buyer, **asks["arguments"]))["id"]


@covers("second.young.webhook")
async def test_the_operators_webhook_is_told_of_an_escalation_at_least_once(scene: Scene, receiver: Receiver) -> None:
    told_by(scene, receiver.url)
    _, job = await escalated(scene.market)
    assert await scene.sender.step() == 1
    (came,) = receiver.got
    event = came.body
    assert (event["type"], event["env"]) == ("dispute.escalated", "test")
    assert (event["data"]["job_id"], event["data"]["reason"]) == (job["id"], "no_eligible_evaluators")
    assert came.headers["webhook-signature"].startswith("v1a,")
    assert await scene.after(HOUR) == 0, "what was taken is not sent again"
    await escalated(scene.market)
    assert await scene.sender.step() == 1


@covers("second.young.webhook")
async def test_what_the_operators_webhook_refuses_is_sent_again(scene: Scene, receiver: Receiver) -> None:
    told_by(scene, receiver.url)
    receiver.answers.append(status(500))
    await escalated(scene.market)
    assert await scene.sender.step() == 1
    assert await scene.after(HOUR) == 1
    first, again = receiver.got
    assert first.body == again.body


@covers("second.young.webhook")
async def test_without_an_address_nobody_is_told_and_a_new_one_is_told_of_what_comes(
    scene: Scene, receiver: Receiver
) -> None:
    await escalated(scene.market)
    assert await scene.sender.step() == 0
    told_by(scene, "http://127.0.0.1:9/nobody")
    await escalated(scene.market)
    told_by(scene, receiver.url)
    await escalated(scene.market)
    while await scene.after(HOUR):
        pass
    assert len(receiver.got) == 2, "what waited goes to the new address"


@covers("second.young.webhook")
async def test_the_operators_webhook_reaches_no_private_network_unless_allowed(
    scene: Scene, receiver: Receiver
) -> None:
    told_by(scene, receiver.url)
    scene.market.market.config = replace(scene.market.market.config, allow_private_networks=False)
    await escalated(scene.market)
    await scene.sender.step()
    assert receiver.got == []
