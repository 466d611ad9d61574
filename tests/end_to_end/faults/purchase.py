"""A purchase as a script: every writing call in order, with its Idempotency-Key, its time and its random bytes.

Time and random bytes of a call do not depend on the process. So two equal runs store the same bytes in each column.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson
from eth_account.signers.local import LocalAccount

from tests.support.market import BASE_URL, Agent
from tests.support.trade import OFFER, binding
from tools.catalogue import CATALOGUE

LEFT_ALONE_SECONDS = 2_000  # longer than a seller has to accept
Given = Callable[["Purchase"], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the script. `unit` is the fault point: the transaction that writes its result."""

    name: str
    by: str | None
    operation: str
    given: Given
    at_seconds: int  # since the transfer was mined
    unit: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a call."""

    status: int
    body: bytes
    replayed: bool

    @property
    def record(self) -> Any:
        return orjson.loads(self.body)


@dataclass(frozen=True, slots=True)
class Transfer:
    """The one transfer that pays: sent once, reported in every run."""

    buyer: LocalAccount
    seller: LocalAccount
    transaction: str
    mined_at: int


class Died(Exception):
    """The error if the server died during the call."""


@dataclass(slots=True)
class Purchase:
    """One run of the script against one server. `http` reaches the current process."""

    http: httpx.Client
    transfer: Transfer
    answers: dict[str, Answered] = field(default_factory=dict)

    def control(self, call: Call, fault: tuple[str, str] | None = None) -> list[str]:
        """Set time, random bytes and fault point for a call; return the committed units.

        Also sweeps, if the call is a sweep.
        """
        at = datetime.fromtimestamp(self.transfer.mined_at + call.at_seconds, UTC)
        order = {"at": at.isoformat(), "dice": call.name, "fault": fault, "sweep": call.operation == "sweep"}
        return list(orjson.loads(self.send("POST", "/control", orjson.dumps(order)).content))

    def make(self, call: Call, fault: tuple[str, str] | None = None) -> list[str]:
        """Make a call and keep its answer; return its committed units.

        Raises Died if the server died.
        """
        committed = self.control(call, fault)
        if call.operation == "sweep":
            return committed
        given = call.given(self)
        answer = self.ask(call.operation, call.by, given, {"Idempotency-Key": f"the-scripted-purchase:{call.name}"})
        assert answer.status in (200, 201), answer.body
        self.answers[call.name] = answer
        return self.control(call)

    def ask(self, operation: str, by: str | None, given: dict[str, Any], headers: dict[str, str]) -> Answered:
        op, rest = CATALOGUE[operation], dict(given)
        path = op.path
        for name in op.path_names:
            path = path.replace(f"{{{name}}}", rest.pop(name))
        credential = {"X-API-Key": self.agent(by).keys["test"]} if by else {}
        if op.method == "GET":
            answer = self.send("GET", path, None, headers | credential, rest)
        else:
            answer = self.send(op.method, path, orjson.dumps(rest), headers | credential)
        return Answered(answer.status_code, answer.content, "idempotent-replayed" in answer.headers)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> httpx.Response:
        """Send a request with a fixed id.

        A generated id would use the market's random bytes.
        """
        sent = {"Host": BASE_URL.removeprefix("http://"), "X-Request-Id": "req_scripted", **(headers or {})}
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            return self.http.request(method, path, content=body, headers=sent, params=query)
        except httpx.TransportError as error:
            raise Died(repr(error)) from error

    def agent(self, name: str) -> Agent:
        made = self.answers[f"register_{name}"].record
        agent = Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], b"")
        agent.wallet = {"seller": self.transfer.seller, "buyer": self.transfer.buyer}[name]
        return agent

    def read(self) -> dict[str, Answered]:
        """Return all that both parties and a stranger can read at the end, at one time."""
        self.control(SCRIPT[-1])
        return {
            f"{by} {operation} {given}": self.ask(operation, by, given, {}) for operation, by, given in self.reads()
        }

    def reads(self) -> list[tuple[str, str | None, dict[str, Any]]]:
        listing, job = of("list_it", "listing_id")(self), of("order")(self)
        found: list[tuple[str, str | None, dict[str, Any]]] = [
            ("get_listing", None, {**listing, "env": "test"}),
            ("search_listings", None, {"env": "test", "q": "translate english"}),
        ]
        for by in ("seller", "buyer"):
            found += [("get_me", by, {}), ("list_jobs", by, {}), ("list_events", by, {}), ("get_receipt", by, job)]
            found += [("get_job", by, one) for one in (job, of("order_in_vain")(self))]
        return found


def of(call: str, argument: str = "job_id", **more: Any) -> Given:
    """Return arguments with the id of an earlier call's record."""
    return lambda run: {argument: run.answers[call].record["id"], **more}


def register(name: str) -> Given:
    return lambda run: {"name": name}


def bind(name: str) -> Given:
    def given(run: Purchase) -> dict[str, Any]:
        agent = run.agent(name)
        return {"address": agent.wallet.address, "signature": binding(agent)}

    return given


def order(run: Purchase) -> dict[str, Any]:
    return {**of("list_it", "listing_id")(run), "input": {"text": "guten Tag"}}


def pay(run: Purchase) -> dict[str, Any]:
    return {**of("order")(run), "transaction": run.transfer.transaction}


_WRITTEN: tuple[tuple[str, str | None, str, Given], ...] = (
    ("register_seller", None, "register_agent", register("Sela")),
    ("register_buyer", None, "register_agent", register("Bo")),
    ("bind_seller", "seller", "set_wallet_address", bind("seller")),
    ("bind_buyer", "buyer", "set_wallet_address", bind("buyer")),
    ("list_it", "seller", "create_listing", lambda run: OFFER),
    ("order", "buyer", "create_job", order),
    ("accept_order", "seller", "accept_job", of("order")),
    ("deliver", "seller", "deliver_job", of("order", output={"english": "good day"}, message="Here it is.")),
    ("pay", "buyer", "pay_job", pay),
    ("order_in_vain", "buyer", "create_job", order),
    ("accept_delivery", "buyer", "accept_job", of("order")),
    ("review_seller", "buyer", "review_job", of("order", rating=5, comment="Quick.")),
    ("review_buyer", "seller", "review_job", of("order", rating=4)),
)
PAYS_AT = 8  # the call that proves the transfer
SCRIPT: tuple[Call, ...] = (
    *(Call(name, by, op, given, place - PAYS_AT, op) for place, (name, by, op, given) in enumerate(_WRITTEN)),
    Call("sweep", None, "sweep", lambda run: {}, LEFT_ALONE_SECONDS, "sweep"),
)
