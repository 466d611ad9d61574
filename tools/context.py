"""Who calls, how the call came, and what an operation holds while it runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from storage.store import Store
from storage.unit import Tx
from tools.house import House, Network, Windows
from tools.ports import Env, World
from tools.rules.ids import new_id
from tools.rules.signatures import HttpRequest

if TYPE_CHECKING:
    from tools.desk import Desk
    from tools.doorbell import Doorbell
    from tools.pulse import Pulse
    from tools.searches import Searches
    from tools.shelf import Shelf
    from tools.snapshots import Snapshots


class Surface(StrEnum):
    MCP = "mcp"
    A2A = "a2a"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class Letter:
    """The A2A message an order came with."""

    message_id: str
    context_id: str | None


@dataclass(frozen=True, slots=True)
class Approach:
    """How a call came, before anybody was believed. The credential is never logged, stored or echoed."""

    surface: Surface
    ip: str
    request_id: str
    credential: str | None = field(default=None, repr=False)  # API key of a header, or of ?api_key= on /mcp
    argument_key: str | None = field(default=None, repr=False)  # given as the reserved argument of a tool call
    admin_token: str | None = field(default=None, repr=False)  # X-Admin-Token, over REST alone
    dry_run: bool = False  # a call that writes is run and undone
    payment: str | None = field(
        default=None, repr=False
    )  # an authorization to pay, as it came: PAYMENT-SIGNATURE or X-PAYMENT
    gone: Callable[[], bool] | None = field(default=None, repr=False)  # whether who called has hung up
    progress: "Callable[[float, float], Awaitable[None]] | None" = field(
        default=None, repr=False
    )  # told while it waits: seconds, of
    request: HttpRequest | None = None  # as it came, where it carries a signature or a Content-Digest
    letter: Letter | None = None  # of an order over A2A
    follows: bool = False  # a further call of one request: what it is signed with was used by the first

    @property
    def keyless(self) -> bool:
        """Whether nothing the connection itself sent says who calls."""
        return self.credential is None and not (self.request is not None and self.request.signed)

    def with_body(self, body: bytes) -> "Approach":
        """With the body as it came, before anything has read or changed it: where a signature or digest speaks of it."""
        return self if self.request is None else replace(self, request=replace(self.request, body=body))

    def without_keys(self) -> "Approach":
        return replace(self, credential=None, argument_key=None)


@dataclass(frozen=True, slots=True)
class Proof:
    """That the caller signed its request with its root key, not only that it holds an API key."""

    public_key: str  # hex; the agent's when the signature was checked
    use: str | None  # names the signature where it counts once; None: the method may be repeated


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, once authorised. `agent_id` is None for anonymous callers."""

    agent_id: str | None
    key_id: str | None
    env: Env | None
    scopes: tuple[str, ...]
    approach: Approach
    proof: Proof | None = None
    epoch: int | None = None  # the agent's when it logged in, where it comes with an access token

    @property
    def agent(self) -> str:
        """The agent's id, where the door has made sure there is one."""
        assert self.agent_id is not None
        return self.agent_id


@dataclass(frozen=True, slots=True)
class Outside:
    """What may be asked while no unit of work is open: the world, the caches, reads of the store."""

    store: Store
    shelf: "Shelf"
    pulse: "Pulse"
    bell: "Doorbell"
    snapshots: "Snapshots"
    desk: "Desk"
    searches: "Searches"
    world: World
    house: House
    caller: Caller
    env: Env
    now: datetime
    operations: frozenset[str]

    @property
    def network(self) -> Network:
        return self.house.networks[self.env]


@dataclass(frozen=True, slots=True)
class Context:
    """One unit of work and everything an operation needs to look, decide and write in it. It cannot await."""

    tx: Tx
    world: World
    house: House
    caller: Caller
    env: Env
    now: datetime
    operations: frozenset[str]

    @property
    def agent(self) -> str:
        return self.caller.agent

    @property
    def network(self) -> Network:
        return self.house.networks[self.env]

    @property
    def windows(self) -> Windows:
        return self.house.windows[self.env]

    def new_id(self, prefix: str) -> str:
        """A fresh id that sorts by creation."""
        return new_id(prefix, self.now, self.world.dice.roll(10))
