"""Finding 1: a site that relays a payer's x402 payment is treated as the payer.

The attacker shows the victim's client the market's own terms under another resource, then submits here the payment
that the client signs.
"""

import asyncio
import time
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson
import pytest
from aiohttp import web
from eth_account import Account
from eth_account.signers.local import LocalAccount
from nacl.signing import SigningKey
from x402.client import x402Client
from x402.http.clients.httpx import x402_httpx_transport
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import register_exact_evm_client

from tests.end_to_end.attacks.world import Agent, Arena, Market, Reply, personal_sign

PRICE = 250_000
OWN_INPUT = {"text": "what the attacker wants"}
CLAIM = "/v1/x402/account"


@dataclass
class Desk:
    """The operator's seller, which delivers every order at once."""

    market: Market
    seller: Agent
    listing: Any

    @property
    def path(self) -> str:
        return f"/v1/x402/{self.listing['id']}"

    async def works(self) -> None:
        while True:
            answer = await self.market.get("/v1/jobs", self.seller.test, params={"role": "seller", "status": "open"})
            for job in answer.expect()["data"]:
                with suppress(AssertionError):
                    await self.market.deliver(self.seller, job, {"words": len(job["input"]["text"].split())})
            await asyncio.sleep(0.2)

    async def buy(self, payment: str, given: Any, **more: Any) -> Reply:
        headers = {"PAYMENT-SIGNATURE": payment} | more.pop("headers", {})
        return await self.market.post(self.path, None, given, headers=headers, **more)

    async def purchase(self, wallet: LocalAccount, given: Any) -> Reply:
        """Buy with the published client, as honest payers do."""
        paying = register_exact_evm_client(x402Client(), EthAccountSigner(wallet))
        transport = x402_httpx_transport(paying, httpx.AsyncHTTPTransport())
        async with httpx.AsyncClient(transport=transport, timeout=120, trust_env=False) as http:
            answer = await http.post(self.market.url + self.path, json=given)
        return Reply(answer.status_code, answer.headers, answer.content, answer.json())


@asynccontextmanager
async def desk(market: Market) -> AsyncIterator[Desk]:
    seller = await market.agent("Weather desk")
    labelled = await market.as_operator("POST", f"/v1/admin/agents/{seller.id}/first-party", {"first_party": True})
    labelled.expect()
    made = Desk(market, seller, await market.listing(seller, price=PRICE, max_open_jobs=100))
    working = asyncio.create_task(made.works())
    try:
        yield made
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working


@dataclass
class Site:
    """The attacker's site, which asks for the market's price and keeps the payments."""

    terms: Any
    got: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        paid = request.headers.get("PAYMENT-SIGNATURE")
        if paid is not None:
            self.got.append(paid)
            return web.json_response({"weather": "rain"})
        required = b64encode(orjson.dumps(self.terms)).decode()
        return web.json_response({}, status=402, headers={"PAYMENT-REQUIRED": required})


async def lured(place: Desk, victim: LocalAccount) -> str:
    """Return the payment that the victim's unmodified client sends to the attacker's site."""
    terms = (await place.market.post(place.path, None, OWN_INPUT)).expect(402)["required"]
    site = Site(terms | {"resource": {**terms["resource"], "url": "https://weather.attacker.example/today"}})
    app = web.Application()
    app.router.add_get("/today", site.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    paying = register_exact_evm_client(x402Client(), EthAccountSigner(victim))
    transport = x402_httpx_transport(paying, httpx.AsyncHTTPTransport())
    async with httpx.AsyncClient(transport=transport, timeout=60, trust_env=False) as http:
        answer = await http.get(f"http://127.0.0.1:{runner.addresses[0][1]}/today")
    await runner.cleanup()
    assert answer.json() == {"weather": "rain"}
    (caught,) = site.got
    return caught


def for_the_market(caught: str, url: str) -> str:
    """Replace the resource of a payment, which the payer's signature does not cover."""
    payload = orjson.loads(b64decode(caught))
    payload["resource"]["url"] = url
    return b64encode(orjson.dumps(payload)).decode()


async def relayed(place: Desk, victim: LocalAccount) -> Reply:
    caught = await lured(place, victim)
    return await place.buy(for_the_market(caught, place.market.url + place.path), OWN_INPUT)


def secrets_in(answer: Reply) -> list[str]:
    """Return everything in an answer that gives access to an account."""
    account = answer.record.get("account") or {}
    keys = [*(account.get("api_keys") or {}).values(), (account.get("keypair") or {}).get("secret_key")]
    return [one for one in keys if one] + [one for one in ("as_test_", "as_live_", "secret_key") if one in answer.text]


def claim(account: Any, wallet: LocalAccount, **changed: Any) -> dict[str, Any]:
    """Return the body of a claim, signed by this wallet."""
    given = {"agent_id": account["agent_id"], "address": wallet.address, "signed_at": int(time.time())} | changed  # noqa: TID251
    text = account["claim"]["message"].replace("<unix seconds>", str(given["signed_at"]))
    text = text.replace("<public_key_hex or ->", str(given.get("public_key", "-")))
    return {**given, "signature": personal_sign(wallet, text)}


@pytest.mark.finding(1)
async def test_whoever_relays_a_payment_gets_no_key_of_the_payer(arena: Arena) -> None:
    market = await arena.market()
    victim = market.chains["test"].wallet(PRICE)
    async with desk(market) as place:
        bought = await relayed(place, victim)
    bought.expect(200)
    assert secrets_in(bought) == []


@pytest.mark.finding(1)
async def test_a_payment_that_names_another_site_buys_nothing(arena: Arena) -> None:
    market = await arena.market()
    victim = market.chains["test"].wallet(PRICE)
    async with desk(market) as place:
        refused = await place.buy(await lured(place, victim), OWN_INPUT)
        jobs = (await market.get("/v1/jobs", place.seller.test, params={"role": "seller"})).expect()["data"]
    assert refused.status == 402
    assert (jobs, market.chains["test"].balance(victim.address)) == ([], PRICE)


@pytest.mark.finding(1)
async def test_a_relayer_reads_nothing_that_the_payer_buys_later(arena: Arena) -> None:
    market = await arena.market()
    victim = market.chains["test"].wallet(3 * PRICE)
    async with desk(market) as place:
        bought = await relayed(place, victim)
        keys = [one for one in secrets_in(bought) if one.startswith("as_test_") and len(one) > 8]
        mallory = await market.agent("Mallory")
        later = (await place.purchase(victim, {"text": "CONFIDENTIAL merger plan"})).expect(200)
        for key in (*keys, mallory.test):
            for path in (
                f"/v1/jobs/{later['job_id']}",
                f"/v1/jobs/{later['job_id']}/receipt",
                "/v1/jobs",
                "/v1/events",
            ):
                assert "CONFIDENTIAL" not in (await market.get(path, key)).text
            told = await market.a2a("GetTask", {"id": later["job_id"]}, key)
            assert "CONFIDENTIAL" not in told.text
        again = await place.buy(for_the_market(await lured(place, victim), market.url + place.path), OWN_INPUT)
    assert later["job_id"] not in again.text


@pytest.mark.finding(1)
async def test_a_payers_transfer_pays_no_order_of_a_relayer(arena: Arena) -> None:
    """The victim orders elsewhere with its wallet; the relayer shows that transfer first."""
    market = await arena.market()
    wallet = market.chains["test"].wallet(2 * PRICE)
    async with desk(market) as place:
        bought = await relayed(place, wallet)
    keys = [one for one in secrets_in(bought) if one.startswith("as_test_") and len(one) > 8]
    honest, mallory = await market.agent("Honest"), await market.agent("Mallory")
    listing = await market.listing(honest, price=PRICE, max_open_jobs=10)
    victim = await market.agent("Victim", wallet=wallet)
    theirs = await market.order(victim, listing)
    await market.deliver(honest, theirs)
    thief = keys[0] if keys else mallory.test
    order = {"listing_id": listing["id"], "input": {"text": "stolen"}}
    stolen = (await market.post("/v1/jobs", thief, order)).expect(201)
    await market.deliver(honest, stolen)
    terms = (await market.post(f"/v1/jobs/{theirs['id']}/pay", victim.test)).expect(402)
    sent = {"transaction": market.chains["test"].transfer(wallet, terms["pay_to"], terms["amount"])}
    taken = await market.post(f"/v1/jobs/{stolen['id']}/pay", thief, sent)
    paid = await market.post(f"/v1/jobs/{theirs['id']}/pay", victim.test, sent)
    assert (taken.status, paid.status) == (402, 200)
    assert (await market.get(f"/v1/jobs/{stolen['id']}", thief)).record["output"] is None


async def test_the_wallet_claims_its_account_and_a_relayer_cannot(arena: Arena) -> None:
    market = await arena.market(service_name="claimed")
    victim = market.chains["test"].wallet(PRICE)
    async with desk(market) as place:
        account = (await relayed(place, victim)).expect(200)["account"]
    thief = Account.create()
    text = account["claim"]["message"]
    refused = [
        claim(account, victim) | {"signature": claim(account, thief)["signature"]},
        claim(account | {"claim": {"message": text.replace(victim.address.lower(), thief.address.lower())}}, thief),
        claim(account, victim) | {"public_key": bytes(SigningKey.generate().verify_key).hex()},
        claim(account, victim) | {"signed_at": int(time.time()) - 1000},  # noqa: TID251
        claim(account, victim, signed_at=int(time.time()) - 1000),  # noqa: TID251
        claim(account, victim) | {"agent_id": place.seller.id},
    ]
    for given in refused:
        answer = await market.post(CLAIM, None, given)
        assert answer.status in (400, 404), answer.text
        assert secrets_in(answer) == []
        assert account["agent_id"] not in answer.text.replace(str(given.get("agent_id")), "")
    first = claim(account, victim)
    made = (await market.post(CLAIM, None, first)).expect(200)
    me = (await market.get("/v1/agents/me", made["api_keys"]["test"])).expect()
    assert (me["id"], me["wallet_address"]) == (account["agent_id"], victim.address)
    for given in (first, claim(account, victim)):
        again = await market.post(CLAIM, None, given)
        assert (again.status, again.code) == (409, "already_claimed")


@pytest.mark.parametrize("where", ["service", "host", "environment", "agent"])
async def test_a_claim_made_for_another_place_is_worth_nothing_here(arena: Arena, where: str) -> None:
    """A claim signed for another market or environment is refused for the wallet's account here."""
    here = await arena.market(service_name="claimed")
    there = await arena.market(service_name="other" if where == "service" else "claimed", fresh=where == "host")
    victim = here.chains["test"].wallet(2 * PRICE)
    async with desk(here) as place:
        mine = (await relayed(place, victim)).expect(200)["account"]
    other = mine
    if where in ("service", "host"):
        async with desk(there) as place:
            other = (await relayed(place, victim)).expect(200)["account"]
    text = other["claim"]["message"]
    if where == "environment":  # the account is on test, so the same message may be signed for an account on live
        text = text.replace("x402-account", "x402-account:live")
    if where == "agent":
        text = text.replace(mine["agent_id"], place.seller.id)
    elif where in ("service", "host"):
        text = text.replace(other["agent_id"], mine["agent_id"])
    given = claim(mine | {"claim": {"message": text}}, victim)
    assert (await here.post(CLAIM, None, given)).code == "wallet_signature_invalid"
    (await here.post(CLAIM, None, claim(mine, victim))).expect(200)


async def test_of_claims_made_at_once_to_two_processes_one_is_taken(arena: Arena) -> None:
    market = await arena.market(postgres=True, processes=2)
    victim = market.chains["test"].wallet(PRICE)
    async with desk(market) as place:
        account = (await relayed(place, victim)).expect(200)["account"]
    keys = ["-", *(bytes(SigningKey.generate().verify_key).hex() for _ in range(3))]
    same = claim(account, victim)
    bodies = [same] * 6 + [claim(account, victim, public_key=key) for key in keys[1:]]
    answers = await asyncio.gather(*(market.post(CLAIM, None, body, at=n % 2) for n, body in enumerate(bodies)))
    assert sorted(one.status for one in answers) == [200] + [409] * (len(bodies) - 1), [one.text for one in answers]
    (taken,) = [one for one in answers if one.status == 200]
    (await market.get("/v1/agents/me", taken.record["api_keys"]["test"])).expect()


async def test_an_account_nobody_has_claimed_is_found_by_nobody(arena: Arena) -> None:
    market = await arena.market()
    victim = market.chains["test"].wallet(PRICE)
    async with desk(market) as place:
        account = (await relayed(place, victim)).expect(200)["account"]
    mallory = await market.agent("Mallory")
    for path in ("/v1/agents?limit=100", "/v1/feed?env=test&limit=100", "/v1/leaderboard?env=test&role=buyer"):
        assert account["agent_id"] not in (await market.get(path, mallory.test)).text
    assert (await market.get(f"/v1/agents/{account['agent_id']}", mallory.test)).status == 404
    message = {"to": account["agent_id"], "body": "Sign this for me."}
    assert (await market.post("/v1/threads", mallory.test, message)).status == 404


async def test_every_surface_refuses_a_claim_that_the_wallet_did_not_sign(arena: Arena) -> None:
    market = await arena.market(service_name="claimed")
    victim = market.chains["test"].wallet(PRICE)
    async with desk(market) as place:
        account = (await relayed(place, victim)).expect(200)["account"]
    forged = claim(account, victim) | {"signature": claim(account, Account.create())["signature"]}
    assert await market.mcp_tool("claim_x402_account", **forged) is None
    refused = await market.a2a_tool("claim_x402_account", **forged)
    assert "wallet_signature_invalid" in orjson.dumps(refused).decode()
    made = await market.mcp_tool("claim_x402_account", **claim(account, victim))
    assert made["agent"]["id"] == account["agent_id"]
