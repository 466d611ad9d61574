"""The account made by a purchase: unusable until its wallet signs a claim, and then that wallet's."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from eth_account import Account
from nacl.signing import SigningKey

from storage.tables import X402AccountRow
from storage.vocabulary import Env
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support import payment_flows
from tests.support.market import BASE_URL
from tests.support.trade import PRICE, Trade, binding
from tests.support.x402_client import WORK, Shop, opened_shop
from tests.tools.purchases.test_hostile_buyers import bought_by
from tools.catalogue import CATALOGUE
from tools.engine.caller import CallRequest, Surface
from tools.purchases.quotes import header

KEY = "ab" * 31 + "cd"


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(trade)


async def claim(shop: Shop, given: Any, **approach: Any) -> Any:
    """Claim an account; return the record or the error."""
    return orjson.loads((await shop.trade.market.answer("claim_x402_account", given, **approach)).body)


async def refused(shop: Shop, given: Any) -> str:
    return str((await claim(shop, given))["error"]["code"])


@covers("second.account.keys", "second.account.claim", "x402.account")
async def test_the_wallet_claims_its_account_with_its_history_and_is_bound_to_it(shop: Shop) -> None:
    _, result = await shop.bought()
    market, account = shop.trade.market, result["account"]
    body = account["claim"].pop("body")
    assert (body["agent_id"], body["address"]) == (account["agent_id"], shop.wallet.address)
    assert account["claim"] == {
        "method": "POST",
        "path": "/v1/x402/account",
        "message": f"service:x402-account:{BASE_URL}:{account['agent_id']}:{shop.wallet.address.lower()}"
        ":<public_key_hex or ->:<unix seconds>",
    }
    made = await claim(shop, shop.claim(account))
    assert (made["object"], made["agent"]["id"], made["wallet_address"]) == (
        "agent.created", account["agent_id"], shop.wallet.address,
    )  # fmt: skip
    seed = SigningKey(bytes.fromhex(made["keypair"]["secret_key"]))
    assert made["agent"]["public_key"] == bytes(seed.verify_key).hex()
    for env in Env:
        me = orjson.loads((await market.answer("get_me", key=made["api_keys"][env.value])).body)
        assert (me["id"], me["wallet_address"]) == (account["agent_id"], shop.wallet.address if env == "test" else None)
    key = made["api_keys"]["test"]
    job = orjson.loads((await market.answer("get_job", {"job_id": result["job_id"]}, key=key)).body)
    assert (job["status"], job["payment"]["status"], job["output"]) == ("completed", "paid", WORK)
    _, later = await shop.bought()
    assert later["account"] == {"agent_id": account["agent_id"], "claimed": True, "claim": None}


async def test_an_account_claimed_on_live_obeys_no_test_key_in_what_it_is_known_by(shop: Shop) -> None:
    market, account = shop.trade.market, (await shop.bought())[1]["account"]
    await write_row(market, X402AccountRow, account["agent_id"], env="live")
    made = await claim(shop, shop.claim(account))
    answer = await market.answer("update_me", {"name": "Eve"}, key=made["api_keys"]["test"])
    assert (answer.status, (answer.error or {})["details"]) == (403, {"scope": "live_key"})


@covers("second.account.root_key")
async def test_a_given_public_key_becomes_the_root_key(shop: Shop) -> None:
    seed = SigningKey.generate()
    key = bytes(seed.verify_key).hex()
    made = await claim(shop, shop.claim((await shop.bought())[1]["account"], public_key=key))
    assert made["agent"]["public_key"] == made["keypair"]["public_key"] == key
    assert "secret_key" not in made["keypair"]


@covers("second.account.once")
async def test_a_second_claim_is_refused_and_only_a_valid_signer_hears_why(shop: Shop) -> None:
    account = (await shop.bought())[1]["account"]
    first = shop.claim(account)
    assert (await claim(shop, first))["object"] == "agent.created"
    shop.trade.market.pass_seconds(1)
    error = (await claim(shop, shop.claim(account)))["error"]
    assert (error["code"], error["type"]) == ("already_claimed", "conflict")
    assert "recover" in error["hint"]
    assert await refused(shop, first) == "already_claimed"
    assert await refused(shop, shop.claim(account, signer=Account.create())) == "wallet_signature_invalid"


@covers("second.account.once")
async def test_a_signature_is_taken_once_also_where_it_was_refused(shop: Shop) -> None:
    account, market = (await shop.bought())[1]["account"], shop.trade.market
    status = {"agent_id": account["agent_id"], "status": "suspended"}
    await market.as_operator("set_agent_status", **status)
    given = shop.claim(account)
    assert await refused(shop, given) == "buyer_not_active"
    back = await market.as_operator("set_agent_status", **status | {"status": "active"})
    assert back["status"] == "unclaimed"
    error = (await claim(shop, given))["error"]
    assert (error["code"], error["message"]) == ("wallet_signature_invalid", "this signature was used before")
    market.pass_seconds(1)
    assert (await claim(shop, shop.claim(account)))["object"] == "agent.created"


@covers("second.account.message")
@pytest.mark.parametrize(
    "instead",
    [
        ("service:", "emporion:"),
        (BASE_URL, "https://other.example"),
        ("agt_", "agt_0"),
        (":-:", f":{KEY}:"),
        (":x402-account:", ":wallet:"),
        ("0x", "0X"),
    ],
)
async def test_a_claim_signed_for_anything_else_is_refused(shop: Shop, instead: tuple[str, str]) -> None:
    account = (await shop.bought())[1]["account"]
    given = shop.claim(account)
    text = account["claim"]["message"].replace("<public_key_hex or ->", "-")
    text = text.replace("<unix seconds>", str(given["signed_at"])).replace(*instead, 1)
    assert await refused(shop, shop.claim(account, text=text)) == "wallet_signature_invalid"
    assert (await claim(shop, given))["object"] == "agent.created"


@covers("second.account.message")
async def test_a_claim_is_good_for_300_seconds(shop: Shop) -> None:
    account, market = (await shop.bought())[1]["account"], shop.trade.market
    now = int(market.clock.now().timestamp())
    for signed_at in (now - 301, now + 62, 0):
        error = (await claim(shop, shop.claim(account, signed_at=signed_at)))["error"]
        assert (error["code"], error["param"]) == ("invalid_request", "signed_at")
    given = shop.claim(account, signed_at=now - 298)
    market.pass_seconds(3)
    assert await refused(shop, given) == "invalid_request"
    assert (await claim(shop, shop.claim(account, signed_at=now - 290)))["object"] == "agent.created"


@covers("second.account.silence")
async def test_a_refusal_does_not_tell_which_agent_exists(shop: Shop) -> None:
    account = (await shop.bought())[1]["account"]
    bo = await shop.trade.agent("Bo")
    made_up = "agt_" + "0" * 26
    thief = replace(shop, wallet=Account.create())
    names = [account | {"agent_id": one} for one in (account["agent_id"], bo.id, made_up)]

    def of(one: Any) -> Any:
        message = one["claim"]["message"].replace(account["agent_id"], one["agent_id"])
        return one | {"claim": {"message": message.replace(shop.wallet.address.lower(), thief.wallet.address.lower())}}

    own = [(await claim(thief, thief.claim(of(one))))["error"] for one in names]
    assert [one["code"] for one in own] == ["not_found"] * 3
    unsigned = [(await claim(shop, shop.claim(one, signer=thief.wallet)))["error"] for one in names]
    assert [one["code"] for one in unsigned] == ["wallet_signature_invalid"] * 3
    for found in (own, unsigned):
        said = {(one["message"], one["hint"], one.get("param")) for one in found}
        assert len(said) == 1


@covers("second.account.contract")
async def test_a_contract_wallet_claims_with_its_owners_signature_on_its_chain(shop: Shop) -> None:
    wallet = payment_flows.smart_wallet(shop.trade.evm, PRICE)
    account = orjson.loads((await bought_by(shop, wallet.address, signer=wallet.owner)).body)["account"]
    given = shop.claim(account, signer=wallet.owner, address=wallet.address)
    other = payment_flows.smart_wallet(shop.trade.evm, PRICE)
    stranger = shop.claim(account, signer=other.owner, address=wallet.address)
    assert await refused(shop, stranger) == "wallet_signature_invalid"
    asked = len(await asked_of_chain(shop, given | {"address": other.address}))
    assert asked == 0, "a wallet without an unclaimed account is not asked"
    assert (await claim(shop, given))["wallet_address"] == wallet.address


async def asked_of_chain(shop: Shop, given: Any) -> list[str]:
    """Make a claim, which is refused; return its requests to the chain."""
    market, asked = shop.trade.market.market, list[str]()
    chain = market.world.chains[Env.TEST]

    class Noting:
        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            return getattr(chain, name)

    market.services.world, kept = replace(market.world, chains={Env.TEST: Noting()}), market.world  # type: ignore[dict-item]
    assert await refused(shop, given) == "wallet_signature_invalid"
    market.services.world = kept
    return asked


@covers("second.account.unlisted")
async def test_an_unclaimed_agent_is_in_no_list_and_nobody_can_address_it(shop: Shop) -> None:
    _, result = await shop.bought()
    market, agent_id = shop.trade.market, result["account"]["agent_id"]
    bo = await shop.trade.agent("Bo")
    job = await market.call("get_job", by=shop.seller, job_id=result["job_id"])
    handle = job["buyer"]["handle"]
    lists = [
        await market.call("search_agents", limit=100),
        await market.call("search_agents", q=handle),
        await market.call("get_feed", env="test", limit=100),
        await market.call("get_leaderboard", env="test", role="buyer", limit=100),
        await market.call("get_leaderboard", env="test", role="seller", limit=100),
    ]
    for found in lists:
        assert agent_id not in str(found)
        assert handle not in str(found)
    for operation in ("get_agent", "get_reputation", "check_counterparty", "get_attestation"):
        for named in (agent_id, handle):
            assert (await market.refusal(operation, agent_id=named))["code"] == "not_found"
    assert (await market.refusal("start_thread", by=bo, to=agent_id, body="Hello"))["code"] == "not_found"
    await shop.claimed(result["account"])
    assert (await market.call("get_agent", agent_id=handle))["id"] == agent_id
    assert agent_id in str(await market.call("search_agents", q=handle))


@covers("second.account.payer")
async def test_an_unclaimed_wallet_pays_for_its_purchase_alone(shop: Shop) -> None:
    """The wallet pays only for this purchase: it is not bound, and other orders cannot use it."""
    _, result = await shop.bought()
    _, bo = await shop.trade.parties()
    bound = await shop.trade.market.call("set_wallet_address", by=bo, address=bo.wallet.address, signature=binding(bo))
    assert bound["wallet_address"] == bo.wallet.address
    job = await shop.trade.job_at("delivered", shop.seller, bo)
    shop.trade.evm.node.give_gas(shop.wallet.address)
    sent = shop.trade.evm.transfer(shop.wallet, shop.seller.wallet, PRICE)
    given = {"job_id": job["id"], "transaction": sent}
    error = await shop.trade.market.refusal("pay_job", by=bo, **given)
    assert (error["code"], error["details"]["reason"]) == ("payment_invalid", "wrong_sender")
    receipt = await shop.trade.market.call("get_receipt", by=shop.seller, job_id=result["job_id"])
    assert receipt["receipt"]["buyer"]["wallet_address"] == shop.wallet.address


@covers("second.account.bound_later")
async def test_a_wallet_that_an_agent_binds_books_there_and_its_account_stays_claimable(shop: Shop) -> None:
    _, first = await shop.bought()
    bo = await shop.trade.market.register("Bo")
    bo.wallet = shop.wallet
    await shop.trade.bind(bo)
    _, second = await shop.bought()
    assert second["account"] == {"agent_id": bo.id, "claimed": True, "claim": None}
    shop.trade.market.clock.pass_seconds(1)
    old = await shop.claimed(first["account"])
    jobs = await shop.trade.market.call("list_jobs", by=old)
    assert [one["id"] for one in jobs["data"]] == [first["job_id"]]
    _, third = await shop.bought()
    assert third["account"]["agent_id"] == bo.id


@covers("second.account.closed")
async def test_a_wallet_whose_account_the_operator_closed_buys_nothing(shop: Shop) -> None:
    _, result = await shop.bought()
    for status in ("suspended", "deleted"):
        said = {"agent_id": result["account"]["agent_id"], "status": status}
        await shop.trade.market.as_operator("set_agent_status", **said)
        refused = orjson.loads((await shop.ask(pay=shop.sign(await shop.terms()))).body)
        assert refused["error"]["code"] == "buyer_not_active"


async def test_the_sellers_own_wallet_buys_nothing_of_it(shop: Shop) -> None:
    own = replace(shop, wallet=shop.seller.wallet)
    shop.trade.evm.fund(own.wallet, PRICE)
    await shop.trade.rebind(shop.seller, shop.trade.evm.person())
    error = orjson.loads((await shop.ask(pay=own.sign(await shop.terms()))).body)["error"]
    assert (error["code"], error["param"]) == ("invalid_request", "listing_id")


@covers("second.account.rate")
async def test_claims_are_counted_by_address_whatever_key_comes_with_them(trade: Trade) -> None:
    shop = await opened_shop(trade)
    account, house = (await shop.bought())[1]["account"], trade.market.market.config
    agents = [await trade.market.register(f"Agent {one}") for one in range(2)]
    trade.market.market.services.config = replace(house, limits=replace(house.limits, enforced=True))
    given = shop.claim(account, signer=Account.create())
    keys = [None, *(one.keys["test"] for one in agents)]
    codes = [(await claim(shop, given, key=keys[one % 3]))["error"]["code"] for one in range(21)]
    assert codes == ["wallet_signature_invalid"] * 20 + ["rate_limited"]
    windows = await claim(shop, shop.claim(account), ip="198.51.100.4")
    assert windows["object"] == "agent.created"


@covers("second.account.resource")
@pytest.mark.parametrize(
    ("url", "taken"),
    [
        (None, True),
        (f"{BASE_URL}/v1/x402/lst_other", True),
        (f"{BASE_URL.upper()}/v1", True),
        ("http://elsewhere.test/v1/x402", True),  # from EXTRA_BASE_URLS
        ("https://weather.attacker.example/today", False),
        (f"{BASE_URL}.attacker.example/", False),
        (f"{BASE_URL}@attacker.example/", False),
        ("https://market.test/", False),
        ("http://market.test:8080/", False),
        ("http://[/", False),
        ("", False),
        ("mcp://tool/buy_with_x402", False),
    ],
)
async def test_a_payment_made_for_another_site_is_refused(shop: Shop, url: str | None, taken: bool) -> None:
    market = shop.trade.market.market
    market.services.config = replace(market.config, other_urls=("http://elsewhere.test/v1",))
    payload = shop.payload(await shop.terms())
    payload["resource"] = None if url is None else {"url": url}
    async with shop.open():
        answer = await shop.ask(pay=header(payload))
    if taken:
        assert answer.status == 200, answer.body
    else:
        assert (answer.status, orjson.loads(answer.body)["error"]) == (402, "invalid_payload")
        assert await shop.orders() == []


@covers("second.account.resource")
async def test_the_name_of_the_tool_is_a_resource_over_mcp_alone(shop: Shop) -> None:
    given = {"listing_id": shop.listing["id"], "input": {"text": "guten Tag"}}
    tool = "mcp://tool/buy_with_x402"
    named = f"{tool}?listing_id={shop.listing['id']}"
    for url, status in ((tool, 200), (named, 200), ("mcp://tool/hire", 402), (f"{tool}_too?{named}", 402)):
        payload = shop.payload(await shop.terms())
        payload["resource"] = {"url": url}
        async with shop.open():
            assert await over_mcp(shop, given, header(payload)) == status


async def over_mcp(shop: Shop, given: Any, paid: str) -> int:
    """Return the status of a paid call as it arrives over MCP."""
    came = CallRequest(Surface.MCP, "203.0.113.9", "req_test", payment=paid)
    return (await shop.trade.market.market.call(CATALOGUE["buy_with_x402"], dict(given), came)).status


@covers("second.account.idempotent")
async def test_a_claim_with_an_idempotency_key_is_told_its_keys_again(shop: Shop) -> None:
    given, key = shop.claim((await shop.bought())[1]["account"]), "a key that nobody else can guess"
    first = await shop.trade.market.answer("claim_x402_account", given, repeat=key)
    again = await shop.trade.market.answer("claim_x402_account", given, repeat=key)
    assert (again.replayed, again.body) == (True, first.body)
    assert orjson.loads(first.body)["api_keys"]["test"].startswith("as_test_")
