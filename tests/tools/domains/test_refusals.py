"""The errors that operations of domains declare: a call produces each."""

from typing import Any

from tests.support.refusals import refusal
from tests.support.trade import Trade


@refusal
async def test_add_domain_too_many_domains(trade: Trade) -> Any:
    ada = await trade.market.register()
    for number in range(5):
        await trade.market.call("add_domain", by=ada, domain=f"a{number}.example.com")
    return await trade.market.refusal("add_domain", by=ada, domain="a5.example.com")


@refusal
async def test_verify_domain_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("verify_domain", by=await trade.market.register(), domain="example.com")


@refusal
async def test_remove_domain_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("remove_domain", by=await trade.market.register(), domain="example.com")


@refusal
async def test_get_domain_claim_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("get_domain_claim", domain="example.com")
