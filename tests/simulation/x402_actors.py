"""The operator's desk, which sells for signed payments (x402), and buyers without an account."""

import asyncio
from typing import TYPE_CHECKING, Any

from eth_account import Account

from tests.simulation.order_acts import WORDS
from tests.simulation.population import CAPITAL, MOVES, Actor, Identity, Traits, register
from tests.simulation.records import Json
from tests.simulation.taint import Kind
from tests.support.market import OPERATOR_SECRET
from tests.support.trade import OFFER
from tools.chain.x402_payload import Authorization, Token
from tools.purchases.quotes import header

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

LIFETIMES = (120, 900)  # seconds for which a signature is valid
LATER_SECONDS = (1, 70, 400)  # until the same payment is sent again
PLACES = 100


class Desk(Actor):
    """A seller of the operator, which serves most purchases at once."""

    async def settle_in(self) -> str:
        """Become the operator's, and return the id of the listing."""
        answer = await self.simulation.call(
            "operator", OPERATOR_SECRET, "set_first_party", agent_id=self.identity.id, first_party=True
        )
        assert not answer.refused
        return str((await self.call("create_listing", **OFFER, max_open_jobs=PLACES)).body["id"])

    async def act(self) -> None:
        """Deliver or accept what waits, leave it, or give it up; pay back what came too late."""
        await self.simulation.sleep(self.random.uniform(1, 60))
        listed = await self.call("list_jobs", role="seller", limit=20)
        for job in [] if listed.refused else listed.body["data"]:
            (action,) = self.random.choices(("deliver", "accept", "decline", "cancel", ""), (6, 2, 0.5, 0.3, 1))
            if "refund" in job["available_actions"]:
                await self.pay_back(job)
            elif action in job["available_actions"]:
                await MOVES[action](self, job)

    async def pay_back(self, job: Json) -> None:
        """Refund a job to the wallet that paid, because its buyer has no account to be known by."""
        await self.transfer_and_report("refund_job", job["id"], job["payment"]["pay_from"], job["refund_expected"])


class PayingClient(Actor):
    """A client without an account. It buys from the desk, and sees the result or an error."""

    desk: Desk
    listing_id: str

    async def act(self) -> None:
        if self.likely(0.3):
            serving = asyncio.create_task(self.desk.act())
            await self.buy()
            await serving

    async def buy(self) -> None:
        """Ask for the terms, sign them and buy; sometimes the same payment is sent again."""
        text = self.desk.private(Kind.NOTE, self.random.choice(WORDS))
        order = {"listing_id": self.listing_id, "input": {"text": text}, "env": "test"}
        terms = await self.simulation.call(None, None, "buy_with_x402", **order)
        if terms.status != 402:
            return
        wallet = self.identity.wallet if self.likely(0.95) else self._empty_wallet()
        signed = self._sign(terms.body["required"], wallet)
        await self._send(order, signed)
        if self.likely(0.4):
            other = order | {"input": {"text": "What another client wants."}}
            await self.simulation.sleep(self.random.choice(LATER_SECONDS))
            await self._send(other if self.likely(0.3) else order, signed)

    async def _send(self, order: Json, signed: str) -> None:
        """Send a payment, rarely twice at a time."""
        calls = [
            self.simulation.call(None, None, "buy_with_x402", **order, signed_payment=signed)
            for _ in range(self.random.choice((1, 1, 1, 2)))
        ]
        await asyncio.gather(*calls)

    def _empty_wallet(self) -> Any:
        return Account.from_key(self.simulation.machine.dice.random_bytes(32))

    def _sign(self, required: Json, wallet: Any) -> str:
        """Sign the terms, rarely for another amount than they ask."""
        (accepted,) = required["accepts"]
        network, now = self.simulation.chain.network, int(self.simulation.machine.clock.now().timestamp())
        token = Token(network.id, network.chain_id, network.asset, network.asset_name, network.asset_version)
        until, nonce = now + self.random.choice(LIFETIMES), f"0x{self.random.randbytes(32).hex()}"
        amount = int(accepted["amount"]) + self.random.choice((0,) * 30 + (-1, 1))
        given = Authorization(wallet.address, accepted["payTo"], amount, until, nonce)
        signature = Account.unsafe_sign_hash(given.digest(token), wallet.key).signature
        payload = {"signature": f"0x{bytes(signature).hex()}", "authorization": given.written()}
        return header({"x402Version": 2, "resource": required["resource"], "accepted": accepted, "payload": payload})


async def paying_clients(simulation: "Simulation", count: int) -> list[Actor]:
    """Open the operator's desk; return its clients."""
    desk = Desk(simulation, await register(simulation, "Desk"), Traits())
    listing_id = await desk.settle_in()
    clients: list[Actor] = []
    for _ in range(count):
        wallet = Account.from_key(simulation.machine.dice.random_bytes(32))
        simulation.chain.fund(wallet.address, CAPITAL)
        client = PayingClient(simulation, Identity("", "client", {}, b"", wallet), Traits())
        client.desk, client.listing_id = desk, listing_id
        clients.append(client)
    return clients
