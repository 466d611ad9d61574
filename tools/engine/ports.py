"""The outside world as the market sees it: small protocols, bundled as World. The real adapters are in server/adapters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from storage.vocabulary import Env
from tools.kernel.json_schema import Violation


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the time in UTC, timezone-aware."""

    def monotonic(self) -> float:
        """Return seconds that only increase, for time windows and ages."""


class RandomSource(Protocol):
    def random_bytes(self, count: int) -> bytes:
        """Return `count` unpredictable bytes."""


class Chain(Protocol):
    """Read-only JSON-RPC of a chain.

    Answers are untrusted until checked. Raises ChainDown if the node does not answer.
    """

    @property
    def chain_id(self) -> int: ...
    @property
    def last_head(self) -> tuple[int, float] | None:
        """The newest block number seen and the monotonic second it was seen at."""

    @property
    def last_block_time(self) -> tuple[int, float] | None:
        """The newest block's time in Unix seconds, and the monotonic second its number was seen at."""

    async def receipt(self, transaction: str) -> object: ...
    async def head(self) -> int: ...
    async def block(self, number: int) -> object: ...
    async def whole_block(self, number: int) -> object:
        """Return the block with its transactions."""

    async def call(self, to: str, data: str) -> str | None:
        """Return the answer of a contract; None if the call reverted."""


class Signer(Protocol):
    """The platform's Ed25519 key.

    It signs receipts, attestations, webhooks and the agent card; it is not used to log in.
    """

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
        """Check whether a loaded list names this address (any case); False while none is loaded."""

    def state(self) -> Screening | None:
        """Return the state of the lists; None while none is loaded."""


class CheckTooLong(Exception):
    """The document could not be checked within the time limit."""


class ChecksBusy(Exception):
    """Too many documents are waiting to be checked."""


class Checks(Protocol):
    """Checks of documents that may take long, in a process that can be stopped."""

    async def violations(self, schema: str, value: Any, *, by: str) -> Sequence[Violation]:
        """Return how a document of agent `by` violates a schema.

        Raises CheckTooLong, and ChecksBusy if too many checks of `by` are waiting.
        """

    async def unkept(self, rules: str, output: Any, *, by: str) -> Sequence[tuple[str, str]]:
        """Return the name of each acceptance rule that an output breaks, with the reason.

        Raises CheckTooLong and ChecksBusy.
        """


@dataclass(frozen=True, slots=True)
class Reply:
    """An outside server's answer to a POST, without the body."""

    status: int
    retry_after: str | None = None  # the header's value, unparsed


@dataclass(frozen=True, slots=True)
class Fetched:
    """An outside server's answer to a GET: its status and its body, unparsed."""

    status: int
    body: bytes


class HttpClient(Protocol):
    """HTTP requests to URLs that agents chose.

    Each is guarded: the resolved address is checked, and that same address is dialled.
    """

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], by: str) -> Reply:
        """POST for agent `by` and wait at most 10 seconds for the response's head.

        Follows no redirect. Raises UrlUnreachable if there was no response, and NotAttempted if too many names are being
        looked up, for this agent or for all.
        """

    async def get(self, url: str, by: str) -> Fetched:
        """GET for agent `by`, at most 10 seconds and 64 KB in all.

        Follows no redirect and accepts no compression. Raises UrlUnreachable if there was no such response, and
        NotAttempted like `post`.
        """


class Unreachable(Exception):
    """A DNS query failed or had no usable answer. `reason` is one word that agents may read."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Dns(Protocol):
    """Queries to the operator's name server. The owner of a zone controls the answers."""

    async def texts(self, name: str) -> list[bytes]:
        """Return the TXT records of a name, each with its strings joined; at most 4 KB.

        Empty if the name has none. Raises Unreachable.
        """


class SettleNotSent(Exception):
    """The facilitator never received the authorization: it may be submitted again."""


class SettleUnknown(Exception):
    """The outcome is unknown: the facilitator may have sent the authorization."""


@dataclass(frozen=True, slots=True)
class SettleResult:
    """A facilitator's answer: the transaction it names, if any, and the reason if it refused."""

    transaction: str | None  # 0x and 64 hex, lower case
    refusal: str | None


class Facilitator(Protocol):
    """Sends signed authorizations to the chain.

    Its answers are untrusted until the chain shows the same.
    """

    async def verify(self, body: Mapping[str, Any]) -> str | None:
        """Return why the facilitator would refuse this payment now; None if it would take it.

        Raises SettleNotSent and SettleUnknown.
        """

    async def settle(self, body: Mapping[str, Any]) -> SettleResult:
        """Submit the payment. Raises SettleNotSent and SettleUnknown."""


class FaucetRefused(Exception):
    """The faucet sent nothing."""


class FaucetLost(Exception):
    """The outcome is unknown: the faucet may have sent the money."""


class Faucet(Protocol):
    """Gives test money to any wallet.

    A third party runs it, because the market holds no key of a chain.
    """

    @property
    def gives_gas(self) -> bool: ...
    async def give(self, address: str, amount: int) -> str:
        """Send USDC (minor units), and gas if supported; return the hash of the transfer.

        Raises FaucetRefused and FaucetLost.
        """


@dataclass(frozen=True, slots=True)
class World:
    """Everything outside the process: one bundle, passed in once, replaced whole in tests."""

    clock: Clock
    dice: RandomSource
    chains: Mapping[Env, Chain]  # an environment without an RPC URL has none
    signer: Signer
    sanctions: Sanctions
    checks: Checks
    web: HttpClient
    dns: Dns
    facilitators: Mapping[Env, Facilitator] = field(default_factory=dict)  # only environments with a configured one
    faucet: Faucet | None = None  # for the test network
