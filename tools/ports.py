"""The outside world as the market sees it: small protocols, bundled as World. Real adapters stand in server/world."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from tools.rules.schemas import Violation


class Env(StrEnum):
    """The environment a key belongs to: live trades real USDC, test trades the faucet's."""

    LIVE = "live"
    TEST = "test"


class Clock(Protocol):
    def now(self) -> datetime:
        """The time, aware, in UTC."""

    def monotonic(self) -> float:
        """Seconds that only go forward; for windows and ages."""


class Dice(Protocol):
    def roll(self, count: int) -> bytes:
        """That many unpredictable bytes."""


class Chain(Protocol):
    """Read-only JSON-RPC. Answers are hostile until judged. Raises ChainDown when the node gives none."""

    @property
    def chain_id(self) -> int: ...
    @property
    def last_head(self) -> tuple[int, float] | None:
        """The newest block number seen and the monotonic second it was seen at."""

    async def receipt(self, transaction: str) -> object: ...
    async def head(self) -> int: ...
    async def block(self, number: int) -> object: ...
    async def whole_block(self, number: int) -> object:
        """The block with its transactions."""

    async def call(self, to: str, data: str) -> str | None:
        """The answer of a contract, or None where it reverted."""


class Signer(Protocol):
    """The platform's Ed25519 key. It signs receipts, attestations, webhooks and the agent card; nothing that logs in."""

    @property
    def public_key(self) -> bytes: ...
    def sign(self, message: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Screening:
    """The state of the sanctions lists."""

    addresses: int
    updated_at: datetime | None


class Sanctions(Protocol):
    def names(self, address: str) -> bool:
        """Whether a loaded list names this address (any case). False while no list is loaded."""

    def state(self) -> Screening | None:
        """None while no list is loaded."""


class CheckTooLong(Exception):
    """The document could not be checked in its time."""


class ChecksBusy(Exception):
    """Too many documents are waiting to be checked."""


class Checks(Protocol):
    """Checks of documents that may take long, in a process that can be stopped."""

    async def violations(self, schema: str, value: Any, *, by: str) -> Sequence[Violation]:
        """What is wrong with a document of agent `by`. Raises CheckTooLong, and ChecksBusy where too many of `by` wait."""

    async def unkept(self, rules: str, output: Any, *, by: str) -> Sequence[tuple[str, str]]:
        """The name of each acceptance rule that an output does not keep, with why; raises the same."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What an outside server answered to a POST. Its body is nobody's business here."""

    status: int
    retry_after: str | None = None  # the header, as it came


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an outside server answered to a GET: its status, and its body as it was sent."""

    status: int
    body: bytes


class Web(Protocol):
    """Requests to places that agents chose. Each is guarded: what a name resolves to is checked, and that address dialled."""

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], by: str) -> Reply:
        """POST for an agent and wait at most 10 seconds for the answer's head; follows no redirect. Unreached where none came.

        NotTried where as many names as may are being looked up: for this agent, or for all.
        """

    async def get(self, url: str, by: str) -> Fetched:
        """GET for an agent, at most 10 seconds and 64 KB in all; follows no redirect, takes nothing compressed.

        Unreached where there was no such answer, NotTried as above.
        """


class Unanswered(Exception):
    """A name could not be asked for, or nothing usable was answered. `reason` is one word that agents may read."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Dns(Protocol):
    """Questions to the operator's name server. Answers are whatever the owner of a zone says."""

    async def texts(self, name: str) -> list[bytes]:
        """The TXT records of a name, the strings of each joined: none where it has none, at most 4 KB. Unanswered."""


class SettleNotSent(Exception):
    """The facilitator never had the authorization: it may be handed over again."""


class SettleLost(Exception):
    """What became of the authorization is not known: it may have been sent."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What a facilitator said: the transaction it names, where it names one, and why it refused, where it did."""

    transaction: str | None  # 0x and 64 hex, lower case
    refusal: str | None


class Facilitator(Protocol):
    """Sends signed authorizations. Its answers are hostile until the chain shows the same."""

    async def settle(self, body: Mapping[str, Any]) -> Settled:
        """Raises SettleNotSent, SettleLost."""


@dataclass(frozen=True, slots=True)
class World:
    """Everything outside: one bundle, given once, replaced whole in tests."""

    clock: Clock
    dice: Dice
    chains: Mapping[Env, Chain]  # an environment without an RPC URL has none
    signer: Signer
    sanctions: Sanctions
    checks: Checks
    web: Web
    dns: Dns
    facilitators: Mapping[Env, Facilitator] = field(default_factory=dict)  # where the operator has named one
