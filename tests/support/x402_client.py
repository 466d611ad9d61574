"""Tests of purchases with a signed payment: a desk worked by hand, a scripted facilitator, and a wallet that signs."""

import asyncio
import secrets  # noqa: TID251 - an authorization's nonce, made by the payer's own software
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount

from server.adapters.chain import WatchedChain
from storage.vocabulary import Env
from tests.support import payment_flows
from tests.support.evm import Evm
from tests.support.market import Agent
from tests.support.trade import PRICE, Trade
from tests.tools.jobs.payments.test_gasless import name_facilitator
from tools.chain.transfer_verification import ChainDown
from tools.engine.idempotency import Response
from tools.engine.ports import SettleNotSent, SettleResult, SettleUnknown
from tools.purchases.quotes import header

INPUT = {"text": "guten Tag"}
WORK = {"english": "good day"}


@dataclass
class Relay:
    """A facilitator in this process, on the real chain.

    Each call takes the next word of `told`. When `told` is empty, it is honest.
    """

    evm: Evm
    gas: LocalAccount
    told: list[str] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    lie: str = ""
    at_it: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    checks: list[str] = field(default_factory=list)  # the next answers of /verify; honest when empty
    checked: list[Any] = field(default_factory=list)

    async def verify(self, body: Mapping[str, Any]) -> str | None:
        self.checked.append(body)
        word = self.checks.pop(0) if self.checks else "honest"
        if word == "down":
            raise SettleNotSent("ClientConnectorError")
        if word == "silent":
            await asyncio.sleep(3600)
        one = body["paymentPayload"]["payload"]["authorization"]
        if word == "honest":
            word = "yes" if self.evm.balance(one["from"]) >= int(one["value"]) else "insufficient_funds"
        return None if word == "yes" else word

    async def settle(self, body: Mapping[str, Any]) -> SettleResult:
        self.bodies.append(body)
        word = self.told.pop(0) if self.told else "honest"
        if word == "down":
            raise SettleNotSent("ClientConnectorError")
        if word == "refuses":
            return SettleResult(None, "invalid_exact_evm_insufficient_balance")
        if word == "lies":
            return SettleResult(self.lie, None)
        if word == "forgets":
            raise SettleUnknown("TimeoutError")
        if word == "waits":
            self.at_it.set()
            await self.go_on.wait()
        async with self.turn:  # each transaction needs the next nonce of the account
            sent = await asyncio.to_thread(self.send, body)
        if sent is None:
            return SettleResult(None, "invalid_exact_evm_nonce_already_used")
        if word == "lost":
            raise SettleUnknown("ServerDisconnectedError")
        return SettleResult(None, "settle_failed") if word == "denies" else SettleResult(sent, None)

    def send(self, body: Mapping[str, Any]) -> str | None:
        payload = body["paymentPayload"]["payload"]
        one = payload["authorization"]
        values = one["from"], one["to"], int(one["value"]), int(one["validAfter"]), int(one["validBefore"])
        signed = payment_flows.Authorization(
            (*values, bytes.fromhex(one["nonce"][2:])), bytes.fromhex(payload["signature"][2:])
        )
        sent = payment_flows.relayed(self.evm, self.gas, signed)
        if self.evm.receipt(sent)["status"] != "0x1":
            return None
        self.sent.append(sent)
        return sent


@dataclass
class Node:
    """The chain's node as the market calls it.

    `down` makes it fail, and `receipts` changes the receipts that it shows.
    """

    down: bool = False
    receipts: Callable[[Any], Any] | None = None

    async def __call__(self, env: Env, method: str, asked: Awaitable[Any]) -> Any:
        found = await asked
        if self.down:
            raise ChainDown(method)
        return self.receipts(found) if method == "receipt" and self.receipts else found


@dataclass
class Shop:
    """The operator's listing, its facilitator, and a wallet with USDC but no gas."""

    trade: Trade
    seller: Agent
    listing: Any
    relay: Relay
    wallet: LocalAccount
    node: "Node"
    chain_id: int = 84532  # the chain of the signed data

    async def ask(
        self, given: Any = None, *, pay: str | None = None, ip: str = "203.0.113.77", **beside: Any
    ) -> Response:
        """Call the listing's URL, with this payment header if one is given."""
        repeat, gone = beside.pop("repeat", None), beside.pop("gone", None)
        arguments = {"listing_id": self.listing["id"], "input": INPUT if given is None else given, **beside}
        return await self.trade.market.answer(
            "buy_with_x402", arguments, ip=ip, payment=pay, repeat=repeat, client_disconnected=gone
        )

    async def terms(self, given: Any = None, **beside: Any) -> Any:
        answer = await self.ask(given, **beside)
        assert answer.status == 402, answer.body
        return orjson.loads(answer.body)

    def sign(self, terms: Any, **changed: Any) -> str:
        """Return a header of version 2 that pays these terms.

        `changed` replaces fields of the authorization.
        """
        return header(self.payload(terms, **changed))

    def payload(self, terms: Any, *, signer: LocalAccount | None = None, **changed: Any) -> Any:
        required, now = terms["required"], int(self.trade.market.clock.now().timestamp())
        (accepted,) = required["accepts"]
        message = {
            "from": self.wallet.address,
            "to": accepted["payTo"],
            "value": int(accepted["amount"]),
            "validAfter": 0,
            "validBefore": now + 900,
            "nonce": "0x" + secrets.token_hex(32),
        } | changed
        domain = {
            **accepted["extra"], "chainId": self.chain_id, "verifyingContract": accepted["asset"],
        }  # fmt: skip
        signature = sign_transfer(signer or self.wallet, domain, message)
        written = {name: str(value) for name, value in message.items()}
        payload = {"signature": signature, "authorization": written}
        return {"x402Version": 2, "resource": required["resource"], "accepted": accepted, "payload": payload}

    async def deliver_without_client(self, buying: "asyncio.Task[Any]") -> None:
        """Cut a purchase off while its work is under way, then deliver the work."""
        job = await self.ordered()
        buying.cancel()
        await asyncio.gather(buying, return_exceptions=True)
        await self.trade.market.call("accept_job", by=self.seller, job_id=job["id"])
        await asyncio.sleep(1)  # the call notices within half a second that its client has gone
        await self.trade.deliver(self.seller, job)
        await asyncio.sleep(1)

    def claim(
        self, account: Any, *, signer: LocalAccount | None = None, text: str | None = None, **changed: Any
    ) -> Any:
        """Sign the claim of an account as the purchase's answer describes; `text` replaces its text."""
        given = {"agent_id": account["agent_id"], "address": self.wallet.address}
        given |= {"signed_at": int(self.trade.market.clock.now().timestamp())} | changed
        said = account["claim"]["message"].replace("<unix seconds>", str(given["signed_at"]))
        said = said.replace("<public_key_hex or ->", given.get("public_key", "-"))
        signed = Account.sign_message(encode_defunct(text=text or said), (signer or self.wallet).key)
        return {**given, "signature": "0x" + bytes(signed.signature).hex()}

    async def claimed(self, account: Any, **changed: Any) -> Agent:
        """Claim an account with its wallet; return the agent."""
        made = await self.trade.market.call("claim_x402_account", **self.claim(account, **changed))
        seed = bytes.fromhex(made["keypair"].get("secret_key", ""))
        return Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], seed, wallet=self.wallet)

    @asynccontextmanager
    async def open(self, word: str | None = None, **said: Any) -> AsyncIterator[None]:
        """Work at the desk: accept and deliver each open order, or answer it with `word`."""

        async def works() -> None:
            while True:
                for job in await self.orders():
                    if job["status"] == "open" and word is not None:
                        await self.trade.market.call(word, by=self.seller, job_id=job["id"], **said)
                    elif job["status"] == "open":
                        await self.trade.market.call("accept_job", by=self.seller, job_id=job["id"])
                        await self.trade.deliver(self.seller, job)
                await asyncio.sleep(0.01)

        task = asyncio.create_task(works())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def bought(self, **changed: Any) -> tuple[str, Any]:
        """Make a paid purchase; return its header and its result."""
        paid = self.sign(await self.terms(), **changed)
        async with self.open():
            answer = await self.ask(pay=paid)
        assert answer.status == 200, answer.body
        return paid, orjson.loads(answer.body)

    async def orders(self) -> list[Any]:
        found = await self.trade.market.call("list_jobs", by=self.seller, role="seller", limit=100)
        return list(found["data"])

    async def ordered(self, status: str = "open") -> Any:
        """Wait until the order has this status; return it."""
        while not (found := await self.orders()) or found[0]["status"] != status:  # noqa: ASYNC110 - the database has no event for it
            await asyncio.sleep(0.01)
        return found[0]

    @property
    def income(self) -> int:
        return self.trade.evm.balance(self.seller.wallet)


def sign_transfer(signer: LocalAccount, domain: Any, message: Any) -> str:
    """Sign an EIP-3009 transfer."""
    document = {
        "types": {
            "EIP712Domain": payment_flows._DOMAIN_FIELDS,
            "TransferWithAuthorization": payment_flows._AUTHORIZATION_FIELDS,
        },
        "primaryType": "TransferWithAuthorization",
        "domain": domain,
        "message": message,
    }
    return f"0x{bytes(Account.sign_typed_data(signer.key, full_message=document).signature).hex()}"


async def opened_shop(trade: Trade, **offer: Any) -> Shop:
    name_facilitator(trade.market, "https://facilitator.example")
    seller = await trade.agent("Desk")
    await trade.market.as_operator("set_first_party", agent_id=seller.id, first_party=True)
    relay = Relay(trade.evm, trade.evm.person())
    world, node = trade.market.market.world, Node()
    chains = {Env.TEST: WatchedChain(world.chains[Env.TEST], Env.TEST, node)}
    trade.market.market.services.world = replace(world, chains=chains, facilitators={Env.TEST: relay})
    wallet = trade.evm.person(100 * PRICE, gas=False)
    return Shop(trade, seller, await trade.listing(seller, **offer), relay, wallet, node)
