"""Invalid credentials for the bypass table, and a market with a record of each kind that they must not reach."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from eth_account import Account
from nacl.signing import SigningKey

from server.webhook_sender import Sender
from storage.tables import AgentRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus
from tests.support.bounties import NEED
from tests.support.market import Agent, TestMarket
from tests.support.trade import OFFER, binding
from tools.catalogue import CATALOGUE
from tools.engine.registry import Operation
from tools.engine.scopes import EVERYTHING, SCOPES

KEYED = [op for op in CATALOGUE.values() if op.auth == "key"]
PRIVATE = frozenset(
    {
        "job_id",
        "listing_id",
        "thread_id",
        "webhook_id",
        "delivery_id",
        "schedule_id",
        "key_id",
        "key",
        "bounty_id",
        "proposal_id",
        "dispute_id",
        "domain",
    }
)  # arguments that identify a record of an agent
NOBODYS = "as_test_" + "0" * 40
UNREADABLE = {
    "garbage": "nonsense",
    "too short": NOBODYS[:-1],
    "too long": NOBODYS + "0",
    "very long": "as_test_" + "0" * 30_000,
    "another prefix": "as_prod_" + "0" * 40,
    "a prefix in capitals": "AS_TEST_" + "0" * 40,
    "an alphabet of its own": "as_test_" + "-" * 40,
    "nobody's": NOBODYS,
}


@dataclass(frozen=True)
class Sent:
    """A credential as one call carries it."""

    headers: tuple[tuple[str, str], ...] = ()
    query: Mapping[str, str] = field(default_factory=dict)
    argument: Mapping[str, Any] = field(default_factory=dict)  # reserved on MCP and A2A, an ordinary argument on REST

    @property
    def secrets(self) -> list[str]:
        """Values that no answer may repeat."""
        said = [value for _, value in self.headers] + [*self.query.values(), *self.argument.values()]
        return [text for text in said if isinstance(text, str) and len(text) > 20]


@dataclass(frozen=True)
class Standing:
    """The market of the table: an agent with a record of each kind, and keys without access."""

    market: TestMarket
    owner: Agent
    stranger: Agent
    known: Mapping[str, Any]  # by argument: the owner's ids and other valid values
    dead: Mapping[str, str]  # keys that are invalid
    narrow: Mapping[tuple[str, ...], str]  # for the scopes of an operation: the owner's key with all other scopes

    def arguments(self, op: Operation) -> dict[str, Any]:
        """Return valid arguments, so that only the credential can be refused."""
        example = op.examples[0] if op.examples else {}
        if op.name == "link_erc8004":  # its agent_id is a token's number
            return dict(example)
        needed = [name for name, one in op.input.model_fields.items() if one.is_required()]
        at_once = {"wait_seconds": 0} if "wait_seconds" in op.input.model_fields else {}  # the clock does not move
        known = {name: self.known[name] for name in needed if name not in example or name in self.known}
        return {**example, **known, **at_once}

    @property
    def ids(self) -> dict[str, str]:
        """Ids that only the owner may see."""
        return {name: self.known[name] for name in PRIVATE - {"key", "domain"}}


async def standing(market: TestMarket) -> Standing:
    owner, buyer, stranger = [await market.register(name) for name in ("Sela", "Bo", "Eve")]
    dead = UNREADABLE | await _ended(market, owner)
    known = await _one_of_everything(market, owner, buyer)
    narrow = {}
    for scopes in {op.scopes for op in KEYED}:
        others = [scope for scope in SCOPES if scope not in (*scopes, EVERYTHING)]
        narrow[scopes] = (await market.call("create_api_key", by=owner, env="test", scopes=others))["key"]
    return Standing(market, owner, stranger, known, dead, narrow)


def as_key(key: str) -> Sent:
    return Sent((("X-API-Key", key),))


def as_bearer(key: str) -> Sent:
    return Sent((("Authorization", f"Bearer {key}"),))


def as_query(key: str) -> Sent:
    return Sent(query={"api_key": key})


def as_argument(key: Any) -> Sent:
    return Sent(argument={"api_key": key})


def schemes(key: str) -> Iterator[tuple[str, Sent]]:
    """Yield a valid key in unsupported schemes."""
    basic = b64encode(f"{key}:".encode()).decode()
    for scheme, said in (("Basic", basic), ("Token", key), ("ApiKey", key), ("Bearer Bearer", key)):
        yield f"Authorization: {scheme}", Sent((("Authorization", f"{scheme} {said}"),))


def elsewhere(key: str) -> Iterator[tuple[str, Sent]]:
    """Yield a valid key in headers that are not read."""
    for header in ("Cookie", "Proxy-Authorization", "X-Admin-Token", "API-Key"):
        yield header, Sent(((header, f"api_key={key}" if header == "Cookie" else key),))


def contradicting(one: str, other: str) -> Iterator[tuple[str, Sent]]:
    """Yield two credentials in one call. Both are valid, but together they are refused."""
    for first in (as_key(one), as_bearer(one)):
        for second in (as_key(other), as_bearer(other)):
            both = (*first.headers, *second.headers)
            yield " and another ".join(name for name, _ in both), Sent(both)


async def _ended(market: TestMarket, owner: Agent) -> dict[str, str]:
    """Return keys that were valid once."""
    expired = await market.call("create_api_key", by=owner, env="test", expires_in_days=1)
    revoked = await market.call("create_api_key", by=owner, env="test")
    await market.call("revoke_api_key", by=owner, key_id=revoked["id"])
    gone, suspended = await market.register("Gone"), await market.register("Held")
    await market.call("delete_me", by=gone, confirm=gone.handle)

    def suspend(tx: Tx) -> None:
        row = tx.get(AgentRow, suspended.id)
        assert row is not None
        tx.change(row, status=AgentStatus.SUSPENDED)

    await market.store.write(suspend)
    market.pass_seconds(86_400)
    return {
        "revoked": revoked["key"],
        "expired": expired["key"],
        "a deleted agent's": gone.keys["test"],
        "a suspended agent's": suspended.keys["test"],
    }


async def _one_of_everything(market: TestMarket, owner: Agent, buyer: Agent) -> dict[str, Any]:
    owner.wallet = Account.from_key("0x" + "51" * 32)
    bound = {"address": owner.wallet.address, "signature": binding(owner)}
    await market.call("set_wallet_address", by=owner, **bound)
    listing = await market.call("create_listing", by=owner, **OFFER | {"price": 0})
    order = {"listing_id": listing["id"], "input": OFFER["example_input"]}
    job = await market.call("create_job", by=buyer, **order)
    await market.call("accept_job", by=owner, job_id=job["id"])
    await market.call("deliver_job", by=owner, job_id=job["id"], output=OFFER["example_output"])
    hook = await market.call("create_webhook", by=owner, url="https://agent.example/hook", event_types=["webhook.test"])
    await market.call("test_webhook", by=owner, webhook_id=hook["id"])
    await Sender(market.market).fan_out()
    (sent,) = (await market.call("list_webhook_deliveries", by=owner, webhook_id=hook["id"]))["data"]
    alarm = await market.call("create_schedule", by=owner, in_seconds=60)
    await market.call("put_memory", by=owner, key="notes/today", value="the owner's own")
    bounties = [await market.call("create_bounty", by=one, **NEED) for one in (owner, buyer)]
    buyer.wallet = Account.from_key("0x" + "b0" * 32)
    await market.call("set_wallet_address", by=buyer, address=buyer.wallet.address, signature=binding(buyer))
    made = await market.call("propose_on_bounty", by=buyer, bounty_id=bounties[0]["id"], price=0)
    await market.call("add_domain", by=owner, domain="agent.example.com")
    key = (await market.call("list_api_keys", by=owner))["data"][0]
    judged = await _judged_by(market, owner, buyer)
    return {
        **OFFER, **order, **bound, "job_id": job["id"], "thread_id": job["thread_id"], "webhook_id": hook["id"],
        "bounty_id": bounties[0]["id"], "proposal_id": made["id"], **NEED, "delivery_id": sent["id"], "dispute_id": judged, "outcome": "split", "rationale": "Half of it.", "enabled": True, "verdict": "split", "schedule_id": alarm["id"], "key_id": key["id"], "key": "notes/today",
        "confirm": owner.handle, "agent_id": owner.id, "to": buyer.handle, "revision": 0, "output": OFFER["example_output"], "rating": 1,
        "new_public_key": bytes(SigningKey(b"\x61" * 32).verify_key).hex(), "proof": "00" * 64,
        "domain": "agent.example.com", "first_party": True, "message": "Again.", "reason": "No.", "body": "Hello.", "transaction": "0x" + "ab" * 32, "status": "paused", "signed_at": 1,
    }  # fmt: skip


async def _judged_by(market: TestMarket, judge: Agent, buyer: Agent) -> str:
    """Open a dispute of two other agents that the judge is drawn for; return its id."""
    seller = await market.register("Others")
    seller.wallet = Account.from_key("0x" + "52" * 32)
    bound = {"address": seller.wallet.address, "signature": binding(seller)}
    await market.call("set_wallet_address", by=seller, **bound)
    await market.call("set_evaluator", by=judge, enabled=True)
    listing = await market.call("create_listing", by=seller, **OFFER | {"price": 0})
    job = await market.call("create_job", by=buyer, listing_id=listing["id"], input=OFFER["example_input"])
    await market.call("accept_job", by=seller, job_id=job["id"])
    await market.call("deliver_job", by=seller, job_id=job["id"], output=OFFER["example_output"])
    made = await market.call("dispute_job", by=buyer, job_id=job["id"], reason="It is night.")
    return str(made["dispute_id"])
