"""An agent that uses every part of the market, and its export over HTTP: `await exported(market, agent)`."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from nacl.signing import SigningKey

from server.webhook_sender import Sender
from storage.tables import HeldDomainRow
from tests.support.market import Agent, TestMarket
from tests.support.panels import Court, evaluator
from tests.support.protocols import served
from tests.support.signed_requests import approach
from tests.support.trade import Trade
from tools.catalogue import CATALOGUE
from tools.kernel.keys import public_key_of, rotation_message

NEW_KEY = SigningKey(b"\x31" * 32)
PATH = "/v1/agents/me/export"
SECRET = "whsec_" + "c2VjcmV0IG9mIHRoZSB0ZXN0IQ=="
WANTED: dict[str, Any] = {
    "title": "Translate a manual",
    "description": "Twelve pages of plain text.",
    "budget_max": 500_000,
    "category": "text",
    "input": {"pages": 12},
}


@dataclass
class Full:
    """Ada, an agent with records of every kind, and all secrets that the agents received."""

    trade: Trade
    ada: Agent
    bo: Agent
    job: Any
    secrets: list[str] = field(default_factory=list)

    @property
    def market(self) -> TestMarket:
        return self.trade.market


async def full(trade: Trade) -> Full:
    """Let Ada sell a paid job, buy a disputed job, judge a case and use every other part."""
    market = trade.market
    ada, bo = await trade.agent("Ada", 10_000_000), await trade.agent("Bo", 10_000_000)
    job = await trade.job_at("completed", ada, bo)
    for by, rating in ((bo, 5), (ada, 4)):
        await market.call("review_job", by=by, job_id=job["id"], rating=rating, comment=f"said by {by.handle}")
    made = Full(trade, ada, bo, job)
    await _bounties(made)
    await _disputes(made)
    await _belongings(made)
    await _new_root_key(made)
    made.secrets.append(bytes(NEW_KEY).hex())
    for one in (ada, bo):
        made.secrets += [*one.keys.values(), one.seed.hex(), bytes(one.wallet.key).hex()]
    return made


async def _bounties(of: Full) -> None:
    market, cy = of.market, await of.trade.agent("Cy")
    own = await market.call("create_bounty", by=of.ada, **WANTED)
    for seller, price in ((of.bo, 300_000), (cy, 200_000)):
        await market.call("propose_on_bounty", by=seller, bounty_id=own["id"], price=price, message="I can.")
    others = await market.call("create_bounty", by=of.bo, **WANTED)
    for seller in (of.ada, cy):
        await market.call("propose_on_bounty", by=seller, bounty_id=others["id"], price=100_000)


async def _disputes(of: Full) -> None:
    """Open one dispute that Ada is a party to, and one that she judges."""
    trade = of.trade
    await Court.of(trade, of.bo, of.ada, {one.id: one for one in [await evaluator(trade) for _ in range(3)]})
    await of.market.call("set_evaluator", by=of.ada, enabled=True, categories=["text"])
    seller, buyer = await trade.parties()
    judges = {one.id: one for one in [of.ada, await evaluator(trade), await evaluator(trade)]}
    court = await Court.of(trade, seller, buyer, judges)
    while of.ada.id not in {seat.agent_id for seat in await court.seats()}:
        court = await Court.of(trade, seller, buyer, judges)


async def _belongings(of: Full) -> None:
    market, ada = of.market, of.ada
    await market.call("update_me", by=ada, handle="countess", metadata={"team": 7})
    made = await market.call("create_api_key", by=ada, env="test", scopes=["read"])
    hook = await market.call("create_webhook", by=ada, url="https://hooks.example/in", secret=SECRET)
    of.secrets += [made["key"], hook["secret"]]
    await market.call("start_thread", by=of.bo, to=ada.id, body="Do you take longer texts?")
    await market.call("create_schedule", by=ada, in_seconds=60, payload={"check": "orders"})
    await market.call("put_memory", by=ada, key="notes/today", value={"done": [1, None]})
    await market.call("report_support", by=ada, message="pay_job answers nothing since noon.", contact="ada@a.example")
    await market.call("add_domain", by=ada, domain="ada-makes.org")
    proven = HeldDomainRow(domain="ada-made.org", agent_id=ada.id, held_at=market.clock.at)
    await market.store.write(lambda tx: tx.add(proven))
    await Sender(market.market).fan_out()


async def _new_root_key(of: Full) -> None:
    op, old = CATALOGUE["rotate_key"], public_key_of(of.ada.seed).hex()
    told = bytes(NEW_KEY.verify_key).hex()
    proof = NEW_KEY.sign(rotation_message("service", of.ada.id, old, told).encode()).signature.hex()
    given = {"new_public_key": told, "proof": proof}
    came = approach(of.ada, op, given, of.market.clock.now().timestamp(), nonce="once")
    answer = await of.market.market.call(op, given, came)
    assert not answer.refused, answer.body


@asynccontextmanager
async def opened(market: TestMarket) -> AsyncIterator[httpx.AsyncClient]:
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        yield http


async def exported(market: TestMarket, agent: Agent, on: str = "test") -> Any:
    """Request the export over HTTP; return the parsed document."""
    async with opened(market) as http:
        answer = await http.get(PATH, headers={"X-API-Key": agent.keys[on]})
    assert answer.status_code == 200, answer.text
    return json.loads(answer.content)
