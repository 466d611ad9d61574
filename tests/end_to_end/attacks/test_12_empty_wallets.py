"""Finding 12: buyers without money block a listing, get work for free, and register agents beyond every limit."""

import asyncio
import secrets  # noqa: TID251 - an authorization's nonce, made by the payer's own software
import socket
import time
from base64 import b64encode
from contextlib import suppress
from typing import Any

import httpx
import orjson
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount

from tests.end_to_end.attacks.test_01_x402_relay import PRICE, Desk, desk
from tests.end_to_end.attacks.world import Agent, Arena, Market, Reply, eventually

ORDER = {"text": "work for nothing"}
FIELDS = {
    "from": "address", "to": "address", "value": "uint256", "validAfter": "uint256", "validBefore": "uint256",
    "nonce": "bytes32",
}  # fmt: skip


async def signed(place: Desk, wallet: LocalAccount) -> str:
    """Return a signed payment header for the listing; the wallet may be empty."""
    required = (await place.market.post(place.path, None, ORDER)).expect(402)["required"]
    (accepted,) = required["accepts"]
    message = {
        "from": wallet.address,
        "to": accepted["payTo"],
        "value": int(accepted["amount"]),
        "validAfter": 0,
        "validBefore": int(time.time()) + 600,  # noqa: TID251 - the payer's own clock
        "nonce": "0x" + secrets.token_hex(32),
    }
    domain = {
        **accepted["extra"],
        "chainId": int(accepted["network"].split(":")[1]),
        "verifyingContract": accepted["asset"],
    }
    types = {"TransferWithAuthorization": [{"name": name, "type": kind} for name, kind in FIELDS.items()]}
    signature = Account.sign_typed_data(wallet.key, domain, types, message).signature
    payload = {
        "signature": f"0x{bytes(signature).hex()}",
        "authorization": {name: str(value) for name, value in message.items()},
    }
    whole = {"x402Version": 2, "resource": required["resource"], "accepted": accepted, "payload": payload}
    return b64encode(orjson.dumps(whole)).decode()


async def jobs_of(place: Desk, status: str | None = None) -> list[Any]:
    asked = {"role": "seller", "limit": "100"} | ({"status": status} if status else {})
    found = (await place.market.get("/v1/jobs", place.seller.test, params=asked)).expect()["data"]
    return [job for job in found if job["listing_id"] == place.listing["id"]]


async def agents_in(market: Market) -> int:
    return int((await market.get("/v1/stats", params={"env": "test"})).expect()["agents"])


async def idle(market: Market, places: int) -> Desk:
    """Return a first-party listing whose seller never works."""
    seller = await market.agent("Slow desk")
    label = f"/v1/admin/agents/{seller.id}/first-party"
    (await market.as_operator("POST", label, {"first_party": True})).expect()
    return Desk(market, seller, await market.listing(seller, price=PRICE, max_open_jobs=places))


async def hangs_up(place: Desk, wallet: LocalAccount) -> None:
    """Send a paid call and close the connection."""
    body, path = orjson.dumps(ORDER), place.path
    host = httpx.URL(place.market.url).netloc.decode()
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nPAYMENT-SIGNATURE: {await signed(place, wallet)}\r\n"
    name, port = host.split(":")
    wire = await asyncio.to_thread(socket.create_connection, (name, int(port)), 10)
    await asyncio.to_thread(wire.sendall, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await asyncio.sleep(1.5)
    wire.close()


async def honest(market: Market, seller: Agent) -> Agent:
    """Return a buyer that has already paid three other sellers."""
    buyer = await market.agent("Honest", usdc_minor=4 * PRICE)
    for number in range(3):
        await paid_once(market, buyer, f"Elsewhere {number}")
    return buyer


async def paid_once(market: Market, buyer: Agent, name: str) -> tuple[Agent, Any]:
    """Buy once from a new seller; return the seller and the job."""
    other = await market.agent(name)
    return other, await market.trade(other, buyer, await market.listing(other, price=10_000))


async def ordered(market: Market, buyer: Agent, listing: Any) -> Reply:
    return await market.post("/v1/jobs", buyer.test, {"listing_id": listing["id"], "input": ORDER})


@pytest.mark.finding(12)
async def test_two_free_accounts_do_not_close_a_priced_listing(arena: Arena) -> None:
    market = await arena.market()
    seller = await market.agent("Seller")
    buyer = await honest(market, seller)
    listing = await market.listing(seller, price=PRICE, max_open_jobs=10)
    for name in ("Mallory 1", "Mallory 2"):
        nobody = await market.register(name)
        for _ in range(10):
            body = {"listing_id": listing["id"], "input": ORDER}
            await market.post("/v1/jobs", nobody["api_keys"]["test"], body)
    assert (await ordered(market, buyer, listing)).status == 201


async def test_two_accounts_that_paid_their_own_shill_do_not_close_a_priced_listing(arena: Arena) -> None:
    """Each account holds at most one place, whether or not the shill sends the payment back."""
    market = await arena.market()
    seller = await market.agent("Seller")
    buyer = await honest(market, seller)
    listing = await market.listing(seller, price=PRICE, max_open_jobs=10)
    for name in ("Mallory 1", "Mallory 2"):
        mallory = await market.agent(name, usdc_minor=10_000)
        shill, job = await paid_once(market, mallory, f"Shill of {name}")
        if name == "Mallory 1":
            back = arena.chains["test"].transfer(shill.wallet, mallory.wallet.address, 10_000)
            (await market.post(f"/v1/jobs/{job['id']}/refund", shill.test, {"transaction": back})).expect()
        answers = [await ordered(market, mallory, listing) for _ in range(10)]
        assert [one.status for one in answers] == [201] + [409] * 9
    assert (await ordered(market, buyer, listing)).status == 201


@pytest.mark.finding(12)
async def test_any_number_of_free_accounts_leaves_half_of_the_places(arena: Arena) -> None:
    market = await arena.market()
    seller = await market.agent("Seller")
    buyer = await honest(market, seller)
    listing = await market.listing(seller, price=PRICE, max_open_jobs=6)
    body = {"listing_id": listing["id"], "input": ORDER}
    for number in range(8):
        nobody = await market.register(f"Mallory {number}")
        await market.post("/v1/jobs", nobody["api_keys"]["test"], body)
    answers = [await ordered(market, buyer, listing) for _ in range(3)]
    assert [one.status for one in answers] == [201] * 3


@pytest.mark.finding(12)
async def test_empty_wallets_get_no_work_and_make_no_agents(arena: Arena) -> None:
    market = await arena.market()
    async with desk(market) as place:
        before = await agents_in(market)
        answers = [await place.buy(await signed(place, Account.create()), ORDER) for _ in range(3)]
        jobs = await jobs_of(place)
    assert jobs == []
    assert await agents_in(market) == before
    assert [one.status for one in answers] == [402] * 3
    found = (await market.get("/v1/agents", params={"q": "Wallet", "limit": "100"})).text
    assert "wallet-0x" not in found


@pytest.mark.finding(12)
async def test_empty_wallets_that_hang_up_do_not_close_a_listing(arena: Arena) -> None:
    market = await arena.market()
    place = await idle(market, 4)
    buyer = await honest(market, place.seller)
    await asyncio.gather(*(hangs_up(place, Account.create()) for _ in range(4)))
    assert (await ordered(market, buyer, place.listing)).status == 201
    assert len(await jobs_of(place)) == 1


@pytest.mark.verify
async def test_wallets_with_money_that_hang_up_leave_half_of_the_places_and_give_theirs_back(arena: Arena) -> None:
    market = await arena.market()
    place = await idle(market, 4)
    buyer = await honest(market, place.seller)
    purses = [market.chains["test"].wallet(PRICE) for _ in range(4)]
    await asyncio.gather(*(hangs_up(place, one) for one in purses))
    assert len(await jobs_of(place, "open")) == 2
    assert (await ordered(market, buyer, place.listing)).status == 201

    async def given_back() -> bool:
        return len(await jobs_of(place, "open")) == 1

    await eventually(given_back, seconds=100)
    assert [market.chains["test"].balance(one.address) for one in purses] == [PRICE] * 4


async def test_one_wallet_signs_many_payments_and_holds_one_place(arena: Arena) -> None:
    market = await arena.market()
    place = await idle(market, 8)
    purse = market.chains["test"].wallet(PRICE)
    await asyncio.gather(*(hangs_up(place, purse) for _ in range(6)))
    assert len(await jobs_of(place, "open")) == 1


async def test_over_two_processes_newcomers_hold_exactly_half(arena: Arena) -> None:
    market = await arena.market(postgres=True, processes=2)
    seller = await market.agent("Seller")
    listing = await market.listing(seller, price=PRICE, max_open_jobs=6)
    keys = [(await market.register(f"Mallory {number}"))["api_keys"]["test"] for number in range(8)]
    body = {"listing_id": listing["id"], "input": ORDER}
    calls = (market.post("/v1/jobs", key, body, at=turn % 2) for turn, key in enumerate(keys * 2))
    answers = await asyncio.gather(*calls)
    assert sorted({one.status for one in answers}) == [201, 409]
    assert sum(one.status == 201 for one in answers) == 3
    assert {one.code for one in answers if one.status == 409} == {"seller_busy"}


async def test_a_facilitator_that_is_down_begins_nothing(arena: Arena) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nowhere = f"http://127.0.0.1:{taken.getsockname()[1]}"
    market = await arena.market(fresh=True, test_facilitator_url=nowhere)
    purse = market.chains["test"].wallet(PRICE)
    async with desk(market) as place:
        refused = await place.buy(await signed(place, purse), ORDER)
        jobs = await jobs_of(place)
    assert (refused.status, jobs) == (502, [])


@pytest.mark.verify
async def test_a_facilitator_that_keeps_silent_is_waited_for_five_seconds(arena: Arena) -> None:
    """The facilitator accepts connections but never answers; calls end and no work begins."""
    open_wires = list[asyncio.StreamWriter]()

    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_wires.append(writer)

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    market = await arena.market(fresh=True, test_facilitator_url=url)
    purse = market.chains["test"].wallet(PRICE)
    async with desk(market) as place:
        refused = await place.buy(await signed(place, purse), ORDER)
        jobs = await jobs_of(place)
    assert (refused.status, jobs) == (502, [])
    for wire in open_wires:
        with suppress(OSError):
            wire.close()
    server.close()
