"""Selling with one signed payment: the cost of an order, and whether a payment is the payer's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from storage.tables import AgentRow, ListingRow, WalletRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.chain.transfer_proof import no_chain
from tools.chain.wallet_proof import signer_of
from tools.chain.x402_payments import IN_WORDS, Payment
from tools.engine.caller import Surface
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import text_of
from tools.engine.errors import InputSchemaMismatch, NotImplementedHere
from tools.jobs.payments.gasless import token_of
from tools.jobs.place_order import JudgedOrder, Order, judge_order, units_in
from tools.kernel.money import display
from tools.kernel.records import Json, spliced
from tools.listings.validation import counts_units
from tools.purchases.logic import on_sale
from tools.purchases.quotes import quote, version_1, with_discovery
from tools.purchases.records import X402Quote, X402Service
from tools.wallets.logic import contract_agrees

UNPAID = "Payment required"
SIGN = "sign one of `accepts` with any x402 client and send it"
SENT_AGAIN = "sent again it gets the same result and pays nothing more."
HOW_TO_PAY: Mapping[Surface, str] = {
    Surface.REST: f"POST the input of the service here as the whole body; {SIGN} in PAYMENT-SIGNATURE, with the same body. Keep that header: {SENT_AGAIN}",
    Surface.MCP: f'Call buy_with_x402 with the input; {SIGN} in _meta["x402/payment"], with the same arguments. Keep that payment: {SENT_AGAIN}',
    Surface.A2A: f"Activate the extension for x402 that the agent card declares; {SIGN} in the metadata x402.payment.payload, with the same "
    f"order. Keep that payment: {SENT_AGAIN}",
}
NOT_TAKEN = "The facilitator would not take this payment. Nothing was begun and nothing was charged. Sign the terms anew with a wallet that holds the amount."
POOR = "The wallet does not hold what it signed. Nothing was begun and nothing was charged. Put USDC into it, then send the same request again."
WHOLE_BODY = "The whole body is the input as get_listing shows it. Nothing was charged: the same payment may come with a better input."
MCP_RESOURCE = "mcp://tool/buy_with_x402"


@dataclass(frozen=True, slots=True)
class Offered:
    """An order that can be bought, with its terms; `judged` is None if only the price was asked."""

    order: Order
    judged: JudgedOrder | None
    terms: dict[str, Any]
    surface: Surface

    @property
    def accepted(self) -> dict[str, Any]:
        (only,) = self.terms["accepts"]
        return dict(only)

    def refused(self, why: str, hint: str = "") -> X402Quote:
        """Return the terms, with x402's reason why they are unpaid."""
        terms, told = self.terms | {"error": why}, hint or hint_for(why, self.surface)
        return X402Quote(error=why, hint=told, accepts=version_1(terms)["accepts"], required=terms)


def hint_for(why: str, surface: Surface) -> str:
    """Return what a client should do about terms that are unpaid for this reason."""
    if why == UNPAID:
        return HOW_TO_PAY[surface]
    return IN_WORDS.get(why, POOR if "insufficient" in why else NOT_TAKEN)


async def offered(
    read_ctx: ReadContext, listing_id: str, arguments: dict[str, Json], units: int | None, *, meant: bool
) -> Offered:
    """Check the listing, the units and the input of an order, and return its terms.

    An empty input is not validated unless a payment is `meant`; it only asks for the lowest price.
    """
    listing, pay_to, example, answer = await read_ctx.store.read(lambda tx: _read(tx, listing_id, read_ctx.env))
    _check_open(read_ctx)
    said: dict[str, Any] = {} if units is None or counts_units(listing, arguments) else {"units": units}
    order = Order(listing_id=listing_id, input=arguments, **said)
    counted = units_in(listing, order)
    judged = None
    if meant or arguments:
        try:
            judged = await judge_order(read_ctx, order)
        except InputSchemaMismatch as unfit:
            unfit.hint = WHOLE_BODY
            raise
    surface = read_ctx.caller.request.surface
    asked_for = f"?units={units}" if said else ""
    over_mcp, over_http = f"{MCP_RESOURCE}?listing_id={listing_id}", url_of(read_ctx.config.base_url, listing_id)
    url = over_mcp if surface is Surface.MCP else over_http + asked_for
    terms = quote(
        token_of(read_ctx.network),
        url=url,
        title=listing.title,
        brand=read_ctx.config.brand,
        tags=listing.tags,
        pay_to=pay_to,
        amount=(listing.price or 0) * counted,
        why=UNPAID,
    )
    shown = with_discovery(terms, example, answer) if surface is Surface.REST else terms  # it describes a POST
    return Offered(order, judged, shown, surface)


def url_of(base_url: str, listing_id: str) -> str:
    return f"{base_url}/v1/x402/{listing_id}"


def is_open(place: TxContext | ReadContext) -> bool:
    """Check whether anything is sold with one payment in this environment."""
    return place.env in place.world.facilitators and place.env in place.world.chains


async def signed_by_payer(read_ctx: ReadContext, payment: Payment) -> bool:
    """Check whether the payer signed this payment, by its key or as a contract wallet."""
    given = payment.authorization
    digest = given.digest(token_of(read_ctx.network))
    if signer_of(digest, payment.signature) == given.payer:
        return True
    return await contract_agrees(read_ctx, given.payer, digest, payment.signature, None)


def service_record(ctx: TxContext, listing: ListingRow) -> X402Service | None:
    """Return a listing as a service for one payment; None if its seller has no wallet."""
    wallet = ctx.tx.get(WalletRow, listing.seller_id, ctx.env)
    if wallet is None:
        return None
    per = f" per {listing.unit_name}" if listing.unit_name else ""
    price, counted = listing.price or 0, listing.unit_basis_note
    return X402Service(
        listing_id=listing.id,
        url=url_of(ctx.config.base_url, listing.id),
        title=listing.title,
        description=listing.description,
        tags=listing.tags,
        price=price,
        pricing_model="per_unit" if listing.unit_name else "fixed",
        unit_name=listing.unit_name,
        price_note=f"{display(price)}{per}{f'; {counted}' if counted else ''}",
        pay_to=wallet.address,
        seller=ctx.tx.need(AgentRow, listing.seller_id).handle,
        input_schema=spliced(text_of(ctx.tx, listing.input_schema)),
        output_schema=spliced(text_of(ctx.tx, listing.output_schema)),
        example_input=spliced(listing.example_input),
        turnaround_seconds=listing.turnaround_seconds,
    )


def _read(tx: Tx, listing_id: str, env: Env) -> tuple[ListingRow, str, Json, Json]:
    listing, pay_to = on_sale(tx, listing_id, env)
    example, answer = (
        None if one is None else orjson.loads(one) for one in (listing.example_input, listing.example_output)
    )
    return listing, pay_to, example, answer


def _check_open(read_ctx: ReadContext) -> None:
    if read_ctx.env not in read_ctx.world.facilitators:
        raise NotImplementedHere("nothing is sold with x402 here: no facilitator is configured")
    if read_ctx.env not in read_ctx.world.chains:
        raise no_chain(read_ctx.env, "Sign nothing: this market could not verify it.")
