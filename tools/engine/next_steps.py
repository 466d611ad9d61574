"""Next steps: a step names an existing operation and all arguments that the call needs.

An argument that only the caller knows is shown as `<description>`, with the argument's own description.
"""

from functools import cache
from typing import Any

from storage.events import newest_event
from tools.engine.context import TxContext
from tools.engine.registry import CATALOGUE
from tools.kernel.ids import event_id
from tools.kernel.keys import binding_message
from tools.kernel.records import Json, Step, made_of

_LONG_LOOK = 20  # seconds to wait for the other party in one call, as in `hire`


def step(name: str, why: str, *, deadline: str | None = None, **arguments: Json) -> tuple[Step, ...]:
    """Return the step that calls an operation; empty if the operation does not exist."""
    op = CATALOGUE.get(name)
    if op is None:
        return ()
    arguments = {**_unknown(name), **arguments}
    path = op.path.format_map({part: arguments.get(part, f"<{part}>") for part in op.path_names})
    body = {key: value for key, value in arguments.items() if key not in op.path_names}
    said = {"action": op.action or name, "why": why, "tool": name, "arguments": arguments, "method": op.method}
    shown = body if op.method != "GET" and body else None
    return (made_of(Step, {**said, "path": path, "deadline": deadline, "body": shown}),)


def steps(*found: tuple[Step, ...]) -> list[Step]:
    return [one for several in found for one in several]


def sell_step(why: str) -> tuple[Step, ...]:
    """Return the step that offers a service; it names a price, which only quotes leave out."""
    op = CATALOGUE.get("create_listing")
    return () if op is None else step(op.name, why, price=f"<{op.input.model_fields['price'].description}>")


def wait_step(job_id: str) -> tuple[Step, ...]:
    """Return the step that waits for the other party to act."""
    return step("get_job", "Wait for the other party to act.", job_id=job_id, wait_seconds=_LONG_LOOK)


@cache
def _unknown(name: str) -> dict[str, Json]:
    """Return placeholders for the arguments that an operation requires."""
    fields = CATALOGUE[name].input.model_fields
    return {one: f"<{field.description or one}>" for one, field in fields.items() if field.is_required()}


def wallet_step(brand: str, agent_id: str, why: str) -> tuple[Step, ...]:
    """Return the step that binds a wallet, with the text that the wallet signs."""
    text = binding_message(brand, agent_id, "<address in lower case>")
    return step("set_wallet_address", why, address="<0x…, your wallet>", signature=f"<personal_sign by it of {text}>")


def wait_for(ctx: TxContext, why: str, kind: str) -> tuple[Step, ...]:
    """Return the step that waits for the next event of this kind."""
    newest = ctx.tx.one(newest_event, agent_id=ctx.agent, env=ctx.env) or 0
    return step("list_events", why, types=[kind], since=event_id(newest), wait_seconds=_LONG_LOOK)


def after_wallet(_: TxContext, me: Any) -> list[Step]:
    """Suggest selling or buying, and on test first the faucet."""
    funds = step("claim_test_funds", "Get test USDC, where this market has a faucet.") if me.env == "test" else ()
    search = step("search_listings", "Buy: find a service.", env=me.env)
    return steps(funds, sell_step("Sell: offer a service."), search)


def after_listing(ctx: TxContext, listing: Any) -> list[Step]:
    """Suggest waiting for orders of an active listing; otherwise reactivate it or make another."""
    if listing.status == "active":
        look = step("list_jobs", "See what to do.", role="seller", status=["open", "in_progress"])
        return steps(wait_for(ctx, "Wait for orders; again with since = next_since.", "job.*"), look)
    if listing.status == "paused":
        return steps(step("update_listing", "Offer it again.", listing_id=listing.id, status="active"))
    return steps(sell_step("Offer something else."))


def after_bounty(ctx: TxContext, bounty: Any) -> list[Step]:
    """Suggest waiting for proposals and comparing them."""
    compare = step("list_proposals", "Compare what came, then award one.", bounty_id=bounty.id)
    close = step("close_bounty", "End it without an award.", bounty_id=bounty.id)
    return steps(wait_for(ctx, "Wait for proposals.", "bounty.proposal_received"), compare, close)


def after_award(_: TxContext, awarded: Any) -> list[Step]:
    return steps(step("get_job", "See who must act now, and by when.", job_id=awarded.job.id))


def after_withdrawal(_: TxContext, __: Any) -> list[Step]:
    return steps(step("search_bounties", "Find another need."))


def after_claim(_: TxContext, domain: Any) -> list[Step]:
    return steps(step("verify_domain", "Once the record or the file is published.", domain=domain.domain))


def after_check(_: TxContext, checked: Any) -> list[Step]:
    """Suggest viewing the profile if the domain was verified; otherwise checking again."""
    if checked.verified:
        return steps(step("get_me", "See the domain on your profile."))
    return steps(step("verify_domain", "Publish what instructions say, then check again.", domain=checked.domain))


def after_offer_to_judge(ctx: TxContext, evaluator: Any) -> list[Step]:
    if not evaluator.enabled:
        return steps(step("list_disputes", "Vote in the cases you still have.", role="evaluator"))
    return steps(wait_for(ctx, "Wait for a case.", "dispute.assigned"))


def after_words(ctx: TxContext, said: Any) -> list[Step]:
    """Suggest waiting for an answer in the thread of the message."""
    thread_id = said.thread.id if hasattr(said, "thread") else said.thread_id
    read = step("list_messages", "Read the thread.", thread_id=thread_id, order="desc")
    return steps(wait_for(ctx, "Wait for the answer.", "message.received"), read)


def after_webhook(_: TxContext, webhook: Any) -> list[Step]:
    return steps(step("test_webhook", "See that it still receives.", webhook_id=webhook.id))


def after_redelivery(_: TxContext, delivery: Any) -> list[Step]:
    return steps(step("list_webhook_deliveries", "See what became of it.", webhook_id=delivery.webhook_id))


def after_schedule(ctx: TxContext, schedule: Any) -> list[Step]:
    """Suggest waiting for the schedule if it is active."""
    if schedule.status == "active":
        return steps(wait_for(ctx, "Wait for it to fire.", "schedule.fired"))
    return steps(step("list_schedules", "See which schedules run."))


def after_memory(_: TxContext, memory: Any) -> list[Step]:
    return steps(step("get_memory", "Read it when you need it.", key=memory.key))


def after_key(_: TxContext, __: Any) -> list[Step]:
    return steps(step("list_api_keys", "See which keys you have. Store the new one: it is shown once."))
