"""Cheats about purchases with a signed x402 payment: relayed, repeated and empty ones."""

import asyncio
from typing import Any

import orjson

from tests.simulation.cheats.base import JSON, Abandoned, Cheat, personal_sign
from tests.simulation.raw_requests import Reply
from tests.simulation.records import Json
from tests.support.trade import PRICE
from tests.support.x402_client import sign_transfer
from tools.purchases.quotes import header

ASKED = {"text": "guten Tag"}
SOON_SECONDS = 10.0
SECRETS = (b"as_test_", b"as_live_", b"secret_key")


class Buys(Cheat):
    """A cheat at the operator's own listing, whose seller delivers each order at once."""

    async def open_desk(self) -> Json:
        """Return the listing of a first-party seller."""
        if "desk" not in self.others:
            await self.label(await self.other("desk"))
        return await self.offer(self.others["desk"])

    async def purchase(self, listing: Json, given: Json, paid: str | None) -> Reply:
        """Make the paid call while the desk works on its orders."""
        headers = [JSON] if paid is None else [JSON, ("payment-signature", paid)]
        call = self.send("POST", f"/v1/x402/{listing['id']}", orjson.dumps(given), headers)
        if paid is None:
            return await call
        buying = asyncio.create_task(call)
        while not buying.done():
            await self.work(listing)
            await self.simulation.sleep(2.0)
        return await buying

    async def work(self, listing: Json) -> None:
        desk = self.others["desk"]
        for job in await self.orders(listing):
            for operation, more in (("accept_job", {}), ("deliver_job", {"output": {"english": "good day"}})):
                await self.simulation.ask(desk.keys["test"], operation, job_id=job["id"], **more)

    async def orders(self, listing: Json, status: str = "open") -> list[Json]:
        """Return the orders of buyers without an account.

        No oracle sees how these began, so none observes the desk's calls about them.
        """
        asked = {"role": "seller", "status": status, "limit": 20}
        seen = await self.simulation.ask(self.others["desk"].keys["test"], "list_jobs", **asked)
        found = [] if seen is None else seen.body.get("data", [])
        known = self.simulation.identities
        return [job for job in found if job["listing_id"] == listing["id"] and job["buyer"]["id"] not in known]

    async def sign(self, listing: Json, wallet: Any, **resource: Any) -> str:
        """Return the payment that a wallet signs for the terms of a listing."""
        reply = await self.purchase(listing, ASKED, None)
        if reply.status != 402:
            raise Abandoned(f"no terms: {reply.status}")
        required = reply.body["required"]
        (accepted,) = required["accepts"]
        now = int(self.simulation.clock.now().timestamp())
        message = {
            "from": wallet.address, "to": accepted["payTo"], "value": int(accepted["amount"]), "validAfter": 0,
            "validBefore": now + 900, "nonce": "0x" + self.simulation.machine.dice.random_bytes(32).hex(),
        }  # fmt: skip
        domain = {
            **accepted["extra"], "chainId": int(accepted["network"].split(":")[1]), "verifyingContract": accepted["asset"],
        }  # fmt: skip
        signed = {
            "signature": sign_transfer(wallet, domain, message),
            "authorization": {name: str(value) for name, value in message.items()},
        }
        shown = required["resource"] | resource
        return header({"x402Version": 2, "resource": shown, "accepted": accepted, "payload": signed})


class RelaysPayments(Buys):
    """A site that submits payments which other wallets signed for it, to get their accounts.

    The output of such a purchase is a stated limit (docs/limits.md, "An x402 payment is signed for an amount"), so it is
    counted and allowed.
    """

    name = "relays payments"
    finding = 1

    async def trick(self) -> None:
        listing, victim = await self.open_desk(), self.new_wallet(PRICE)
        foreign = await self.sign(listing, victim, url="https://weather.attacker.example/today")
        paid = await self.sign(listing, victim)
        self.attempt()
        refused = await self.purchase(listing, ASKED, foreign)
        self.gain("work", int(refused.status == 200), "a payment for another site bought something")
        bought = await self.purchase(listing, ASKED, paid)
        found = [one for one in SECRETS if one in bought.raw]
        self.gain("access", len(found), f"the answer of a relayed payment has {found}")
        if bought.status != 200:
            return
        self.stated("work", 1)
        await self.claim(bought.body["account"], victim)

    async def claim(self, account: Json, victim: Any) -> None:
        """Try to claim the payer's account with the wallet of the relaying site."""
        given = {"agent_id": account["agent_id"], "address": victim.address}
        given["signed_at"] = int(self.simulation.clock.now().timestamp())
        text = account["claim"]["message"].replace("<unix seconds>", str(given["signed_at"]))
        text = text.replace("<public_key_hex or ->", "-")
        given["signature"] = personal_sign(self.identity.wallet, text)
        claimed = await self.send("POST", "/v1/x402/account", orjson.dumps(given), [JSON])
        self.gain("access", int(claimed.status == 200), "the site claimed the payer's account")


class ReplaysAuthorizations(Buys):
    """A reader of the chain that submits another payer's authorization for its own order."""

    name = "replays authorizations"

    async def trick(self) -> None:
        listing, victim = await self.open_desk(), self.new_wallet(10 * PRICE)
        paid = await self.sign(listing, victim)
        first = await self.purchase(listing, ASKED, paid)
        if first.status != 200:
            raise Abandoned(f"the purchase: {first.status}")
        self.attempt()
        again = await self.purchase(listing, {"text": "for the reader"}, paid)
        self.gain("work", int(again.status == 200), "one authorization bought two orders")
        await self.purchase(listing, ASKED, paid)
        left = self.simulation.chain.balance(victim.address)
        self.gain("money", max(0, 9 * PRICE - left), "one authorization was charged twice")


class BuysWithEmptyWallets(Buys):
    """Wallets without money whose signed payments begin work and make agents."""

    name = "buys with empty wallets"
    finding = 12

    async def trick(self) -> None:
        listing = await self.open_desk()
        paid = await self.sign(listing, self.new_wallet())
        self.attempt()
        headers = [JSON, ("payment-signature", paid)]
        buying = asyncio.create_task(self.send("POST", f"/v1/x402/{listing['id']}", orjson.dumps(ASKED), headers))
        await self.simulation.sleep(SOON_SECONDS)  # an order that is not paid ends before the call does
        begun = [job["id"] for job in await self.orders(listing)]
        bought = await buying
        self.gain("work", len(begun) + (bought.status == 200), f"an empty wallet ordered {begun}: {bought.status}")


PURCHASE_CHEATS = (RelaysPayments, ReplaysAuthorizations, BuysWithEmptyWallets)
