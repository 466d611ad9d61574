"""Two agents that trade on a chain, for tests: `await trade.job_at("delivered")`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from eth_account import Account
from eth_account.messages import encode_defunct
from nacl.signing import SigningKey

from storage.tables import SettlementRow
from storage.vocabulary import Env, SettlementKind, SettlementStatus
from tests.support.evm import Evm
from tests.support.market import Agent, TestMarket

PRICE = 250_000
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "maxLength": 100}}}
ENGLISH = {"type": "object", "required": ["english"], "properties": {"english": {"type": "string"}}}
OFFER: dict[str, Any] = {
    "title": "Translate to English",
    "description": "Any text up to 100 characters, translated by hand.",
    "category": "text",
    "tags": ["translate", "english"],
    "pricing_model": "fixed",
    "price": PRICE,
    "input_schema": TEXT,
    "output_schema": ENGLISH,
    "example_input": {"text": "guten Tag"},
    "example_output": {"english": "good day"},
}


@dataclass
class Trade:
    """A market, a chain, and the actions of two agents on them."""

    market: TestMarket
    evm: Evm

    async def agent(self, name: str, usdc_minor: int = 0) -> Agent:
        """Register an agent with a bound wallet that has this amount of USDC."""
        agent = await self.market.register(name)
        agent.wallet = self.evm.person(usdc_minor)
        await self.bind(agent)
        return agent

    async def bind(self, agent: Agent, **given: Any) -> Any:
        return await self.market.call(
            "set_wallet_address", by=agent, address=agent.wallet.address, signature=binding(agent), **given
        )

    async def rebind(self, agent: Agent, wallet: Any) -> Any:
        """Bind the agent to another wallet, with a proof by its root key."""
        agent.wallet = wallet
        text = f"service:wallet:{agent.id}:{wallet.address.lower()}"
        return await self.bind(agent, proof=SigningKey(agent.seed).sign(text.encode()).signature.hex())

    async def known(self, agent: Agent, on: Env = Env.TEST, paid_to: Sequence[str] = ("one", "two", "three")) -> Agent:
        """Give the agent earlier payments to these sellers; after three it is no newcomer."""
        at = self.market.clock.now()
        paid = [SettlementRow(
            id=f"stl_before_{agent.id}_{on}_{n:02d}_{seller}", env=on, job_id="job_before", kind=SettlementKind.PAYMENT,
            status=SettlementStatus.SETTLED, payer_agent_id=agent.id, payee_agent_id=f"agt_before_{seller}",
            payer_address="0x" + "1" * 40, pay_to="0x" + "2" * 40, amount=10_000, expected_amount=10_000,
            network="before", asset="0x" + "3" * 40, tx_hash=f"before {agent.id} {on} {n} {seller}".lower(), block_number=1,
            block_hash="0x1", block_time=at, settled_at=at, created_at=at,
        ) for n, seller in enumerate(paid_to)]  # fmt: skip
        await self.market.store.write(lambda tx: [tx.add(one) for one in paid])
        return agent

    async def parties(self, usdc_minor: int = 10_000_000) -> tuple[Agent, Agent]:
        """Register a seller, and a buyer with money."""
        return await self.agent("Sela"), await self.agent("Bo", usdc_minor)

    async def listing(self, seller: Agent, **changes: Any) -> Any:
        return await self.market.call("create_listing", by=seller, **(OFFER | changes))

    async def order(self, buyer: Agent, listing: Any, **given: Any) -> Any:
        order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}} | given
        return await self.market.call("create_job", by=buyer, **order)

    async def job_at(self, status: str, seller: Agent, buyer: Agent, **offer: Any) -> Any:
        """Return a job of these two with this status.

        The status is open, in_progress, awaiting_payment, delivered, revealed or completed.
        """
        job = await self.order(buyer, await self.listing(seller, **offer))
        if status == "open":
            return job
        job = await self.market.call("accept_job", by=seller, job_id=job["id"])
        if status in ("in_progress", "awaiting_payment"):
            return job
        if job["status"] == "awaiting_payment":
            await self.pay(buyer, job)
        job = await self.deliver(seller, job)
        if status == "delivered":
            return await self.seen(buyer, job)
        if job["output_sealed"]:
            await self.pay(buyer, job)
        if status == "revealed":
            return await self.seen(buyer, job)
        return await self.market.call("accept_job", by=buyer, job_id=job["id"])

    async def failed(self, seller: Agent, buyer: Agent, **offer: Any) -> Any:
        """Return a paid job that the seller cancelled, so that a refund is due."""
        job = await self.job_at("awaiting_payment", seller, buyer, **{"payment": "upfront"} | offer)
        await self.pay(buyer, job)
        return await self.market.call("cancel_job", by=seller, job_id=job["id"], reason="I cannot do this.")

    async def give_back(self, seller: Agent, buyer: Agent, job: Any, amount_minor: int = PRICE) -> Any:
        """Send USDC back to the buyer and report the hash; return the job or the error."""
        sent = self.evm.transfer(seller.wallet, buyer.wallet, amount_minor)
        given = {"job_id": job["id"], "transaction": sent}
        answer = await self.market.answer("refund_job", given, key=seller.keys["test"])
        return answer.error or orjson.loads(answer.body)

    async def deliver(self, seller: Agent, job: Any, output: Any = None) -> Any:
        work = {"english": "good day"} if output is None else output
        return await self.market.call("deliver_job", by=seller, job_id=job["id"], output=work)

    async def seen(self, agent: Agent, job: Any) -> Any:
        return await self.market.call("get_job", by=agent, job_id=job["id"])

    async def send(self, buyer: Agent, job: Any, amount_minor: int | None = None) -> str:
        """Transfer USDC as the terms say, or another amount; return the transaction's hash."""
        terms = await self.market.call("pay_job", by=buyer, job_id=job["id"])
        return self.evm.transfer(buyer.wallet, terms["pay_to"], amount_minor or terms["amount"])

    async def pay(self, buyer: Agent, job: Any) -> Any:
        sent = await self.send(buyer, job)
        return await self.market.call("pay_job", by=buyer, job_id=job["id"], transaction=sent)


def binding(agent: Agent, brand: str = "service") -> str:
    """Return the wallet's signature over the binding message."""
    text = f"{brand}:wallet:{agent.id}:{agent.wallet.address.lower()}"
    signed = Account.sign_message(encode_defunct(text=text), agent.wallet.key)
    return "0x" + bytes(signed.signature).hex()
