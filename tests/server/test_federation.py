"""Two real markets that name each other find each other's live listings; each shows the other's apart from its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account

from server.adapters.catalogs import CatalogFetcher
from server.app import Service
from server.peers import PeerCatalogs
from storage.peers import forget_peer, peers_among
from tests.support.evm import Evm
from tests.support.listening import listen
from tests.support.market import Agent
from tests.support.servers import serving
from tests.support.trade import OFFER, binding


@dataclass
class Market:
    """A served market that refers to another."""

    url: str
    peer: str  # the other's address
    service: Service
    http: httpx.AsyncClient

    async def post(self, path: str, key: str | None = None, **body: Any) -> Any:
        answer = await self.http.post(path, json=body, headers={"X-API-Key": key} if key else {})
        assert answer.is_success, answer.text
        return answer.json()

    async def get(self, path: str, **query: Any) -> Any:
        return (await self.http.get(path, params=query)).json()

    async def offers(self, title: str, on: str = "live") -> Any:
        """Return a new listing of a new seller."""
        made = await self.post("/v1/agents", name=f"Seller of {title}")
        key, seed = made["api_keys"][on], bytes.fromhex(made["keypair"]["secret_key"])
        seller = Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], seed, Account.create())
        proof = {"address": seller.wallet.address, "signature": binding(seller)}
        await self.post("/v1/agents/me/wallet-address", key, **proof)
        return await self.post("/v1/listings", key, **OFFER | {"title": title})

    async def has_read(self) -> None:
        """Wait until the worker has read the other market."""
        assert self.service.served is not None
        store = self.service.served.market.store
        read = lambda tx: tx.all(peers_among, origins=[self.peer])  # noqa: E731 - reads as what it is
        while not any(row.documents for row in await store.read(read)):  # noqa: ASYNC110 - another loop writes it
            await asyncio.sleep(0.05)

    async def reads_again(self) -> None:
        """Read the other market now, as if it were due."""
        assert self.service.served is not None
        market, fetcher = self.service.served.market, CatalogFetcher(allow_private=True)
        await market.store.write(lambda tx: tx.run(forget_peer, origin=self.peer))
        assert await PeerCatalogs(market, fetcher).step() == 1
        await fetcher.close()


@pytest.fixture
async def markets(tmp_path: Path) -> AsyncIterator[tuple[Market, Market]]:
    """Two markets on different names of this machine, with one chain for live."""
    sockets = listen(), listen()
    urls = [
        f"http://{name}:{one.getsockname()[1]}" for name, one in zip(("127.0.0.1", "localhost"), sockets, strict=True)
    ]
    async with AsyncExitStack() as stack:
        chain = stack.enter_context(Evm(8453))
        made = []
        for number, (url, peer) in enumerate(zip(urls, reversed(urls), strict=True)):
            given = {"base_url": url, "referrals": [peer], "allow_private_networks": True, "live_rpc_url": chain.url}
            folder = tmp_path / str(number)
            folder.mkdir()
            service = await stack.enter_async_context(serving(folder, sockets[number], **given))
            http = await stack.enter_async_context(httpx.AsyncClient(base_url=url, trust_env=False, timeout=30))
            made.append(Market(url, peer, service, http))
        yield made[0], made[1]


async def test_two_markets_find_each_others_listings(markets: tuple[Market, Market]) -> None:
    for one in markets:
        await one.has_read()
    listings = [await one.offers(f"Translate for market {number}") for number, one in enumerate(markets)]
    await markets[1].offers("Translate on test", on="test")
    for one in markets:
        await one.reads_again()
    for one, own, theirs in zip(markets, listings, reversed(listings), strict=True):
        host = one.peer.split("/")[2].split(":")[0]
        identifier = f"urn:air:{host}:listing:{theirs['id']}"

        found = await one.get("/v1/elsewhere", q="translate")
        assert [(entry["market"], entry["identifier"]) for entry in found["data"]] == [(host, identifier)]
        assert [entry["id"] for entry in (await one.get("/v1/listings", q="translate"))["data"]] == [own["id"]]

        results = (await one.post("/ard/search", query={"text": "translate"}))["results"]
        assert [entry["capabilities"] for entry in results] == [[own["id"]], [theirs["id"]]]
        assert results[0]["score"] > results[1]["score"]
        assert (results[1]["source"], results[1]["metadata"]["foreign"]) == (f"{one.peer}/ard", True)
        alone = await one.post("/ard/search", query={"text": "translate"}, federation="none")
        assert alone == {"results": results[:1]}

        referring = await one.post("/ard/search", query={"text": "translate"}, federation="referrals")
        (referral,) = referring["referrals"]
        assert referring["results"] == results[:1]
        assert referral.keys() == {"identifier", "displayName", "type", "url"}
        async with httpx.AsyncClient(trust_env=False) as http:
            asked = await http.post(f"{referral['url']}/search", json={"query": {"text": "translate"}})
            assert asked.json()["results"][0]["identifier"] == identifier
            card = await http.get(results[1]["url"])
            assert theirs["id"] in [skill["id"] for skill in card.json()["skills"]]
