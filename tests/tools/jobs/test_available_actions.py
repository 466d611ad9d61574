"""`available_actions` against the market: every action of every role is tried in every state and rolled back."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
import pytest

from storage.vocabulary import Actor, JobStatus
from tests.requirements import covers
from tests.support.market import Agent
from tests.support.panels import Court, evaluator
from tests.support.trade import Trade
from tools.catalogue import CATALOGUE
from tools.jobs.lifecycle import MOVES

Job = dict[str, Any]
Reach = Callable[[Trade, Agent, Agent], Awaitable[Job]]
UNKNOWN = "0x" + "ab" * 32
HOUR = 3600
TRIED: Mapping[str, tuple[str, dict[str, Any]]] = {  # each action's operation and its arguments beside the job
    "accept": ("accept_job", {}),
    "accept_quote": ("accept_quote", {}),
    "cancel": ("cancel_job", {}),
    "decline": ("decline_job", {}),
    "deliver": ("deliver_job", {"output": {"english": "another day"}}),
    "dispute": ("dispute_job", {"reason": "It is not what was promised."}),
    "message": ("post_message", {"body": "A word about it."}),
    "pay": ("pay_job", {}),
    "quote": ("quote_job", {"price": 7}),
    "refund": ("refund_job", {"transaction": UNKNOWN}),
    "request_revision": ("request_revision", {"message": "Warmer, please."}),
    "review": ("review_job", {"rating": 4}),
    "withdraw_dispute": ("withdraw_dispute", {}),
}


def test_every_action_that_a_party_is_offered_has_one_operation() -> None:
    offered = {move.action for move in MOVES if move.listed and move.actor in (Actor.BUYER, Actor.SELLER)}
    actions = sorted(op.action for op in CATALOGUE.values() if op.action)
    assert actions == sorted(offered | {"review", "refund", "message"})
    assert {op.action: name for name, op in CATALOGUE.items() if op.action} == {
        action: operation for action, (operation, _) in TRIED.items()
    }


def at(status: str, **offer: Any) -> Reach:
    async def reach(trade: Trade, seller: Agent, buyer: Agent) -> Job:
        job: Job = await trade.job_at(status, seller, buyer, **offer)
        return job

    return reach


def then(reach: Reach, by: str, operation: str, **given: Any) -> Reach:
    """Extend a path to a state by one call of the seller or the buyer."""

    async def further(trade: Trade, seller: Agent, buyer: Agent) -> Job:
        job = await reach(trade, seller, buyer)
        agent = seller if by == "seller" else buyer
        await trade.market.call(operation, by=agent, job_id=job["id"], **given)
        return job

    return further


def after(reach: Reach, seconds: int) -> Reach:
    async def later(trade: Trade, seller: Agent, buyer: Agent) -> Job:
        job = await reach(trade, seller, buyer)
        trade.market.pass_seconds(seconds)
        return job

    return later


async def failed(trade: Trade, seller: Agent, buyer: Agent) -> Job:
    job: Job = await trade.failed(seller, buyer)
    return job


async def refunded(trade: Trade, seller: Agent, buyer: Agent) -> Job:
    job: Job = await trade.failed(seller, buyer)
    await trade.give_back(seller, buyer, job)
    return job


async def paid_twice(trade: Trade, seller: Agent, buyer: Agent) -> Job:
    job: Job = await trade.job_at("completed", seller, buyer)
    stray = trade.evm.transfer(buyer.wallet, seller.wallet, 250_000)
    await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=stray)
    return job


async def working_paid(trade: Trade, seller: Agent, buyer: Agent) -> Job:
    job: Job = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront")
    await trade.pay(buyer, job)
    return job


async def judged(trade: Trade, seller: Agent, buyer: Agent) -> Job:
    """Reach a dispute with a panel of three."""
    offered = [await evaluator(trade) for _ in range(3)]
    court = await Court.of(trade, seller, buyer, {one.id: one for one in offered}, price=250_000)
    job: Job = court.job
    return job


def decided(outcome: str) -> Reach:
    async def reach(trade: Trade, seller: Agent, buyer: Agent) -> Job:
        job = await escalated(trade, seller, buyer)
        await trade.market.as_operator("resolve_job", job_id=job["id"], verdict=outcome)
        return job

    return reach


QUOTE = {"pricing_model": "quote", "price": None}
escalated = then(at("revealed"), "buyer", "dispute_job", reason="It is empty.")
quoted = then(at("open", **QUOTE), "seller", "quote_job", price=90_000)
unpaid = after(at("delivered"), 1000)
STATES: dict[str, tuple[str, Reach]] = {
    "open": ("open", at("open")),
    "never answered": ("expired", after(at("open"), HOUR)),
    "declined": ("declined", then(at("open"), "seller", "decline_job")),
    "stopped": ("cancelled", then(at("open"), "buyer", "cancel_job")),
    "quote requested": ("quote_requested", at("open", **QUOTE)),
    "quoted": ("quoted", quoted),
    "quoted and agreed": ("in_progress", then(quoted, "buyer", "accept_quote")),
    "awaiting payment": ("awaiting_payment", at("awaiting_payment", payment="upfront")),
    "unpaid upfront": ("expired", after(at("awaiting_payment", payment="upfront"), 1000)),
    "unpaid upfront, too late": ("expired", after(at("awaiting_payment", payment="upfront"), 2 * HOUR)),
    "working": ("in_progress", at("in_progress")),
    "never delivered": ("cancelled", after(at("in_progress", turnaround_seconds=60), 2 * HOUR)),
    "working, paid": ("in_progress", working_paid),
    "working, paid, late": ("in_progress", after(working_paid, 30 * 24 * HOUR)),
    "given up": ("cancelled", then(at("in_progress"), "seller", "cancel_job")),
    "sealed": ("delivered", at("delivered")),
    "walked away from": ("cancelled", then(at("delivered"), "buyer", "cancel_job")),
    "unpaid delivery": ("expired", unpaid),
    "unpaid delivery, too late": ("expired", after(unpaid, HOUR)),
    "revealed": ("delivered", at("revealed")),
    "delivered for free": ("delivered", at("revealed", price=0)),
    "under revision": ("in_progress", then(at("revealed"), "buyer", "request_revision", message="Warmer.")),
    "taken by silence": ("completed", after(at("revealed"), 1000)),
    "completed": ("completed", at("completed")),
    "reviewed by the buyer": ("completed", then(at("completed"), "buyer", "review_job", rating=5)),
    "paid twice": ("completed", paid_twice),
    "failed and paid": ("cancelled", failed),
    "failed and paid back": ("cancelled", refunded),
    "disputed": ("disputed", judged),
    "escalated": ("disputed", escalated),
    "resolved for the buyer": ("resolved", decided("buyer")),
    "resolved by halves": ("resolved", decided("split")),
    "resolved for the seller": ("resolved", decided("seller")),
}


def test_every_action_and_every_status_is_tried() -> None:
    assert set(TRIED) == {op.action for op in CATALOGUE.values() if op.action}
    assert all(CATALOGUE[name].action == action for action, (name, _) in TRIED.items())
    assert {status for status, _ in STATES.values()} == set(JobStatus)


@covers("job.field.available_actions", "state.job.decided.actions", "second.actions.*")
@pytest.mark.parametrize("place", STATES)
async def test_what_is_listed_is_what_the_market_accepts(trade: Trade, place: str) -> None:
    seller, buyer = await trade.parties()
    status, reach = STATES[place]
    job = await reach(trade, seller, buyer)
    for agent in (seller, buyer):
        seen = await trade.seen(agent, job)
        assert seen["status"] == status
        led = {action: await tried(trade, agent, seen, action) for action in TRIED}
        accepted = {action for action, found in led.items() if found is not None}
        listed = seen["available_actions"]
        assert len(listed) == len({*listed})
        assert {*listed} <= accepted, "what is listed is accepted"
        for action in accepted - {*listed}:  # an alias of a listed action, with the same result
            assert action == "cancel"
            assert seen["role"] == "seller"
            assert led["cancel"] == led["decline"] == "declined"
        assert await trade.seen(agent, job) == seen, "nothing was done"


async def tried(trade: Trade, agent: Agent, seen: Job, action: str) -> str | None:
    """Try an action and roll it back.

    Return the status or kind of record that it leads to; None if the state does not allow it.
    """
    operation, given = TRIED[action]
    named = {"thread_id": seen["thread_id"], "dispute_id": seen["dispute_id"] or "dsp_none", "job_id": seen["id"]}
    given = given | {name: one for name, one in named.items() if name in CATALOGUE[operation].input.model_fields}
    answer = await trade.market.answer(operation, given, key=agent.keys["test"], dry_run=True)
    if answer.refused:
        error = orjson.loads(answer.body)["error"]
        looked = action == "refund" and error["code"] == "transaction_not_found"  # the refund is allowed
        return "refund" if looked and seen["refund_due"] else None
    made = orjson.loads(answer.body)
    if made["object"] in ("job", "dispute"):
        hidden = {"next_steps", "deliveries", "output", "output_hash", "output_salt", "output_bytes"}  # in a dry run
        same = all(made[name] == one for name, one in seen.items() if name not in hidden)
        return None if same else made["status"]
    return str(made["object"])
