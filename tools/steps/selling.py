"""Selling with one signed payment: what an order would cost, whether a payment is the payer's, what the payer's account is told."""

from dataclasses import dataclass
from typing import Any

import orjson

from storage.purchases import any_key_of
from storage.tables import AgentRow, FormerKeyRow, ListingRow, WalletRow
from storage.unit import Tx
from tools.context import Context, Outside
from tools.errors import InputSchemaMismatch, NotFound, NotImplementedHere
from tools.ports import Env
from tools.records.base import Json, spliced
from tools.records.x402 import X402Account, X402Quote, X402Service
from tools.rules.money import display
from tools.rules.wallet import signer_of
from tools.rules.x402payments import IN_WORDS, Asked, Payment
from tools.rules.x402quotes import quote, version_1, with_bazaar
from tools.steps.agents import change_agent
from tools.steps.documents import text_of
from tools.steps.enrolling import first_keys, new_keypair
from tools.steps.gasless import token_of
from tools.steps.offers import counts_units
from tools.steps.ordering import JudgedOrder, Order, judge_order, units_in
from tools.steps.proving import no_chain
from tools.steps.purchases import OnSale, on_sale
from tools.steps.wallets import contract_agrees

UNPAID = "Payment required"
HOW_TO_PAY = (
    "POST the input of the service here as the whole body; sign one of `accepts` with any x402 client and send it in PAYMENT-SIGNATURE, "
    "with the same body. Keep that header: sent again it gets the same result and pays nothing more."
)
WHOLE_BODY = "The whole body is the input as get_listing shows it. Nothing was charged: the same payment may come with a better input."
NO_LISTING = "list_x402_services (GET /v1/x402) shows what is sold so."
HANDED_OVER = "Made for the wallet that paid, and bound to it in this environment. Store api_keys and keypair now: they are shown this once."
ELSEWHERE = (
    "The agent this wallet is bound to. Its keys were told before, to it or in the answer of its first purchase."
)
LATER = "The agent this wallet is bound to. Its keys are in the answer of the call that begins its next purchase."


@dataclass(frozen=True, slots=True)
class Offered:
    """An order that can be bought, and what it costs; `judged` is None where it was only asked about."""

    order: Order
    judged: JudgedOrder | None
    terms: dict[str, Any]

    @property
    def accepted(self) -> dict[str, Any]:
        (only,) = self.terms["accepts"]
        return dict(only)

    @property
    def asked(self) -> Asked:
        return Asked(self.accepted["network"], self.accepted["payTo"], int(self.accepted["amount"]))

    def refused(self, why: str) -> X402Quote:
        """The terms, with x402's reason why they stand unpaid."""
        terms = self.terms | {"error": why}
        return X402Quote(error=why, hint=hint_for(why), accepts=version_1(terms)["accepts"], required=terms)


def hint_for(why: str) -> str:
    """What a client does next about terms that stand unpaid for this reason."""
    return IN_WORDS.get(why, HOW_TO_PAY)


def any_listing(tx: Tx, listing_id: str, env: str | None) -> ListingRow:
    """The listing in whatever state: what was bought of it before is told all the same."""
    listing = tx.get(ListingRow, listing_id)
    if listing is None or env not in (None, listing.env):
        raise NotFound("there is no such listing", param="listing_id", hint=NO_LISTING)
    return listing


async def offered(
    place: Outside, listing_id: str, given: dict[str, Json], units: int | None, *, meant: bool
) -> Offered:
    """The gates, the input, the units, the price. An empty body that pays nothing only asks what the least would cost."""
    sale, example, answer = await place.store.look(lambda tx: _read(tx, listing_id, place.env))
    _check_open(place)
    said: dict[str, Any] = {} if units is None or counts_units(sale.listing, given) else {"units": units}
    order = Order(listing_id=listing_id, input=given, **said)
    counted = units_in(sale.listing, order)
    judged = None
    if meant or given:
        try:
            judged = await judge_order(place, order)
        except InputSchemaMismatch as unfit:
            unfit.hint = WHOLE_BODY
            raise
    asked_for = f"?units={units}" if said else ""
    terms = quote(
        token_of(place.network),
        url=url_of(place.house.base_url, listing_id) + asked_for,
        title=sale.listing.title,
        brand=place.house.brand,
        tags=orjson.loads(sale.listing.tags),
        pay_to=sale.pay_to,
        amount=(sale.listing.price or 0) * counted,
        why=UNPAID,
    )
    return Offered(order, judged, with_bazaar(terms, example, answer))


def url_of(base_url: str, listing_id: str) -> str:
    return f"{base_url}/v1/x402/{listing_id}"


def is_open(place: Context | Outside) -> bool:
    """Whether anything is sold so in this environment."""
    return place.env in place.world.facilitators and place.env in place.world.chains


async def signed_by_payer(place: Outside, payment: Payment) -> bool:
    """Whether the payer signed exactly this: its key, or, where a contract is the payer, the contract's own word."""
    given = payment.authorization
    digest = given.digest(token_of(place.network))
    if signer_of(digest, payment.signature) == given.payer:
        return True
    return await contract_agrees(place, given.payer, digest, payment.signature, None)


def account_of(ctx: Context, *, may_be_told: bool) -> X402Account:
    """The buyer's agent, with its keys where nobody was told any yet and this call began the purchase.

    Nobody but the payer can have begun it: an authorization is seen by others only once it is sent. Sent again it may be theirs.
    """
    agent = ctx.tx.get(AgentRow, ctx.agent, lock=True)
    assert agent is not None
    told = ctx.tx.one(any_key_of, agent_id=agent.id) is not None
    if told or not may_be_told:
        note = ELSEWHERE if told else LATER
        return X402Account(note=note, agent_id=agent.id, handle=agent.handle, api_keys=None, keypair=None)
    identity = new_keypair(ctx)
    ctx.tx.add(FormerKeyRow(public_key=agent.public_key, agent_id=agent.id, retired_at=ctx.now))
    agent = change_agent(ctx.tx, agent, public_key=identity.public_key, auth_epoch=agent.auth_epoch + 1)
    keys = first_keys(ctx, agent.id)
    return X402Account(note=HANDED_OVER, agent_id=agent.id, handle=agent.handle, api_keys=keys, keypair=identity)


def service_record(ctx: Context, listing: ListingRow) -> X402Service | None:
    """A listing as it is bought with one payment; None where its seller has no wallet to be paid at."""
    wallet, seller = ctx.tx.get(WalletRow, listing.seller_id, ctx.env), ctx.tx.get(AgentRow, listing.seller_id)
    assert seller is not None
    if wallet is None:
        return None
    per = f" per {listing.unit_name}" if listing.unit_name else ""
    price, counted = listing.price or 0, listing.unit_basis_note
    return X402Service(
        listing_id=listing.id,
        url=url_of(ctx.house.base_url, listing.id),
        title=listing.title,
        description=listing.description,
        tags=orjson.loads(listing.tags),
        price=price,
        pricing_model="per_unit" if listing.unit_name else "fixed",
        unit_name=listing.unit_name,
        price_note=f"{display(price)}{per}{f'; {counted}' if counted else ''}",
        pay_to=wallet.address,
        seller=seller.handle,
        input_schema=spliced(text_of(ctx.tx, listing.input_schema)),
        output_schema=spliced(text_of(ctx.tx, listing.output_schema)),
        example_input=spliced(listing.example_input),
        turnaround_seconds=listing.turnaround_seconds,
    )


def _read(tx: Tx, listing_id: str, env: Env) -> tuple[OnSale, Json, Json]:
    sale = on_sale(tx, listing_id, env)
    example, answer = (
        None if one is None else orjson.loads(one) for one in (sale.listing.example_input, sale.listing.example_output)
    )
    return sale, example, answer


def _check_open(place: Outside) -> None:
    if place.env not in place.world.facilitators:
        raise NotImplementedHere("nothing is sold with x402 here: no facilitator is configured")
    if place.env not in place.world.chains:
        raise no_chain(place.env, "Sign nothing: this market could not verify it.")
