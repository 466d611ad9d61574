"""Buying from the operator with one signed payment: terms, signature, work, settlement, and free repeats."""

import asyncio
import secrets  # noqa: TID251 - an authorization's nonce, made by the payer's own software
from base64 import b64decode
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from eth_account import Account
from x402.client import x402ClientSync
from x402.extensions.bazaar.types import parse_discovery_extension
from x402.http.utils import decode_payment_required_header
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import register_exact_evm_client
from x402.schemas import PaymentRequired

from storage.vocabulary import Env
from tests.requirements import covers
from tests.support.trade import PRICE, Trade
from tests.support.x402_client import INPUT, WORK, Shop, opened_shop
from tools.catalogue import CATALOGUE
from tools.kernel.json_schema import Validator
from tools.purchases.quotes import header

PER_UNIT = {
    "pricing_model": "per_unit",
    "unit_name": "10 characters",
    "unit_basis": {"rules": [{"field": "text", "measure": "characters", "per": 10}], "max": 5},
}


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(trade)


async def told(shop: Shop, **given: Any) -> Any:
    return orjson.loads((await shop.ask(**given)).body)


async def count(shop: Shop) -> int:
    """Return the number of agents."""
    return int((await shop.trade.market.call("get_stats", env="test"))["agents"])


@covers("x402.one_payment", "x402.account", "x402.signature_header", "x402.path")
async def test_one_payment_buys_the_work_and_books_it_on_an_account_without_keys(shop: Shop) -> None:
    before, agents = shop.income, await count(shop)
    _, result = await shop.bought()
    assert (result["object"], result["output"], result["listing_id"]) == ("x402_result", WORK, shop.listing["id"])
    assert shop.income - before == PRICE == result["paid"]["amount"]
    assert (result["paid"]["payer"], result["paid"]["pay_to"]) == (shop.wallet.address, shop.seller.wallet.address)
    assert (result["paid"]["network"], result["paid"]["transaction"]) == ("eip155:84532", shop.relay.sent[0])
    assert set(result["account"]) == {"agent_id", "claimed", "claim"}
    assert result["account"]["claimed"] is False
    assert set(result["account"]["claim"]["body"]) == {*CATALOGUE["claim_x402_account"].input.model_fields}
    assert await count(shop) == agents


async def test_a21_the_published_client_reads_the_terms_and_what_it_signs_is_taken(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    its_clock = SimpleNamespace(time=lambda: shop.trade.market.clock.now().timestamp())  # the chain's may be ahead
    monkeypatch.setattr("x402.mechanisms.evm.exact.client.time", its_clock)
    client = x402ClientSync()
    register_exact_evm_client(client, EthAccountSigner(shop.wallet))
    terms = PaymentRequired.model_validate((await shop.terms())["required"])
    made = client.create_payment_payload(terms)
    async with shop.open():
        answer = await shop.ask(pay=header(made.model_dump(by_alias=True, exclude_none=True)))
    assert (answer.status, orjson.loads(answer.body)["output"]) == (200, WORK)


@covers("x402.required_header", "x402.scheme")
async def test_terms_say_the_same_in_both_versions_and_fit_into_a_header(shop: Shop) -> None:
    terms = await shop.terms()
    (one,), (two,) = terms["accepts"], terms["required"]["accepts"]
    assert (terms["x402Version"], terms["error"], terms["required"]["x402Version"]) == (1, "Payment required", 2)
    assert one == {
        "scheme": "exact",
        "network": "base-sepolia",
        "maxAmountRequired": str(PRICE),
        "resource": f"http://market.test/v1/x402/{shop.listing['id']}",
        "description": shop.listing["title"],
        "mimeType": "application/json",
        "payTo": shop.seller.wallet.address,
        "maxTimeoutSeconds": 900,
        "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        "extra": {"name": "USDC", "version": "2"},
    }
    said = ("scheme", "asset", "payTo", "maxTimeoutSeconds", "extra")
    assert {name: two[name] for name in said} == {name: one[name] for name in said}
    assert (two["network"], two["amount"]) == ("eip155:84532", str(PRICE))
    sent = header(terms["required"])
    assert len(sent) < 8192
    assert orjson.loads(b64decode(sent)) == terms["required"]
    assert decode_payment_required_header(sent).accepts[0].amount == str(PRICE)


async def test_the_terms_show_how_to_call_as_the_bazaar_wants_it(shop: Shop) -> None:
    told = (await shop.terms())["required"]
    bazaar = told["extensions"]["bazaar"]
    assert bazaar["info"]["input"] == {"type": "http", "method": "POST", "bodyType": "json", "body": INPUT}
    assert bazaar["info"]["output"] == {"type": "json", "example": WORK}
    assert Validator(bazaar["schema"]).violations(bazaar["info"]) == []
    assert parse_discovery_extension(bazaar).info.input.body == INPUT  # type: ignore[union-attr]
    assert len(told["resource"]["tags"]) <= 5
    assert all(len(tag) <= 32 and tag.isascii() for tag in (*told["resource"]["tags"], told["resource"]["serviceName"]))


async def test_a_large_example_is_left_out_of_the_header(trade: Trade) -> None:
    shop = await opened_shop(
        trade,
        input_schema=None,
        output_schema=None,
        example_input={"text": "é" * 1500},
        example_output={"english": "x" * 7000},
    )
    info = (await shop.terms())["required"]["extensions"]["bazaar"]["info"]
    assert ("output" in info, info["input"]["body"]) == (False, {"text": "é" * 1500})
    change = {"listing_id": shop.listing["id"], "example_input": {"text": "é" * 4000}}
    await trade.market.call("update_listing", by=shop.seller, **change)
    told = (await shop.terms())["required"]
    assert (told["extensions"]["bazaar"]["info"]["input"]["body"], len(header(told)) < 8192) == ({}, True)


async def test_units_are_counted_in_the_input_and_priced(trade: Trade) -> None:
    shop = await opened_shop(trade, **PER_UNIT)
    for text, units in (("x", 1), ("x" * 11, 2), ("x" * 50, 5)):
        terms = await shop.terms({"text": text}, units=4)
        assert terms["required"]["accepts"][0]["amount"] == str(units * PRICE)
    refused = await told(shop, given={"text": "x" * 51})
    assert (refused["error"]["code"], refused["error"]["param"]) == ("invalid_request", "units")
    plain = await trade.listing(shop.seller, pricing_model="per_unit", unit_name="page")
    ordered = replace(shop, listing=plain)
    assert (await ordered.terms(units=3))["accepts"][0]["maxAmountRequired"] == str(3 * PRICE)
    assert (await ordered.terms(units=3))["required"]["resource"]["url"].endswith("?units=3")


async def test_an_input_that_cannot_be_worked_is_refused_before_anything_is_signed(shop: Shop) -> None:
    refused = await told(shop, given={"text": 5})
    assert (refused["error"]["type"], refused["error"]["code"]) == ("validation_error", "input_schema_mismatch")
    assert (await told(shop, units=2))["error"]["param"] == "units"
    assert (await shop.terms({}))["accepts"][0]["maxAmountRequired"] == str(PRICE), "nothing yet: what the least costs"
    paid = shop.sign(await shop.terms())
    refused = (await told(shop, given={"input": INPUT}, pay=paid))["error"]
    assert (refused["code"], refused["hint"][:34]) == ("input_schema_mismatch", "The whole body is the input as get")
    async with shop.open():
        assert (await shop.ask(pay=paid)).status == 200, "the same payment, with a better input"


@covers("x402.operator_only")
async def test_only_the_operators_priced_listings_paid_on_delivery_are_sold_so(shop: Shop) -> None:
    trade, market = shop.trade, shop.trade.market
    other = await trade.agent("Sela")
    offers = {
        "x402_first_party_only": await trade.listing(other),
        "x402_needs_a_price": await trade.listing(shop.seller, price=0),
        "x402_upfront_not_supported": await trade.listing(shop.seller, payment="upfront"),
    }
    quote = await trade.listing(shop.seller, pricing_model="quote", price=None)
    for code, listing in (*offers.items(), ("x402_needs_a_price", quote)):
        for pay in (None, shop.sign(await shop.terms())):
            error = (await told(replace(shop, listing=listing), pay=pay))["error"]
            assert (error["code"], error["type"]) == (code, "state_error")
    index = await market.call("list_x402_services", env="test")
    assert [one["listing_id"] for one in index["services"]] == [shop.listing["id"]]
    await market.call("update_listing", by=shop.seller, listing_id=shop.listing["id"], status="paused")
    assert (await told(shop))["error"]["code"] == "listing_unavailable"
    assert (await market.call("list_x402_services", env="test"))["services"] == []


@covers("open.x402_index")
async def test_the_index_says_what_is_sold_and_how_it_is_bought(shop: Shop) -> None:
    index = await shop.trade.market.call("list_x402_services", env="test")
    (service,) = index["services"]
    assert (index["object"], index["version"], index["env"], index["resources"]) == (
        "x402_index", 1, "test", [service["url"]],
    )  # fmt: skip
    assert index["protocol"]["x402_version"] == 2
    assert (index["protocol"]["scheme"], index["protocol"]["network_caip2"]) == ("exact", "eip155:84532")
    assert (service["method"], service["content_type"], service["price"]) == ("POST", "application/json", PRICE)
    assert (service["pay_to"], service["seller"]) == (shop.seller.wallet.address, shop.seller.handle)
    assert (service["input_schema"], service["example_input"]) == (shop.listing["input_schema"], INPUT)
    assert (await shop.trade.market.call("list_x402_services"))["services"] == [], "live has no chain here"


async def test_the_id_names_the_environment_and_another_one_is_not_found(shop: Shop) -> None:
    assert (await shop.ask(env=Env.TEST.value)).status == 402
    assert (await told(shop, env=Env.LIVE.value))["error"]["code"] == "not_found"
    gone = replace(shop, listing={"id": "lst_1"})
    assert (await told(gone))["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"value": PRICE - 1}, "invalid_exact_evm_payload_authorization_value_mismatch"),
        ({"value": PRICE + 1}, "invalid_exact_evm_payload_authorization_value_mismatch"),
        ({"to": "0x" + "11" * 20}, "invalid_exact_evm_payload_recipient_mismatch"),
        ({"validBefore": 59}, "invalid_exact_evm_payload_authorization_valid_before"),
        ({"validBefore": 3700}, "invalid_exact_evm_payload_authorization_valid_before"),
        ({"validBefore": 2**256 - 1}, "invalid_exact_evm_payload_authorization_valid_before"),
        ({"validAfter": 60}, "invalid_exact_evm_payload_authorization_valid_after"),
    ],
)
async def test_a_payment_that_does_not_fit_is_answered_with_the_terms_and_the_reason(
    shop: Shop, changed: Any, reason: str
) -> None:
    now, agents = int(shop.trade.market.clock.now().timestamp()), await count(shop)
    times = {name: value + now if value < 10_000 else value for name, value in changed.items() if name[:5] == "valid"}
    terms = await shop.terms()
    answer = await shop.ask(pay=shop.sign(terms, **(changed | times)))
    refused = orjson.loads(answer.body)
    assert (answer.status, refused["error"], refused["required"]["error"]) == (402, reason, reason)
    assert refused["accepts"] == terms["accepts"]
    assert "Nothing was charged." in refused["hint"]
    assert (shop.relay.bodies, await count(shop)) == ([], agents)


async def test_a20_a_payment_that_its_payer_did_not_sign_touches_no_account(shop: Shop) -> None:
    victim, agents = Account.create(), await count(shop)
    terms = await shop.terms()
    forged = shop.sign(terms, signer=shop.wallet, **{"from": victim.address})
    whole = shop.payload(terms)
    whole["payload"]["authorization"]["nonce"] = "0x" + secrets.token_hex(32)
    for paid in (forged, header(whole)):
        answer = await shop.ask(pay=paid)
        assert (answer.status, orjson.loads(answer.body)["error"]) == (402, "invalid_exact_evm_payload_signature")
    assert (await count(shop), shop.relay.bodies) == (agents, [])


@pytest.mark.parametrize("found", ["", "no base64!", "e30=", "A" * 20_000, header([1]), header({"x402Version": 3})])
async def test_a_header_that_holds_no_payment_is_a_bad_request(shop: Shop, found: str) -> None:
    error = (await told(shop, pay=found))["error"]
    assert (error["code"], error["param"]) == ("invalid_request", "PAYMENT-SIGNATURE")


@covers("x402.x_payment")
async def test_a_payment_of_version_1_is_taken(shop: Shop) -> None:
    two = shop.payload(await shop.terms())
    one = {"x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": two["payload"]}
    async with shop.open():
        answer = await shop.ask(pay=header(one))
    assert (answer.status, orjson.loads(answer.body)["output"]) == (200, WORK)


async def test_a22_the_same_payment_again_gets_the_same_result_and_pays_nothing_more(shop: Shop) -> None:
    paid, first = await shop.bought()
    income = shop.income
    await shop.trade.market.call("update_listing", by=shop.seller, listing_id=shop.listing["id"], price=2 * PRICE)
    await shop.trade.market.call("update_listing", by=shop.seller, listing_id=shop.listing["id"], status="paused")
    shop.trade.market.pass_seconds(40 * 86_400)  # long after the authorization has expired: there is no limit
    assert await told(shop, pay=paid) == first
    assert (shop.income, len(shop.relay.bodies)) == (income, 1)
    other = await told(shop, pay=paid, given={"text": "another"})
    assert other["error"]["code"] == "x402_authorization_used"


async def test_the_next_purchase_of_a_wallet_is_booked_on_the_same_account(shop: Shop) -> None:
    _, first = await shop.bought()
    _, second = await shop.bought()
    assert (second["account"], second["job_id"] != first["job_id"]) == (first["account"], True)


async def test_the_wallet_of_an_agent_buys_for_that_agent(shop: Shop) -> None:
    buyer = await shop.trade.agent("Bo", PRICE)
    terms = await shop.terms()
    async with shop.open():
        result = await told(shop, pay=shop.sign(terms, signer=buyer.wallet, **{"from": buyer.wallet.address}))
    assert result["account"] == {"agent_id": buyer.id, "claimed": True, "claim": None}
    assert (await shop.trade.seen(buyer, {"id": result["job_id"]}))["status"] == "completed"


async def test_twins_with_one_payment_are_one_purchase(shop: Shop) -> None:
    paid, income = shop.sign(await shop.terms()), shop.income
    async with shop.open():
        answers = await asyncio.gather(*(shop.ask(pay=paid) for _ in range(4)))
    results = [orjson.loads(one.body) for one in answers]
    assert [one.status for one in answers] == [200] * 4, results
    assert len({one["job_id"] for one in results}) == 1
    assert (shop.income - income, len(shop.relay.sent)) == (PRICE, 1)


async def test_quotes_and_paid_calls_are_counted_apart(trade: Trade) -> None:
    shop = await opened_shop(trade)
    house = trade.market.market.config
    trade.market.market.services.config = replace(house, limits=replace(house.limits, enforced=True))
    asked, paid = await shop.ask(), await shop.ask(pay="AAAA")
    assert asked.quota is not None
    assert paid.quota is not None
    assert (asked.quota.rate, asked.quota.limit, asked.quota.remaining) == ("quotes", 600, 599)
    assert (paid.quota.rate, paid.quota.limit, paid.quota.remaining) == ("purchases", 120, 119)


async def test_a24_the_promise_to_relay_nothing_names_its_one_exception(shop: Shop) -> None:
    info, index = (
        await shop.trade.market.call("get_payments_info", env="test"),
        await shop.trade.market.call("list_x402_services"),
    )
    for text in (info["refunds"] + info["fees"] + str(info["gasless"]) + str(info["how_it_works"]), index["limit"]):
        assert "operator" in text
