"""The operator's desk, which sells for signed payments (x402), and a buyer without an account."""

import asyncio
from typing import TYPE_CHECKING, Any

from eth_account import Account

from tests.simulation.contracted import Contracted
from tests.simulation.coverage import Coverage
from tests.simulation.population import MOVES, WORDS, Actor, Identity, Traits, register
from tests.support.market import OPERATOR_SECRET
from tests.support.trade import OFFER
from tools.chain.x402_payload import Authorization, Token
from tools.purchases.quotes import header

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

POLL_SECONDS = 0.25  # between two looks at the purchases under way
LIFETIMES = (120, 900)  # seconds for which a signature is valid
Json = dict[str, Any]


class Desk(Actor):
    """A seller of the operator, which serves most purchases at once."""

    async def settle_in(self) -> str:
        """Become the operator's, and return the id of the listing."""
        operator = self.simulation.call(
            "operator", OPERATOR_SECRET, "set_first_party", agent_id=self.identity.id, first_party=True
        )
        assert not (await operator).refused
        return str((await self.call("create_listing", **OFFER, max_open_jobs=100)).body["id"])

    async def act(self) -> None:
        """Deliver or accept what waits, or leave it."""
        await self.simulation.sleep(self.random.uniform(1, 60))
        listed = await self.call("list_jobs", role="seller", limit=5)
        for job in [] if listed.refused else listed.body["data"]:
            (action,) = self.random.choices(("deliver", "accept", "decline", ""), (6, 2, 0.5, 1))
            if action in job["available_actions"]:
                await MOVES[action](self, job)


class PayingClient(Actor):
    """A client without an account. It buys from the desk, and sees the result or an error."""

    desk: Desk
    listing_id: str

    async def act(self) -> None:
        if self.likely(0.1):
            serving = [asyncio.create_task(self.desk.act()), asyncio.create_task(self._watch())]
            await self.buy()
            await serving[0]
            serving[1].cancel()

    async def buy(self) -> None:
        """Ask for the terms, sign them and buy; sometimes the same payment is sent again."""
        order = {"listing_id": self.listing_id, "input": {"text": self.random.choice(WORDS)}, "env": "test"}
        terms = await self.simulation.call(None, None, "buy_with_x402", **order)
        if terms.status != 402:
            return
        signed = self._sign(terms.body["required"])
        for _ in range(self.random.choice((1, 1, 2))):
            await self.simulation.call(None, None, "buy_with_x402", **order, signed_payment=signed)

    def _sign(self, required: Json) -> str:
        (accepted,) = required["accepts"]
        network, now = self.simulation.chain.network, int(self.simulation.machine.clock.now().timestamp())
        token = Token(network.id, network.chain_id, network.asset, network.asset_name, network.asset_version)
        wallet = self.identity.wallet
        until, nonce = now + self.random.choice(LIFETIMES), f"0x{self.random.randbytes(32).hex()}"
        given = Authorization(wallet.address, accepted["payTo"], int(accepted["amount"]), until, nonce)
        signature = Account.unsafe_sign_hash(given.digest(token), wallet.key).signature
        payload = {"signature": f"0x{bytes(signature).hex()}", "authorization": given.written()}
        return header({"x402Version": 2, "resource": required["resource"], "accepted": accepted, "payload": payload})

    async def _watch(self) -> None:
        """Look often, because a purchase leaves no trace of the statuses it passes."""
        while True:
            await self.simulation.sleep(POLL_SECONDS)
            if self.simulation.machine.alive:
                await self.simulation.oracle(Coverage).look_at_purchases()


async def paying_clients(simulation: "Simulation", count: int) -> list[Actor]:
    """Open the operator's desk; return its clients."""
    desk = Desk(simulation, await register(simulation, "Desk"), Traits())
    simulation.oracle(Contracted).unmodelled.add(desk.identity.id)
    listing_id = await desk.settle_in()
    clients: list[Actor] = []
    for _ in range(count):
        wallet = Account.from_key(simulation.machine.dice.random_bytes(32))
        simulation.chain.fund(wallet.address, 10**12)
        client = PayingClient(simulation, Identity("", "client", {}, b"", wallet), Traits())
        client.desk, client.listing_id = desk, listing_id
        clients.append(client)
    return clients
