"""The base of all cheats: calls as attackers make them, trades that they need, and the count of what they gain."""

from abc import abstractmethod
from collections.abc import Mapping
from contextvars import ContextVar
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

import orjson
from eth_account import Account as Wallet
from eth_account.messages import encode_defunct

from tests.simulation.cheats.ledger import Account
from tests.simulation.machine import PROXY
from tests.simulation.population import CAPITAL, Actor, Identity, Traits, register
from tests.simulation.raw_requests import Headers, Reply, send_raw
from tests.simulation.records import Json, Violation
from tests.simulation.taint import Taint
from tests.simulation.wires import UNSURE, Answer, Call, address_of
from tests.support.market import OPERATOR_SECRET
from tests.support.trade import OFFER

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

CLOCK = "clock"  # a class of faults
TRIES = 12
BLOCK_WAIT = 7.0  # seconds in which a transfer usually gets its confirmations
JSON = ("content-type", "application/json")
LOOSE = {name: value for name, value in OFFER.items() if not name.startswith(("output", "example", "input"))}
LOOSE |= {"input_schema": {"type": "object"}, "max_open_jobs": 50}  # any input and any output
LOOSE |= {"title": "Count words", "description": "Counts the words of any text.", "tags": ["count"]}
CHEATING = ContextVar("CHEATING", default=False)  # true in the task of a cheat
ISSUING = {  # operations whose answers have keys, by path
    "/v1/agents": "register_agent",
    "/v1/agents/me/keys": "create_api_key",
    "/v1/agents/recover": "recover_agent",
    "/v1/x402/account": "claim_x402_account",
}


class Abandoned(Exception):
    """An honest step of a trick was refused, so the trick was not tried."""


class Cheat(Actor):
    """An agent that tries one trick, again and again.

    `trick` makes its honest steps with `need`, which abandons the trick if one is refused. It counts each real try with
    `attempt`, and each gain with `gain`, which ends the run.
    """

    name: ClassVar[str]
    finding: ClassVar[int | None] = None

    def __init__(self, simulation: "Simulation", identity: Identity) -> None:
        super().__init__(simulation, identity, Traits())
        self.others: dict[str, Identity] = {}
        self.offers: dict[str, Json] = {}
        self.acts, self.clocks = 0, 0

    @property
    def account(self) -> Account:
        return self.simulation.ledger.accounts.setdefault(self.name, Account(self.finding))

    async def act(self) -> None:
        CHEATING.set(True)
        self.acts += 1
        self.clocks = self.simulation.faults[CLOCK]
        try:
            await self.trick()
        except Abandoned as why:
            self.simulation.log.write("abandoned", cheat=self.name, why=str(why))

    @abstractmethod
    async def trick(self) -> None: ...

    # -- what it counts ------------------------------------------------------------------------------------------------

    def attempt(self) -> None:
        self.account.attempts += 1

    def gain(self, kind: str, amount: int, how: str) -> None:
        """Count a gain of this amount; raises Violation unless it is 0."""
        if kind == "load" and self.clocks != self.simulation.faults[CLOCK]:
            raise Abandoned("a clock was set, so a rate limit may have begun again")
        self.stated(kind, amount)
        if amount:
            about = "" if self.finding is None else f" (finding {self.finding})"
            raise Violation(f"the cheat {self.name}{about} gained {kind} {amount}: {how}")

    def stated(self, kind: str, amount: int) -> None:
        """Count a gain that the contract states."""
        if amount:
            self.account.gains[kind] += amount

    # -- what it calls -------------------------------------------------------------------------------------------------

    async def ask(self, who: Identity, operation: str, /, *, on: str = "test", **given: Any) -> Answer:
        return await self.simulation.call(who.id, who.keys[on], operation, **given)

    async def need(self, who: Identity, operation: str, /, *, on: str = "test", **given: Any) -> Json:
        """Make an honest call; return the record, or abandon the trick."""
        answer = await self.ask(who, operation, on=on, **given)
        if answer.refused:
            raise Abandoned(f"{operation}: {answer.code}")
        record: Json = answer.body
        return record

    async def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Headers = (),
        *,
        ip: str | None = None,
        query: str = "",
        patient: bool = True,
    ) -> Reply:
        """Send a raw HTTP request.

        If `patient`, send it again while the process is down or its database has a fault.
        """
        simulation, seen = self.simulation, Reply(503, b"{}")
        number = simulation.count()
        simulation.log.write("request", number=number, cheat=self.name, method=method, path=path)
        call = Call(number, "get_health", {}, ip=ip or address_of(number))
        for _ in range(TRIES if patient else 1):
            seen = await self._once(call, method, path, body, headers, query)
            if seen.status not in UNSURE or not patient:
                break
            await simulation.sleep(self.random.expovariate(0.2))
        simulation.counted(f"{method} {path.split('/')[1]}", "ok" if seen.status < 400 else f"HTTP {seen.status}")
        simulation.log.write("reply", number=number, status=seen.status, sha256=sha256(seen.raw).hexdigest())
        return seen

    async def _once(self, call: Call, method: str, path: str, body: bytes, headers: Headers, query: str) -> Reply:
        reply = await send_raw(self.simulation.machine, call, method, path, body, headers, query)
        own = self.identity.id, *(one.id for one in self.others.values())
        self.simulation.oracle(Taint).answered(reply.raw, own, ISSUING.get(path, path), f"request {call.number}")
        return reply

    async def a2a(self, who: Identity, method: str, params: Json) -> Reply:
        """Call a method of A2A over JSON-RPC."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = [JSON, ("a2a-version", "1.0"), ("x-api-key", who.keys["test"])]
        return await self.send("POST", "/a2a", orjson.dumps(body), headers)

    async def label(self, who: Identity) -> None:
        """Let the operator call an agent first-party."""
        path = f"/v1/admin/agents/{who.id}/first-party"
        reply = await self.send("POST", path, b'{"first_party":true}', [JSON, ("x-admin-token", OPERATOR_SECRET)])
        if reply.status != 200:
            raise Abandoned("set_first_party")

    # -- the agents it plays -------------------------------------------------------------------------------------------

    async def other(self, name: str, *, live: bool = False) -> Identity:
        """Return a victim or an accomplice by its name; with `live`, it has a wallet there too."""
        if name not in self.others:
            made = await register(self.simulation, f"{name} of {self.identity.handle}")
            if live:
                await self.bind_live(made)
            self.others[name] = made
        return self.others[name]

    async def bind_live(self, who: Identity) -> None:
        signature = personal_sign(who.wallet, binding(who, "service"))
        await self.need(who, "set_wallet_address", on="live", address=who.wallet.address, signature=signature)
        self.simulation.live.fund(who.wallet.address, CAPITAL)

    def new_wallet(self, usdc: int = 0) -> Any:
        """Return a wallet of the chain for test, with this amount in minor units."""
        wallet = Wallet.from_key(self.simulation.machine.dice.random_bytes(32))
        self.simulation.chain.fund(wallet.address, usdc)
        return wallet

    # -- trades --------------------------------------------------------------------------------------------------------

    async def offer(self, seller: Identity, *, on: str = "test", **changes: Any) -> Json:
        """Return a listing of the seller; equal offers are made once."""
        name = f"{seller.id} {on} {sorted(changes.items())}"
        if name not in self.offers:
            made = {member: value for member, value in (LOOSE | changes).items() if value is not None}
            self.offers[name] = await self.need(seller, "create_listing", on=on, **made)
        return self.offers[name]

    async def order(self, buyer: Identity, listing: Json, *, on: str = "test", given: Json | None = None) -> Json:
        return await self.need(buyer, "create_job", on=on, listing_id=listing["id"], input=given or {"text": "hallo"})

    async def delivered(
        self, seller: Identity, buyer: Identity, listing: Json, output: Any = None, *, on: str = "test"
    ) -> Json:
        """Order, accept and deliver; return the job as the buyer sees it."""
        job = await self.order(buyer, listing, on=on)
        await self.deliver(seller, job, output, on=on)
        return await self.need(buyer, "get_job", on=on, job_id=job["id"])

    async def deliver(self, seller: Identity, job: Json, output: Any = None, *, on: str = "test") -> None:
        await self.need(seller, "accept_job", on=on, job_id=job["id"])
        work = {"english": "good day"} if output is None else output
        await self.need(seller, "deliver_job", on=on, job_id=job["id"], output=work)

    def transfer(self, payer: Identity, payee: str, amount: int, *, on: str = "test") -> str:
        """Send USDC; return the hash. What the cheat sends is a cost of the cheat."""
        chain = self.simulation.live if on == "live" else self.simulation.chain
        sent = chain.send_transfer(payer.wallet.address, payee, amount)
        self.account.paid += amount
        self.simulation.log.write("transfer", sender=payer.id, payee=payee, amount=amount, hash=sent)
        return sent

    async def report(self, who: Identity, job: Json, sent: str, operation: str = "pay_job", on: str = "test") -> Answer:
        """Report a transfer until the market has decided."""
        for _ in range(TRIES):
            await self.simulation.sleep(BLOCK_WAIT)
            answer = await self.ask(who, operation, on=on, job_id=job["id"], transaction=sent)
            if answer.code not in ("transaction_pending", "transaction_not_found", "chain_unavailable"):
                break
        return answer

    async def pay(self, payer: Identity, job: Json, *, on: str = "test") -> str:
        """Pay a delivered job honestly; return the hash."""
        terms = (await self.ask(payer, "pay_job", on=on, job_id=job["id"])).body
        if "pay_to" not in terms:
            raise Abandoned("no terms")
        sent = self.transfer(payer, terms["pay_to"], terms["amount"], on=on)
        if (await self.report(payer, job, sent, on=on)).refused:
            raise Abandoned("the payment was not accepted")
        return sent

    async def read_unpaid(self, buyer: Identity, job: Json, how: str) -> None:
        """Count the output of an unpaid job if its buyer can read it, then call the job off."""
        seen = (await self.ask(buyer, "get_job", job_id=job["id"])).body
        self.gain("work", int(seen.get("output") is not None), f"{how}: {seen}")
        await self.ask(buyer, "cancel_job", job_id=job["id"])


def binding(who: Identity, brand: str) -> str:
    """Return the text that a wallet signs for this agent and brand."""
    return f"{brand}:wallet:{who.id}:{who.wallet.address.lower()}"


def personal_sign(wallet: Any, text: str) -> str:
    """Sign a text with a wallet, as in EIP-191; return 0x hex."""
    return "0x" + bytes(Wallet.sign_message(encode_defunct(text=text), wallet.key).signature).hex()


def proxied(address: str) -> Mapping[str, Any]:
    """Return the arguments of a request that the proxy forwards for an address."""
    return {"ip": PROXY, "headers": [JSON, ("x-forwarded-for", address)]}
