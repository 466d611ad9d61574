"""Operations that list and buy the operator's services with one x402 payment and no account."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import Field

from storage.purchases import sold_at_once
from storage.tables import PurchaseRow
from storage.vocabulary import Env, PurchaseStatus
from tools.chain.errors import ChainUnavailable, TransactionPending
from tools.chain.wallet_proof import address_of
from tools.chain.x402_payload import settle_body
from tools.chain.x402_payments import ANEW, BadPayment, Fault, Payment, fault_of, is_for, read_payment
from tools.engine.archives import refuse_archived
from tools.engine.arguments import Arguments, EnvChoice, PublicRead
from tools.engine.caller import Caller, Surface
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import StaleInput
from tools.engine.errors import Archived, InvalidRequest, NotImplementedHere, TooBusy
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.jobs.errors import SellerHasNoWalletAddress
from tools.jobs.payments.gasless import x402_info
from tools.jobs.place_order import ORDER_ERRORS
from tools.jobs.snapshot import JobSnapshot, find_mine
from tools.jobs.stored_texts import JobTexts
from tools.kernel.canonical_json import canonical, sha256_hex
from tools.kernel.errors import MarketError
from tools.kernel.money import display
from tools.kernel.records import spliced, stamp
from tools.purchases.accounts import account_of
from tools.purchases.catalogue_entries import MAX_SERVICES, MONEY
from tools.purchases.errors import (
    BuyerNotActive,
    X402AuthorizationInUse,
    X402AuthorizationUsed,
    X402FirstPartyOnly,
    X402InsufficientFunds,
    X402NeedsAPrice,
    X402NotDelivered,
    X402SettleFailed,
    X402Timeout,
    X402UpfrontNotSupported,
)
from tools.purchases.logic import any_listing, begin, find_purchase
from tools.purchases.offers import MCP_RESOURCE, UNPAID, is_open, offered, service_record, signed_by_payer
from tools.purchases.payment_verification import check, release
from tools.purchases.records import X402Index, X402Payment, X402Quote, X402Result
from tools.purchases.rules import Outcome
from tools.purchases.workflow import head_of, run_until_done, terms_of
from tools.wallets.errors import AddressSanctioned
from tools.wallets.logic import refuse_sanctioned

SIGN_ANEW = (
    "Call without it to read the terms in PAYMENT-REQUIRED, sign them with an x402 client, and send what it makes."
)
ASK_THE_OPERATOR = "Write to the operator with report_support, and name the transaction."
NO_DRY_RUN = "Call without a payment: that only shows the price."
TRIES = 3
WHAT = (
    "The operator's own services, each bought with one signed USDC payment and no account. The work is done first; the payment is "
    "passed to a facilitator, which pays the gas, only once the work is there."
)
LIMIT = (
    "Only here the market passes a signed payment to a facilitator, and it can only pay the operator's own wallet. All other sellers "
    "are paid wallet to wallet: order with hire, pay with pay_job."
)


@operation("GET /v1/x402", auth="none", toolset="market", may_lag=True)
def list_x402_services(ctx: TxContext, _: PublicRead) -> X402Index:
    """List the operator's services that one x402 payment buys, with the url, price and input.

    Use it to see what you can buy without an account; then call buy_with_x402, over HTTP by POST to the url.
    """
    rows = ctx.tx.all(sold_at_once, env=ctx.env, limit=MAX_SERVICES) if is_open(ctx) else []
    services = [one for row in rows if (one := service_record(ctx, row)) is not None]
    return X402Index(
        env=ctx.env.value,
        resources=[one.url for one in services],
        protocol={
            **x402_info(ctx.network),
            "transport": "http",
            "network_name": ctx.network.name,
            "network_caip2": ctx.network.id,
            "asset_name": ctx.network.asset_name,
        },
        what_this_is=f"{WHAT} {_sold_for(ctx.env, some=bool(services))}",
        limit=LIMIT,
        services=services,
        generated_at=stamp(ctx.now),
    )


def _sold_for(env: Env, *, some: bool) -> str:
    if some:
        return f"These are sold for {MONEY[env]} ({env})."
    other = Env.LIVE if env is Env.TEST else Env.TEST
    return f"Nothing is sold this way for {MONEY[env]} ({env}) now. With env={other} you see what is sold for {MONEY[other]}."


class BuyWithX402(Arguments):
    listing_id: str = Field(max_length=64, description="lst_…, from list_x402_services")
    input: dict[str, Any] = Field(
        default_factory=dict, description="what to work on: the listing's input, as the whole body"
    )
    units: int | None = Field(
        None, ge=1, le=1_000_000, description="for a per_unit listing that does not count them in the input"
    )
    env: EnvChoice = Field(None, description="only a listing of this environment; the id implies it")


async def purchase(read_ctx: ReadContext, wanted: BuyWithX402) -> X402Quote | PurchaseRow:
    """Return a quote if nothing can be bought yet; otherwise complete the purchase."""
    request = read_ctx.caller.request
    if request.dry_run:
        raise InvalidRequest("dry_run: a purchase has none", param="dry_run", hint=NO_DRY_RUN)
    header = request.payment
    listing = await read_ctx.store.read(lambda tx: any_listing(tx, wanted.listing_id, wanted.env))
    place = replace(read_ctx, env=Env(listing.env))
    if header is None:
        return (await offered(place, listing.id, wanted.input, wanted.units, meant=False)).refused(UNPAID)
    try:
        payment = read_payment(header)
    except BadPayment as bad:
        offer = await offered(place, listing.id, wanted.input, wanted.units, meant=True)
        if request.surface is not Surface.REST:  # their transports answer any bad payment with the terms
            return offer.refused(f"{Fault.RESOURCE}: the payment {bad}", ANEW)
        raise InvalidRequest(f"the payment {bad}", param="PAYMENT-SIGNATURE", hint=SIGN_ANEW) from None
    known = await place.store.read(lambda tx: find_purchase(tx, place.env, payment.authorization))
    if known is None or known.status is PurchaseStatus.CHECKING:
        return await _first(place, wanted, listing.id, payment)
    fault = await _fault(place, payment)
    if fault is not None:
        return (await offered(place, listing.id, wanted.input, wanted.units, meant=True)).refused(fault)
    return await _gone_on(place, wanted, known)


async def _fault(read_ctx: ReadContext, payment: Payment) -> Fault | None:
    """Find out why a payment is not one that its payer signed for this market."""
    tool = [MCP_RESOURCE] if read_ctx.caller.request.surface is Surface.MCP else []
    if not is_for(payment.resource, [*read_ctx.config.urls, *tool]):
        return Fault.RESOURCE
    return None if await signed_by_payer(read_ctx, payment) else Fault.SIGNATURE


async def _first(
    read_ctx: ReadContext, wanted: BuyWithX402, listing_id: str, payment: Payment
) -> X402Quote | PurchaseRow:
    """Check a payment that was not seen before, then begin the purchase.

    The signer is checked before any account is read.
    """
    for _ in range(TRIES):
        offer = await offered(read_ctx, listing_id, wanted.input, wanted.units, meant=True)
        now_seconds = read_ctx.world.clock.now().timestamp()
        fault = fault_of(payment, offer.accepted, now_seconds) or await _fault(read_ctx, payment)
        if fault is not None:
            return offer.refused(fault)
        assert offer.judged is not None
        given = payment.authorization
        refuse_sanctioned(read_ctx.world.sanctions, {given.payer, given.payee})
        body = settle_body(offer.terms["resource"], offer.accepted, given, payment.signature)
        head = await head_of(read_ctx)
        # The number is read now, because a remembered one would let an earlier transfer pay.
        judged = replace(offer.judged, newest=replace(offer.judged.newest, number=head))
        columns = {"listing_id": listing_id, "fingerprint": _fingerprint(wanted)}
        entered, why = await check(read_ctx, payment, **columns, settle_body=body, scanned_to=head)
        if entered.status is not PurchaseStatus.CHECKING:
            return await _gone_on(read_ctx, wanted, entered)
        row = None
        try:
            if why is None:
                row = await read_ctx.store.write(
                    lambda tx: begin(read_ctx, tx, offer.order, judged, entered),  # noqa: B023
                    "begin_purchase",
                )
        except StaleInput:  # the listing was changed in between, so its new terms are checked
            read_ctx.services.caches.terms.clear()
            continue
        finally:
            if row is None:
                await release(read_ctx, entered)
        return offer.refused(why or "") if row is None else await _gone_on(read_ctx, wanted, row)
    raise TooBusy("the listing keeps changing", retry_after_seconds=1)


async def _gone_on(read_ctx: ReadContext, wanted: BuyWithX402, row: PurchaseRow) -> PurchaseRow:
    if row.fingerprint != _fingerprint(wanted):
        paid = "that order was paid with it: send its own input to get the result again"
        closed = "it came to nothing and nothing was charged"
        became = {PurchaseStatus.PAID: paid, PurchaseStatus.CLOSED: closed}.get(row.status, "it is under way")
        used = X402AuthorizationUsed(f"this payment was made for another order; {became}")
        with suppress(MarketError):
            used.terms = (await offered(read_ctx, wanted.listing_id, wanted.input, wanted.units, meant=False)).terms
        raise used
    return await run_until_done(read_ctx, row.id)


def _fingerprint(wanted: BuyWithX402) -> str:
    """Return the hash of an order, because a payment is refused for another order than its own."""
    return sha256_hex(canonical([wanted.listing_id, wanted.input, wanted.units or 1]))


@operation(
    "POST /v1/x402/{listing_id}",
    auth="none",
    gather=purchase,
    errors=(
        *ORDER_ERRORS,
        AddressSanctioned,
        Archived,
        BuyerNotActive,
        ChainUnavailable,
        NotImplementedHere,
        SellerHasNoWalletAddress,
        TransactionPending,
        X402AuthorizationInUse,
        X402AuthorizationUsed,
        X402FirstPartyOnly,
        X402InsufficientFunds,
        X402NeedsAPrice,
        X402NotDelivered,
        X402SettleFailed,
        X402Timeout,
        X402UpfrontNotSupported,
    ),
    open_world=True,
    rate=Rate.QUOTES,
    paid_rate=Rate.PURCHASES,
    body_argument="input",
    toolset="market",
)
def buy_with_x402(
    ctx: TxContext, _: BuyWithX402, found: X402Quote | PurchaseRow
) -> X402Result | X402Quote | MarketError:
    """Buy one of the operator's services with one signed USDC payment, without an account.

    Without a payment it answers 402 with the terms, which any x402 client (version 1 or 2) reads, signs and sends back:
    over HTTP in PAYMENT-SIGNATURE or X-PAYMENT (the body is the service's input), over MCP in `_meta`. The work is done first and
    charged only once it is there. The same payment sent again gets the same result and pays nothing more. A wallet
    without an agent gets one that it can claim by a signature (claim_x402_account).
    """
    if isinstance(found, X402Quote):
        return found
    row = found
    env = Env(row.env)
    here = replace(ctx, env=env, caller=Caller(row.agent_id, None, env, ("*",), ctx.caller.request))
    seen = find_mine(ctx.tx, row.job_id, row.agent_id, env)
    refusal = _refusal(row, seen)
    if refusal is not None:
        return refusal
    refuse_archived(here, row.job_id, seen.row.created_at)
    return X402Result(
        job_id=row.job_id,
        listing_id=row.listing_id,
        output=spliced(JobTexts(ctx.tx).output_of(seen.row)),
        paid=X402Payment(
            amount=row.amount,
            display=display(row.amount),
            transaction=row.tx_hash or "",
            network=here.network.id,
            payer=address_of(row.payer),
            pay_to=row.pay_to,
        ),
        receipt_url=f"{ctx.config.base_url}/v1/jobs/{row.job_id}/receipt",
        account=account_of(ctx.tx, ctx.config, row.agent_id),
    )


def _refusal(row: PurchaseRow, seen: JobSnapshot) -> MarketError | None:
    """Return the error of an ended purchase that has no result, or None."""
    job: dict[str, Any] = {"job_id": row.job_id}
    if row.status is PurchaseStatus.PAID:
        if seen.facts.is_paid:
            return None
        told = "the payment arrived after the job had ended: it is recorded, and the seller owes it back"
        return X402NotDelivered(told, hint="list_settlements shows it.", transaction=row.tx_hash, **job)
    if row.reason == Outcome.TOGETHER:
        told = (
            "the payment came in one transaction with another, which alone is recorded: the seller owes this one back"
        )
        return X402NotDelivered(told, hint=ASK_THE_OPERATOR, transaction=row.tx_hash, **job)
    if row.reason == Outcome.NOT_DELIVERED:
        said = (seen.row.cancel_reason or "no reason was given")[:300]
        return X402NotDelivered(f"the seller did not do the work; nothing was charged: {said}", **job)
    if row.reason == Outcome.TIMEOUT:
        return X402Timeout("the work did not come in time; nothing was charged", **job)
    if row.reason == Outcome.ELSEWHERE:
        return X402AuthorizationUsed("the job was paid in another way; this payment was not used", **job)
    never = X402AuthorizationUsed(f"this payment was never taken ({row.reason}); nothing was charged", **job)
    return never.with_terms(terms_of(row))
