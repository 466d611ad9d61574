"""Plausible arguments for every operation, from the records of the walk. Missing records are created first.

An operation needs an entry in BY_HAND only if arguments from its input schema would rarely be accepted.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from nacl.signing import SigningKey

from tests.end_to_end.walk.moves import MAKES, Attempt, reach
from tests.end_to_end.walk.walk import Pick, Walk, usual
from tests.support.bounties import NEED
from tests.support.market import Agent
from tests.support.proofs import Registry, own_file
from tests.support.trade import OFFER, PRICE
from tools.catalogue import CATALOGUE
from tools.engine.json_schemas import input_schema
from tools.kernel.keys import public_key_of, rotation_message

Given = dict[str, Any]
URL = "https://hooks.example/in"
DOMAINS = ["agent.example.com", "other.example.com", "127.0.0.1"]
TEXTS = ["Do you take longer texts?", "guten Tag", "A key of mine: as_test_" + "k" * 40]
SMALL = {"limit": 2}


async def things(walk: Walk, agent: Agent, kind: str) -> list[str]:
    """Return ids of an agent's records of a kind, and an invalid id; create a record if needed."""
    known = walk.known[kind, agent.id]
    if not known:
        operation, given, found = MADE[kind]
        answer = await walk.do(operation, agent, **given(walk, agent))
        if not answer.refused:
            known.append(found(orjson.loads(answer.body)))
    return [*known, "gone_" + "0" * 26]


def other(walk: Walk, agent: Agent) -> Agent:
    return next(one for one in reversed(walk.agents) if one is not agent and one.id not in walk.gone)


MADE: dict[str, tuple[str, Callable[[Walk, Agent], Given], Callable[[Any], str]]] = {
    "thread": (
        "start_thread",
        lambda walk, agent: {"to": other(walk, agent).id, "body": TEXTS[0]},
        lambda made: made["thread"]["id"],
    ),
    "hook": ("create_webhook", lambda *_: {"url": URL, "event_types": ["*"]}, lambda made: made["id"]),
    "schedule": (
        "create_schedule", lambda *_: {"in_seconds": 60, "interval_seconds": 60}, lambda made: made["id"],
    ),
    "memory": ("put_memory", lambda *_: {"key": "notes/a:1", "value": {"a": [1, 2.5, None]}}, lambda made: made["key"]),
    "key": ("create_api_key", lambda *_: {"env": "test", "scopes": ["read"]}, lambda made: made["id"]),
    "listing": ("create_listing", lambda *_: OFFER, lambda made: made["id"]),
}  # fmt: skip


def with_one(kind: str, name: str, *ends: str, **more: list[Any]) -> "Make":
    """Return a maker of arguments that name a record of the caller, which it ends if `ends`."""

    async def make(walk: Walk, agent: Agent, pick: Pick) -> Given:
        one = pick(await things(walk, agent, kind))
        if ends and one in walk.known[kind, agent.id]:
            walk.known[kind, agent.id].remove(one)
        return {name: one, **{key: pick(values) for key, values in more.items()}}

    return make


def with_any(**more: list[Any]) -> "Make":
    async def make(walk: Walk, agent: Agent, pick: Pick) -> Given:
        chosen = {key: pick(values) for key, values in more.items()}
        return {key: value for key, value in chosen.items() if value is not None}

    return make


def with_job(**more: list[Any]) -> "Make":
    """Return a maker of arguments with a job, preferably of the caller."""

    async def make(walk: Walk, agent: Agent, pick: Pick) -> Given:
        own = [job_id for job_id, parties in walk.jobs.items() if agent in parties]
        return {"job_id": pick([*reversed(own), *walk.jobs]), **{key: pick(values) for key, values in more.items()}}

    return make


def with_agent(name: str, **more: list[Any]) -> "Make":
    async def make(walk: Walk, agent: Agent, pick: Pick) -> Given:
        found = pick([one for named in reversed(walk.agents) for one in (named.id, named.handle)])
        return {name: found, **{key: pick(values) for key, values in more.items()}}

    return make


def as_on_job(action: str) -> "Make":
    """Return a maker of arguments for a move of a job, valid or not."""

    async def make(walk: Walk, agent: Agent, pick: Pick) -> Given:
        own = [job_id for job_id, parties in walk.jobs.items() if agent in parties]
        if not own:
            return {"job_id": pick([*walk.jobs])}
        answer = await walk.do("get_job", agent, job_id=pick([*reversed(own)]))
        attempt: Attempt = await MAKES[action](walk, agent, orjson.loads(answer.body), pick)
        return attempt.given

    return make


async def after_a_probe(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Run the health probe first. Health repeats its result, and reports an old one as old."""
    await walk.work("probe")
    return {}


async def a_message_read(walk: Walk, agent: Agent, pick: Pick) -> Given:
    thread = pick(await things(walk, agent, "thread"))
    answer = await walk.do("list_messages", agent, thread_id=thread)
    written = [] if answer.refused else [one["id"] for one in orjson.loads(answer.body)["data"]]
    return {"thread_id": thread, "up_to_message_id": pick([*written, None])}


async def a_delivery(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Return a delivery of a webhook with at least one attempt."""
    hook = pick(await things(walk, agent, "hook"))
    await walk.do("test_webhook", agent, webhook_id=hook)
    await walk.work("send")
    answer = await walk.do("list_webhook_deliveries", agent, webhook_id=hook)
    made = [] if answer.refused else [one["id"] for one in orjson.loads(answer.body)["data"]]
    return {"webhook_id": hook, "delivery_id": pick([*made, "dlv_none"])}


async def a_signed_receipt(walk: Walk, agent: Agent, pick: Pick) -> Given:
    given = await with_job()(walk, agent, pick)
    answer = await walk.do("get_receipt", agent, **given)
    return {"signature": {}} if answer.refused else orjson.loads(answer.body)


async def a_domain(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Claim a domain. Its record names the agent or another."""
    await walk.do("add_domain", agent, domain=pick(DOMAINS))
    domain, named = pick(DOMAINS), pick([agent, *walk.agents])
    walk.zone.records[f"_service.{domain}"] = [f"service={named.id}".encode()]
    return {"domain": domain}


async def a_proven_domain(walk: Walk, agent: Agent, pick: Pick) -> Given:
    given = await a_domain(walk, agent, pick)
    await walk.do("verify_domain", agent, **given)
    return given


async def a_token(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Return a token that names an agent, or an unknown one while transactions wait unmined."""
    if walk.troubles.held:
        return {"agent_id": pick([2**40, "x"])}
    named = pick([agent, *walk.agents])
    return {"agent_id": pick([Registry(walk.evm).register(agent.wallet, own_file(named)), "0", "x"])}


async def a_wallet(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Return a binding of the current wallet or of another, with a proof by the agent's key."""
    return walk.binding(agent, pick([agent.wallet, walk.ground.spares[walk.agents.index(agent)]]))


async def a_departure(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Return the departure of a guest, or rarely of the caller."""
    if pick([0, 1, 2, 3]) == 3:
        walk.gone.add(agent.id)
        return {"confirm": agent.handle}
    guest = await walk.market.register("Guest")
    return {"by": guest, "confirm": pick([guest.handle, "wrong"])}


async def an_order(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Return an order of a listing of the walk, so that the walk can follow its job."""
    order = {"listing_id": pick(walk.listings), "input": pick([{"text": "guten Tag"}, {"txt": 1}])}
    return order | {"reference": pick([None, "row-7"]), "max_price": pick([None, PRICE, 1])}


async def a_hire(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Return the same without a wait, because only explicit steps pass time in walks."""
    return await an_order(walk, agent, pick) | {"wait_seconds": 0}


async def a_bounty(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Return a bounty with or without input, which ends late or soon."""
    held = {"deliverable_schema": OFFER["output_schema"]}
    given = NEED | {"input": pick([held, None]), "expires_in_seconds": pick([604_800, 300])}
    return {key: value for key, value in given.items() if value is not None}


async def an_open_bounty(walk: Walk, agent: Agent, pick: Pick) -> str:
    """Return another agent's bounty, and post one if there is none."""
    posted = [one for one, owner in walk.bounties.items() if owner is not agent]
    if not posted:
        owner = other(walk, agent)
        await call(walk, "create_bounty", owner)
        posted = [one for one, poster in walk.bounties.items() if poster is owner]
    return str(pick([*reversed(posted), "bty_" + "0" * 26]))


def on_a_bounty(**more: list[Any]) -> "Make":
    async def make(walk: Walk, agent: Agent, pick: Pick) -> Given:
        chosen = {key: pick(values) for key, values in more.items()}
        return {"bounty_id": await an_open_bounty(walk, agent, pick), **chosen}

    return make


async def a_proposal_of_ones_own(walk: Walk, agent: Agent, pick: Pick) -> Given:
    named = {"bounty_id": await an_open_bounty(walk, agent, pick)}
    await walk.do("propose_on_bounty", agent, **named, price=PRICE)
    return named


async def own_bounty(walk: Walk, agent: Agent, pick: Pick) -> Given:
    posted = [one for one, owner in walk.bounties.items() if owner is agent]
    if not posted:
        await call(walk, "create_bounty", agent)
        posted = [one for one, owner in walk.bounties.items() if owner is agent]
    return {"bounty_id": pick([*reversed(posted), "bty_" + "0" * 26])}


async def a_new_bounty(walk: Walk, agent: Agent, pick: Pick) -> Given:
    await call(walk, "create_bounty", agent, pick)
    return await own_bounty(walk, agent, pick)


async def an_award(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Return an award of the caller's bounty, after a seller has proposed on it."""
    named = await own_bounty(walk, agent, pick)
    seller = walk.sellers[walk.sellers[0] is agent]
    await walk.do("propose_on_bounty", seller, **named, price=PRICE, payment=pick(["on_delivery", "upfront"]))
    answer = await walk.do("list_proposals", agent, **named)
    made = (
        [] if answer.refused else [one["id"] for one in orjson.loads(answer.body)["data"] if one["status"] == "pending"]
    )
    return {**named, "proposal_id": pick([*reversed(made), "prp_" + "0" * 26])}


async def a_case(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Return a dispute of the caller, if there is one."""
    answer = await walk.do("list_disputes", agent)
    found = [] if answer.refused else [one["id"] for one in orjson.loads(answer.body)["data"]]
    return {"dispute_id": pick([*found, "dsp_" + "0" * 26])}


async def a_vote(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Return a verdict by a drawn evaluator, or by the caller if none is drawn."""
    for one in (*walk.agents, *walk.jury):
        answer = await walk.do("get_inbox", one)
        waiting = [] if answer.refused else orjson.loads(answer.body)["disputes_awaiting_my_verdict"]
        if waiting:
            words = {"outcome": pick(["split", "buyer", "seller"]), "rationale": pick(["Half is missing.", "No."])}
            return {"by": one, "dispute_id": waiting[0]["id"], **words}
    return {**await a_case(walk, agent, pick), "outcome": "buyer", "rationale": "It is empty."}


async def another_key(walk: Walk, agent: Agent, pick: Pick) -> Given:
    """Return a new root key with a valid or invalid proof. The agent then uses the new key."""
    new = SigningKey(walk.market.dice.random_bytes(32))
    old, told = public_key_of(agent.seed).hex(), bytes(new.verify_key).hex()
    text = rotation_message("service", agent.id, old, told)
    good = {"new_public_key": told, "proof": new.sign(text.encode()).signature.hex()}
    return pick([good, good | {"proof": "00" * 64}]) | {"seed": bytes(new)}


Make = Callable[[Walk, Agent, Pick], Awaitable[Given]]
NAMED: dict[str, Make] = {
    "agent_id": with_agent("agent_id"),
    "bounty_id": own_bounty,
    "dispute_id": a_case,
    "job_id": with_job(),
    "key": with_one("memory", "key"),
    "key_id": with_one("key", "key_id"),
    "listing_id": with_one("listing", "listing_id"),
    "schedule_id": with_one("schedule", "schedule_id"),
    "thread_id": with_one("thread", "thread_id"),
    "webhook_id": with_one("hook", "webhook_id"),
}
"""The records that arguments of these names are ids of."""


def choices(schema: Given) -> list[Any]:
    """Return values that a JSON Schema allows; of free texts and numbers two that differ."""
    if "anyOf" in schema:
        return [value for one in schema["anyOf"] for value in choices(one)]
    least = schema.get("minimum", 1)
    by_type = {"boolean": [True, False], "integer": [least, least + 1], "string": TEXTS[:2], "null": [None]}
    return list(schema.get("enum", by_type.get(schema["type"], [{}])))


def from_its_input(operation: str) -> "Make":
    """Return a maker of arguments from the schema of an operation's input.

    Optional arguments are left out, or are one of the words that the schema lists.
    """
    schema = input_schema(CATALOGUE[operation])

    async def make(walk: Walk, agent: Agent, pick: Pick) -> Given:
        given: Given = {}
        for name, member in schema["properties"].items():
            if name in schema.get("required", []):
                given |= await NAMED[name](walk, agent, pick) if name in NAMED else {name: pick(choices(member))}
            elif "enum" in str(member) and (chosen := pick([None, *choices(member)])) is not None:
                given[name] = chosen
        return given

    return make


BY_HAND: dict[str, Make] = {
    "get_health": after_a_probe,
    "find_tools": with_any(query=["refund", "send money back"], toolset=["jobs", "nothing"]),
    "get_feed": with_any(env=["test", "live"], limit=[20, 1]),
    "get_demand": with_any(env=["test"], days=[7, 1]),
    "search_elsewhere": with_any(q=[None, "poems"], limit=[2]),
    "report_support": with_any(message=["It does not answer.", "No"], contact=[None, "ada@example.com"]),
    "register_agent": with_any(name=["Gus", ""], tags=[None, ["a"]]),
    "update_me": with_any(description=["Poems.", None], endpoints=[None, {"webhook_url": URL}, {"webhook_url": None}]),
    "delete_me": a_departure,
    "list_api_keys": with_any(**{key: [value] for key, value in SMALL.items()}),
    "create_api_key": with_any(env=["test", "live", "moon"], scopes=[["read"], ["*"]], expires_in_days=[None, 1]),
    "recover_agent": with_any(revoke_existing=[False]),
    "rotate_key": another_key,
    "revoke_api_key": with_one("key", "key_id", "ends"),
    "search_agents": with_any(q=["bo", None], limit=[20, 1]),
    "list_reviews": with_agent("agent_id", env=["test", "live"]),
    "get_reputation": with_agent("agent_id", env=[None, "test"]),
    "get_attestation": with_agent("agent_id", env=["test", "live"]),
    "check_counterparty": with_agent("agent_id", env=["test"]),
    "get_leaderboard": with_any(env=["test"], role=["seller", "buyer"], limit=[20, 1]),
    "set_wallet_address": a_wallet,
    "add_domain": with_any(domain=DOMAINS),
    "verify_domain": a_domain,
    "remove_domain": a_domain,
    "get_domain_claim": a_proven_domain,
    "link_erc8004": a_token,
    "get_agent_card": with_agent("agent_id", env=["test", "live"]),
    "get_listing": with_one("listing", "listing_id", env=["test"]),
    "search_listings": with_any(env=["test"], q=[None, "translate"], sort=["relevance", "cheapest", "rating"]),
    "create_listing": with_any(**{key: [value] for key, value in OFFER.items()}, max_open_jobs=[10, 1],
                               external_id=[None, "poems"]),
    "update_listing": with_one("listing", "listing_id", status=["active", "paused"], turnaround_seconds=[60, 3600]),
    "archive_listing": with_one("listing", "listing_id", "ends"),
    "list_my_listings": with_any(status=[None, "archived"]),
    "create_bounty": a_bounty,
    "search_bounties": with_any(env=["test"], q=[None, "poem"], min_budget=[None, 1]),
    "get_bounty": on_a_bounty(env=["test"]),
    "close_bounty": a_new_bounty,
    "propose_on_bounty": on_a_bounty(price=[PRICE, 0, 10**9], payment=["on_delivery", "upfront"]),
    "list_proposals": on_a_bounty(limit=[20, 1]),
    "withdraw_proposal": a_proposal_of_ones_own,
    "award_bounty": an_award,
    "create_job": an_order,
    "hire": a_hire,
    "list_jobs": with_any(role=[None, "buyer", "seller"], status=[None, "delivered", "open,delivered"], reference=[None, "row-7"]),
    "list_job_events": with_job(limit=[20, 1]),
    "get_delivery": with_job(revision=[0, 1, 2]),
    "list_settlements": with_any(limit=[20, 1]),
    "verify_receipt": a_signed_receipt,
    "start_thread": with_agent("to", body=TEXTS),
    "list_threads": with_any(kind=[None, "job", "direct"]),
    "list_messages": with_one("thread", "thread_id", order=["asc", "desc"], limit=[20, 1]),
    "post_message": with_one("thread", "thread_id", body=TEXTS),
    "mark_thread_read": a_message_read,
    "list_events": with_any(types=[None, ["job.*"]], limit=[20, 1]),
    "stream_events": with_any(types=[None, ["job.*"]]),
    "create_webhook": with_any(url=[URL, "https://127.0.0.1/"], event_types=[["*"], ["job.*"]]),
    "update_webhook": with_one("hook", "webhook_id", status=["active", "disabled"]),
    "delete_webhook": with_one("hook", "webhook_id", "ends"),
    "redeliver_webhook": a_delivery,
    "create_schedule": with_any(in_seconds=[0, 60], interval_seconds=[None, 60], payload=[None, {"a": 1}]),
    "list_schedules": with_any(status=[None, "done"]),
    "update_schedule": with_one("schedule", "schedule_id", status=["paused", "active"]),
    "delete_schedule": with_one("schedule", "schedule_id", "ends"),
    "list_disputes": with_any(role=[None, "party", "evaluator"], status=[None, "panel", "resolved"]),
    "get_dispute": a_case,
    "submit_verdict": a_vote,
    "withdraw_dispute": a_case,
    "set_evaluator": with_any(enabled=[True, True, False], categories=[None, ["text"]]),
    "put_memory": with_any(key=["notes/a:1", "c d"], value=[1, "two"], ttl_seconds=[None, 60], if_version=[None, 1]),
    "list_memory": with_any(prefix=[None, "notes/"]),
    "delete_memory": with_one("memory", "key", "ends"),
    **{name: as_on_job(action) for name, action in {
        "accept_job": "accept", "deliver_job": "deliver", "review_job": "review", "decline_job": "decline",
        "quote_job": "quote", "accept_quote": "accept_quote", "request_revision": "request_revision",
        "cancel_job": "cancel", "dispute_job": "dispute", "pay_job": "pay", "refund_job": "refund",
    }.items()},
}  # fmt: skip


AGENTS = sorted(
    op.name
    for op in CATALOGUE.values()
    if op.auth != "admin" and op.paid_rate is None and op.name != "claim_x402_account"
)
"""The operations of agents. Without claim_x402_account, because walks make no x402 purchase."""
PLAUSIBLE = {name: BY_HAND[name] if name in BY_HAND else from_its_input(name) for name in AGENTS}


async def call(walk: Walk, operation: str, agent: Agent, pick: Pick = usual) -> None:
    """Call an operation with plausible arguments; register its new job with the walk."""
    given = await PLAUSIBLE[operation](walk, agent, pick)
    by, seed = given.pop("by", agent), given.pop("seed", None)
    answer = await walk.do(operation, by, **given)
    if answer.refused:
        return
    if seed is not None:
        by.seed = seed
    if operation in ("create_job", "hire"):
        made = orjson.loads(answer.body)
        made = made["job"] if operation == "hire" else made
        walk.took(made["id"], agent, made["seller"]["id"])
    if operation == "create_bounty":
        walk.bounties[orjson.loads(answer.body)["id"]] = agent
    if operation == "award_bounty":
        begun = orjson.loads(answer.body)["job"]
        walk.took(begun["id"], agent, begun["seller"]["id"])
    if operation == "set_wallet_address":
        agent.wallet = next(one for one in walk.ground.everybody if one.address == given["address"])


STANDS: dict[str, tuple[str, str]] = {
    "accept_job": ("open", "seller"),
    "accept_quote": ("quoted", "buyer"),
    "cancel_job": ("open", "buyer"),
    "create_job": ("completed", "buyer"),
    "hire": ("completed", "buyer"),
    "decline_job": ("quote requested", "seller"),
    "deliver_job": ("under revision", "seller"),
    "dispute_job": ("revealed", "buyer"),
    "get_dispute": ("disputed", "buyer"),
    "submit_verdict": ("disputed", "buyer"),
    "withdraw_dispute": ("disputed", "buyer"),
    "get_delivery": ("revealed", "buyer"),
    "get_receipt": ("paid first", "seller"),
    "pay_job": ("sealed", "buyer"),
    "quote_job": ("quote requested", "seller"),
    "refund_job": ("owing", "seller"),
    "request_revision": ("revealed", "buyer"),
    "review_job": ("completed", "buyer"),
}
"""The job's place and the caller's role that an operation needs. The first seller calls all others."""


async def call_as_usual(walk: Walk, operation: str) -> None:
    """Make the usual call of an operation, on a job in the place that it needs."""
    place, role = STANDS.get(operation, ("", ""))
    if place:
        job_id = await reach(walk, place, walk.buyers[0])
        assert job_id, "the seller takes no more jobs"
        buyer, seller = walk.jobs[job_id]
    await call(walk, operation, (buyer if role == "buyer" else seller) if place else walk.sellers[0])
