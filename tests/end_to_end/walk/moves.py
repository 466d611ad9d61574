"""The moves that a party of a job can try, named as in available_actions, and checks of their results."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import orjson

from server.adapters.chain import ABSENT_SECONDS
from tests.end_to_end.walk.walk import Pick, Walk, usual
from tests.support.market import Agent
from tests.support.trade import PRICE
from tools.engine.idempotency import Response

Json = dict[str, Any]
LEASE = ("worker", "lease_until")
NOT_NOW = {"invalid_transition", "job_not_payable", "not_paid", "job_not_settled", "not_found", "forbidden"}
UNKNOWN = "0x" + "ab" * 32
BEFORE_WORK = {"open", "quote_requested", "quoted", "awaiting_payment"}
PATHS: dict[str, tuple[int, tuple[str, ...]]] = {
    "open": (0, ()),
    "in_progress": (0, ("seller accept",)),
    "sealed": (0, ("seller accept", "seller deliver")),
    "delivered at once": (0, ("seller deliver",)),
    "revealed": (0, ("seller accept", "seller deliver", "buyer pay")),
    "under revision": (0, ("seller accept", "seller deliver", "buyer pay", "buyer request_revision")),
    "completed": (0, ("seller accept", "seller deliver", "buyer pay", "buyer accept")),
    "awaiting payment": (1, ("seller accept",)),
    "paid first": (1, ("seller accept", "buyer pay")),
    "owing": (1, ("seller accept", "buyer pay", "seller cancel")),
    "quote requested": (2, ()),
    "quoted": (4, ("seller quote",)),
    "disputed": (3, ("seller accept", "seller deliver", "buyer dispute")),
    "free": (3, ("seller accept", "seller deliver")),
}


class Attempt(NamedTuple):
    """A call. If `honest`, only the job's state can refuse it."""

    operation: str
    given: Json
    honest: bool = True


Make = Callable[[Walk, Agent, Json, Pick], Awaitable[Attempt]]


async def reach(walk: Walk, place: str, buyer: Agent) -> str | None:
    """Bring a new job of this buyer to a place of PATHS; return its id.

    Returns None if its seller accepts no more jobs.
    """
    listing, steps = PATHS[place]
    job_id = await walk.order(buyer, listing)
    for step in steps if job_id else ():
        role, action = step.split()
        await attempt(walk, job_id, walk.jobs[job_id][role == "seller"], action, usual)
    return job_id


async def attempt(walk: Walk, job_id: str, agent: Agent, action: str, pick: Pick) -> None:
    """Try an action on a job, and compare the result with available_actions."""
    job = await walk.succeed("get_job", agent, job_id=job_id)
    made = await MAKES[action](walk, agent, job, pick)
    before = await walk.succeed("get_job", agent, job_id=job_id)
    at, well = walk.market.clock.now(), not walk.troubles.any
    answer = await walk.do(made.operation, agent, **made.given)
    if walk.market.clock.now() == at:
        after = await walk.succeed("get_job", agent, job_id=job_id)
        if after["status"] == "disputed" and _found_decided(
            answer
        ):  # the refusal rolled the decision back; the next sweep repeats it
            await walk.market.workers.resolve_disputes()
            after = await walk.succeed("get_job", agent, job_id=job_id)
        judge(action, before, after, answer, sure=made.honest and well)


def _found_decided(answer: Response) -> bool:
    """Check whether a refused call reports that an overdue case is decided."""
    return answer.error is not None and answer.error.get("details", {}).get("status", "disputed") != "disputed"


async def move_money(walk: Walk, place: str, buyer: Agent, trouble: str, pick: Pick) -> None:
    """Report a transfer while the chain fails, and again after the fault.

    By then an honest one must count.
    """
    walk.troubles.end()
    job_id = await reach(walk, place, buyer)
    if job_id is None:
        return
    seller = walk.jobs[job_id][1]
    agent, action = (seller, "refund") if place == "owing" else (buyer, "pay")
    job = await walk.succeed("get_job", agent, job_id=job_id)
    assert action in job["available_actions"], job
    late = trouble == "reorganised"  # the transfer is first mined in a block that is dropped
    if not late:
        walk.troubles.begin(trouble)
    made, at = await MAKES[action](walk, agent, job, pick), walk.market.clock.now()
    if late:
        walk.troubles.begin(trouble)
    first = await walk.do(made.operation, agent, **made.given)
    in_time = walk.market.clock.now() == at
    walk.troubles.end()
    walk.market.pass_seconds(ABSENT_SECONDS)  # an unknown hash is not looked up again before this
    again = await walk.do(made.operation, agent, **made.given)
    if made.honest and in_time:
        assert again.refused == late, (action, place, trouble, first.body, again.body)


def judge(action: str, before: Json, after: Json, answer: Response, *, sure: bool) -> None:
    said = (action, before["role"], before["status"], before["available_actions"], answer.status, answer.body)
    if before["status"] == "disputed" != after["status"]:
        before = after  # overdue, but no one was left to draw: reads do not draw, so the call decided it
    code = answer.error["code"] if answer.error else None
    if code == "invalid_transition":
        assert answer.error is not None
        assert answer.error["details"]["available_actions"] == before["available_actions"], said
    if action in before["available_actions"]:
        assert code not in NOT_NOW, said
        assert code is None or not sure, said
        return
    seller_cancels = action == "cancel" and before["role"] == "seller"
    declines = seller_cancels and before["status"] in BEFORE_WORK and code != "fault_not_allowed"
    assert after["status"] == ("declined" if declines else before["status"]), said
    if not declines and action not in ("pay", "refund", "message", "review"):  # transfers and messages are always kept
        may_change = {
            "thread_id",
            *(LEASE if action == "accept" else ()),
        }  # accepting again renews the lease of a worker
        changed = {field for field in after if after[field] != before[field]}
        assert changed <= may_change, (said, changed)


async def _plain(walk: Walk, agent: Agent, job: Json, action: str, **given: Any) -> Attempt:
    operation = {"accept_quote": action, "request_revision": action}.get(action, f"{action}_job")
    return Attempt(operation, {"job_id": job["id"], **given})


async def accept(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    workers = [None, "w1", "w2"] if job["role"] == "seller" else [None]  # only a seller names a worker
    return await _plain(walk, agent, job, "accept", worker=pick(workers))


async def accept_quote(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    return await _plain(walk, agent, job, "accept_quote")


async def decline(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    return await _plain(walk, agent, job, "decline", reason=pick([None, "Too long for me."]))


async def cancel(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    fault = pick([None, None, "input"])  # allowed to a seller within a minute of accepting
    given = {"job_id": job["id"], "reason": pick([None, "No longer."]), "fault": fault}
    return Attempt("cancel_job", given, honest=fault is None)


async def quote(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    return await _plain(walk, agent, job, "quote", price=pick([PRICE, 0, 1, 10**8]), message=pick([None, "By hand."]))


async def request_revision(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    return await _plain(walk, agent, job, "request_revision", message="Warmer, please.")


async def dispute(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    return await _plain(walk, agent, job, "dispute", reason="It is not what was promised.")


async def review(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    return await _plain(walk, agent, job, "review", rating=pick([5, 4, 1]), comment=pick([None, "As promised."]))


async def withdraw_dispute(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    return Attempt("withdraw_dispute", {"dispute_id": job["dispute_id"] or "dsp_none"})


async def message(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    """Write a message. After ten unanswered ones in a row, further ones are refused for a time."""
    return Attempt("post_message", {"thread_id": job["thread_id"], "body": "How is it going?"}, honest=False)


async def deliver(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    preview = pick([None, "The first lines."])
    if pick([False, False, False, True]):
        wrong = {"englisch": walk.secret(job["id"])}
        return Attempt("deliver_job", {"job_id": job["id"], "output": wrong, "preview": preview}, honest=False)
    output = {"english": walk.secret(job["id"])}
    worker = pick([None, None, "w1", "w2"])  # refused while another worker has the job
    given = {"job_id": job["id"], "output": output, "preview": preview, "message": pick([None, "Done."])}
    return Attempt("deliver_job", given | {"worker": worker}, honest=worker is None)


async def pay(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    """Pay with the transfer of the terms, or with one that is wrong, unknown or used."""
    terms = await walk.do("pay_job", agent, job_id=job["id"])
    asked = orjson.loads(terms.body)
    payee, amount = asked.get("pay_to") or walk.jobs[job["id"]][1].wallet.address, asked.get("amount") or PRICE
    kind = pick(["exact", "exact", "over", "short", "by another", "to another", "unknown", "known", "terms"])
    if kind == "terms":
        return Attempt("pay_job", {"job_id": job["id"]}, honest=False)
    return _transferred(walk, "pay_job", job, kind, agent, payee, amount, pick)


async def refund(walk: Walk, agent: Agent, job: Json, pick: Pick) -> Attempt:
    payee, amount = walk.jobs[job["id"]][0].wallet.address, job["refund_expected"] or PRICE
    kind = pick(["exact", "exact", "over", "short", "by another", "unknown", "known"])
    return _transferred(walk, "refund_job", job, kind, agent, payee, amount, pick)


def _transferred(
    walk: Walk, operation: str, job: Json, kind: str, agent: Agent, payee: str, amount_minor: int, pick: Pick
) -> Attempt:
    if kind in ("unknown", "known"):
        sent = pick([*walk.sent]) if kind == "known" and walk.sent else UNKNOWN
        return Attempt(operation, {"job_id": job["id"], "transaction": sent}, honest=False)
    payer = walk.stranger if kind == "by another" else agent
    payee = walk.stranger.wallet.address if kind == "to another" else payee
    sent = walk.transfer(payer, payee, {"short": 1, "over": 2 * amount_minor}.get(kind, amount_minor))
    right = kind == "exact" or (kind == "over" and operation == "pay_job")
    return Attempt(operation, {"job_id": job["id"], "transaction": sent}, right)


MAKES: dict[str, Make] = {
    made.__name__: made
    for made in (
        accept, decline, quote, accept_quote, deliver, pay, cancel, request_revision, dispute, review, refund, message,
        withdraw_dispute,
    )
}  # fmt: skip
