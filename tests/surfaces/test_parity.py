"""Parity: the same calls over every wire give the same records and the same errors, whole.

Each wire gets a market and a chain of its own with the same clock and dice, so ids, keys, times and transactions come out
alike, and only what names the request is masked.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct

from server.world.chain import JsonRpcChain
from storage.store import Store
from tests.chain.evm import Evm
from tests.conftest import Opening
from tests.databases import SQLiteTemplate
from tests.market import TestMarket
from tests.surfaces.wires import WIRES, Call, served, wire
from tests.trading import OFFER
from tools.catalogue import CATALOGUE
from tools.context import Surface
from tools.ports import Chain, Env
from tools.rates import ALLOWANCES, Rate, bucket_of

MASKED = frozenset({"request_id"})
SELLER = Account.from_key("0x" + "51" * 32)
BUYER = Account.from_key("0x" + "b0" * 32)
AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
EVERYWHERE = {op.name for op in CATALOGUE.values() if op.surfaces == frozenset(Surface)}
Said = list[tuple[str, Any]]


class Script:
    """The calls of one run and what they were answered."""

    def __init__(self, market: TestMarket, call: Call, evm: Evm) -> None:
        self.market, self.evm, self._call = market, evm, call
        self.said: Said = []

    async def __call__(self, operation: str, key: str | None = None, /, **given: Any) -> Any:
        self.market.dice.rolled = 1000 * len(self.said)  # a wire may roll for ids of its own
        answer = await self._call(operation, given, key)
        self.said.append((operation, masked(answer)))
        return answer

    async def run(self) -> None:
        await self("get_health")
        await self.market.workers.probe()
        await self("get_health")
        await self("get_health", nonsense=1)
        await self.texts()
        seller, buyer = await self.agents()
        listing = await self.listings(seller, buyer)
        await self.trade(seller, buyer, listing)
        await self.limits()

    async def texts(self) -> None:
        await self("get_changelog")
        await self("get_changelog", x=1)
        await self("get_payments_info", env="test")
        await self("get_payments_info", env="moon")

    async def agents(self) -> tuple[str, str]:
        sela = await self("register_agent", name="Sela", metadata={"a": 1.5, "b": [10000, "ü"]})
        bo = await self("register_agent", name="Bo")
        await self("register_agent", name="", hndle="x")
        await self("register_agent", name="Sela", handle=sela["agent"]["handle"])
        seller, buyer = sela["api_keys"]["test"], bo["api_keys"]["test"]
        await self("get_me", seller)
        await self("get_me")
        await self("get_agent", agent_id=bo["agent"]["handle"])
        await self("get_agent", agent_id="nobody")
        for key, made, account in ((seller, sela, SELLER), (buyer, bo, BUYER)):
            await self("set_wallet_address", key, **bound(made["agent"]["id"], account))
        await self(
            "set_wallet_address", seller, **bound(sela["agent"]["id"], BUYER) | {"address": SELLER.address.lower()}
        )
        self.market.sanctions.listed.add(SELLER.address.lower())
        await self("set_wallet_address", buyer, **bound(bo["agent"]["id"], SELLER))
        self.market.sanctions.listed.clear()
        return seller, buyer

    async def listings(self, seller: str, buyer: str) -> str:
        made = await self("create_listing", seller, **OFFER)
        await self("create_listing", seller, **OFFER | {"price": -1})
        await self(
            "update_listing", seller, listing_id=made["id"], description="Any text, translated by hand, at once."
        )
        await self("update_listing", buyer, listing_id=made["id"], price=1)
        await self("get_listing", listing_id=made["id"], env="test")
        await self("get_listing", listing_id=made["id"])
        await self("search_listings", env="test", q="translate", limit=5)
        await self("search_listings", env="test", cursor="AAAA")
        return str(made["id"])

    async def trade(self, seller: str, buyer: str, listing: str) -> None:
        job = await self("create_job", buyer, listing_id=listing, input={"text": "guten Tag"})
        await self("create_job", buyer, listing_id=listing, input={"txt": 5})
        ref = {"job_id": job["id"]}
        await self("get_job", seller, **ref)
        await self("get_job", seller, job_id="job_1")
        await self("list_jobs", buyer, role="buyer", status="open")
        await self("list_jobs", buyer, role="judge")
        await self("accept_job", seller, **ref)
        await self("accept_job", buyer, **ref)
        await self("deliver_job", seller, **ref, output={"englisch": 1})
        await self("deliver_job", seller, **ref, output={"english": "good day"}, preview="g…", message="Done.")
        await self("pay_job", seller, **ref)
        terms = await self("pay_job", buyer, **ref)
        await self("pay_job", buyer, **ref, transaction="0x" + "ab" * 32)
        await self("pay_job", buyer, **ref, transaction=self.evm.transfer(BUYER, self.evm.usdc, 5))
        sent = self.evm.transfer(BUYER, terms["pay_to"], terms["amount"])
        await self("pay_job", buyer, **ref, transaction=sent)
        await self("accept_job", buyer, **ref)
        await self("review_job", buyer, **ref, rating=5, comment="Quick.")
        await self("review_job", buyer, **ref, rating=4)
        signed = await self("get_receipt", buyer, **ref)
        await self("get_receipt", buyer, job_id="job_1")
        checked = await self._call("verify_receipt", signed, None)
        self.said.append(("verify_receipt", checked))
        await self("verify_receipt", signature={})
        await self("list_events", seller, types=["job.*", "review.received"], limit=50)
        await self("list_events", seller, types=["job.exploded"])

    async def limits(self) -> None:
        market = self.market.market
        market.house = replace(market.house, limits=replace(market.house.limits, enforced=True))
        for _ in range(ALLOWANCES[Rate.READS].calls):
            market.windows.take(
                Rate.READS, ALLOWANCES[Rate.READS], bucket_of("127.0.0.1"), market.world.clock.monotonic()
            )
        await self("get_changelog")


def bound(agent_id: str, account: Any) -> dict[str, str]:
    text = f"service:wallet:{agent_id}:{account.address.lower()}"
    signed = account.sign_message(encode_defunct(text=text))
    return {"address": account.address, "signature": "0x" + bytes(signed.signature).hex()}


def masked(value: Any) -> Any:
    """The value without what a chain or a connection decides."""
    if isinstance(value, dict):
        return {key: "*" if key in MASKED and part is not None else masked(part) for key, part in value.items()}
    return [masked(part) for part in value] if isinstance(value, list) else value


@asynccontextmanager
async def run_over(name: str, store: Store) -> AsyncIterator[Script]:
    chains: dict[Env, Chain] = {}
    market = TestMarket(store, chains)
    market.clock.at = AT
    with Evm(now=lambda: int(AT.timestamp())) as evm:
        evm.node.give_gas(BUYER.address)
        evm.fund(BUYER, 100_000_000)
        chains[Env.TEST] = reader = JsonRpcChain(evm.url, evm.chain_id, monotonic=market.clock.monotonic)
        async with served(market) as url, wire(name, url) as call:
            yield Script(market, call, evm)
        await reader.close()


@pytest.fixture
async def reference(sqlite_url: str, opening: Opening) -> Said:
    async with run_over("rest", opening(sqlite_url)) as script:
        await script.run()
    return script.said


@pytest.mark.parametrize("name", WIRES[1:])
async def test_every_wire_says_what_rest_says(
    name: str, reference: Said, sqlite_template: SQLiteTemplate, tmp_path: Path, opening: Opening
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with run_over(name, opening(sqlite_template.copy(other))) as script:
        await script.run()
    for (operation, expected), (_, said) in zip(reference, script.said, strict=True):
        assert said == expected, operation


async def test_the_script_succeeds_and_is_refused_once_with_every_operation(reference: Said) -> None:
    succeeded = {name for name, said in reference if "error" not in said}
    refused = {name for name, said in reference if "error" in said}
    assert succeeded == EVERYWHERE
    assert refused == EVERYWHERE


async def test_every_error_type_is_answered_once_on_every_wire(reference: Said) -> None:
    types = {said["error"]["type"] for _, said in reference if "error" in said}
    assert types == {
        "validation_error", "authentication_error", "payment_error", "permission_error", "not_found", "conflict",
        "state_error", "rate_limited", "internal_error",
    }  # fmt: skip
