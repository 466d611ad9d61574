"""Errors of quotes, revisions, cancellations and disputes, of histories and of archived listings."""

from typing import Any

from tests.support.refusals import Scenario, forget_wallet, produces
from tests.support.trade import Trade

QUOTED = {"pricing_model": "quote", "price": None}


def _not_now(operation: str, status: str, by_buyer: bool, **given: Any) -> Scenario:
    async def scenario(trade: Trade) -> Any:
        seller, buyer = await trade.parties()
        job = await trade.job_at(status, seller, buyer)
        error = await trade.market.refusal(operation, by=buyer if by_buyer else seller, job_id=job["id"], **given)
        assert error["details"]["status"] == job["status"]
        return error

    return scenario


def _secret(operation: str, status: str, by_buyer: bool, field: str, **given: Any) -> Scenario:
    async def scenario(trade: Trade) -> Any:
        seller, buyer = await trade.parties()
        job = await trade.job_at(status, seller, buyer)
        said = {field: f"my key is {seller.keys['live']}"} | given
        return await trade.market.refusal(operation, by=buyer if by_buyer else seller, job_id=job["id"], **said)

    return scenario


for _name, (_status, _buyer, _given) in {
    "decline_job": ("in_progress", False, {}),
    "quote_job": ("open", False, {"price": 5}),
    "accept_quote": ("open", True, {}),
    "request_revision": ("delivered", True, {"message": "Shorter."}),
    "cancel_job": ("completed", False, {}),
    "dispute_job": ("delivered", True, {"reason": "Empty."}),
}.items():
    produces(_name, "invalid_transition")(_not_now(_name, _status, _buyer, **_given))
for _name, (_status, _buyer, _field, _given) in {
    "decline_job": ("open", False, "reason", {}),
    "quote_job": ("open", False, "message", {"price": 5}),
    "request_revision": ("revealed", True, "message", {}),
    "cancel_job": ("open", True, "reason", {}),
    "dispute_job": ("revealed", True, "reason", {}),
}.items():
    produces(_name, "content_rejected")(_secret(_name, _status, _buyer, _field, **_given))


@produces("accept_quote", "seller_has_no_wallet_address")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, **QUOTED, payment="upfront")
    await trade.market.call("quote_job", by=seller, job_id=job["id"], price=5)
    await forget_wallet(trade, seller)
    return await trade.market.refusal("accept_quote", by=buyer, job_id=job["id"])


@produces("accept_quote", "quote_changed")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, **QUOTED)
    for price in (5, 50):
        await trade.market.call("quote_job", by=seller, job_id=job["id"], price=price)
    return await trade.market.refusal("accept_quote", by=buyer, job_id=job["id"], price=5)


@produces("list_job_events", "invalid_cursor")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    return await trade.market.refusal("list_job_events", by=buyer, job_id=job["id"], cursor="AAAA")


@produces("archive_listing", "not_found")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    foreign = await trade.market.refusal("archive_listing", by=buyer, listing_id=listing["id"])
    assert foreign == await trade.market.refusal("archive_listing", by=buyer, listing_id="lst_1")
    return foreign


@produces("list_my_listings", "invalid_cursor")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("list_my_listings", by=await trade.market.register(), cursor="AAAA")
