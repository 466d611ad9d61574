"""The caller, how its call arrived, and what an operation can use while it runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from storage.store import Store
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.engine.config import Deadlines, MarketConfig, Network
from tools.engine.ports import World
from tools.kernel.http_signatures import HttpRequest
from tools.kernel.ids import new_id

if TYPE_CHECKING:
    from tools.engine.caches import Caches
    from tools.engine.cpu_thread import CpuThread
    from tools.engine.health import HealthSnapshot
    from tools.engine.notifier import Notifier
    from tools.engine.search_log import SearchLog
    from tools.engine.shared_results import SharedResults


class Surface(StrEnum):
    MCP = "mcp"
    A2A = "a2a"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class A2aMessageRef:
    """The A2A message that carried an order."""

    message_id: str
    context_id: str | None


@dataclass(frozen=True, slots=True)
class CallRequest:
    """The origin and credentials of a call, before authentication.

    The credential is never logged, stored or echoed.
    """

    surface: Surface
    ip: str
    request_id: str
    # An API key or access token, from a header or from ?api_key= on /mcp.
    credential: str | None = field(default=None, repr=False)
    argument_key: str | None = field(default=None, repr=False)  # from the api_key argument of a tool call
    admin_token: str | None = field(default=None, repr=False)  # X-Admin-Token, REST only
    dry_run: bool = False  # a writing call is run and rolled back
    payment: str | None = field(
        default=None, repr=False
    )  # an undecoded x402 authorization: PAYMENT-SIGNATURE or X-PAYMENT
    client_disconnected: Callable[[], bool] | None = field(
        default=None, repr=False
    )  # whether the client has disconnected
    progress: "Callable[[float, float], Awaitable[None]] | None" = field(
        default=None, repr=False
    )  # called while waiting, with elapsed and total seconds
    http: HttpRequest | None = None  # the raw request, if it has a signature or a Content-Digest
    letter: A2aMessageRef | None = None  # for an order over A2A
    body_bytes: int = 0  # size of the request's body
    is_continuation: bool = False  # a further call in one request: the first call has used up the signature

    @property
    def is_anonymous(self) -> bool:
        """True if the connection itself has neither a credential nor a signature."""
        return self.credential is None and not (self.http is not None and self.http.signed)

    def with_body(self, body: bytes) -> "CallRequest":
        """Return a copy with the raw body, for signature and digest checks."""
        http = None if self.http is None else replace(self.http, body=body)
        return replace(self, http=http, body_bytes=len(body))

    def without_keys(self) -> "CallRequest":
        return replace(self, credential=None, argument_key=None)


@dataclass(frozen=True, slots=True)
class Proof:
    """A verified signature of the request by the agent's root key."""

    public_key: str  # hex; the agent's key when the signature was verified
    use: str | None  # id of a signature that may be used once; None: the request may be repeated


@dataclass(frozen=True, slots=True)
class Caller:
    """An identified caller. `agent_id` is None for anonymous callers."""

    agent_id: str | None
    key_id: str | None
    env: Env | None
    scopes: tuple[str, ...]
    request: CallRequest
    proof: Proof | None = None
    epoch: int | None = None  # the agent's auth epoch at login, if the call has an access token

    @property
    def agent(self) -> str:
        """The agent's id; fails if the caller is anonymous."""
        assert self.agent_id is not None
        return self.agent_id


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Resources usable while no unit of work is open: the world, caches, reads of the store."""

    store: Store
    caches: "Caches"
    health: "HealthSnapshot"
    notifier: "Notifier"
    shared_results: "SharedResults"
    cpu_thread: "CpuThread"
    searches: "SearchLog"
    world: World
    config: MarketConfig
    caller: Caller
    env: Env
    now: datetime
    operations: frozenset[str]

    @property
    def network(self) -> Network:
        return self.config.networks[self.env]


@dataclass(frozen=True, slots=True)
class TxContext:
    """One unit of work with everything an operation needs to read, decide and write.

    It cannot await.
    """

    tx: Tx
    world: World
    config: MarketConfig
    caller: Caller
    env: Env
    now: datetime
    operations: frozenset[str]

    @property
    def agent(self) -> str:
        return self.caller.agent

    @property
    def network(self) -> Network:
        return self.config.networks[self.env]

    @property
    def windows(self) -> Deadlines:
        return self.config.windows[self.env]

    def new_id(self, prefix: str) -> str:
        """Make a new id; ids sort by creation time."""
        return new_id(prefix, self.now, self.world.dice.random_bytes(10))
