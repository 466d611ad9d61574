"""The caller of an operation, how its call arrived, and the scopes of its credential."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, get_args

from storage.vocabulary import Env
from tools.kernel.http_signatures import HttpRequest

EVERYTHING = "*"  # the scope that includes all others
Scope = Literal["*", "read", "buy", "sell", "message", "admin:self"]
SCOPES: tuple[str, ...] = get_args(Scope)


class Surface(StrEnum):
    MCP = "mcp"
    A2A = "a2a"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class A2aMessageRef:
    """The A2A message that carried an order."""

    message_id: str
    context_id: str | None


@dataclass(slots=True)
class CallRequest:
    """The origin and credentials of a call, before authentication.

    The credential is never logged, stored or echoed. It is not frozen, because every call makes one, and a frozen one
    takes three times as long. Once a call has begun, nothing changes it.
    """

    surface: Surface
    ip: str
    request_id: str
    # An API key or access token, from a header or from ?api_key= on /mcp.
    credential: str | None = field(default=None, repr=False)
    argument_key: str | None = field(default=None, repr=False)  # from the api_key argument of a tool call
    admin_token: str | None = field(default=None, repr=False)  # X-Admin-Token, REST only
    dry_run: bool = False  # a writing call is run and rolled back
    # An undecoded x402 authorization: PAYMENT-SIGNATURE or X-PAYMENT, or the same made of a message's own.
    payment: str | None = field(default=None, repr=False)
    client_disconnected: Callable[[], bool] | None = field(default=None, repr=False)
    # Called while waiting, with elapsed and total seconds.
    progress: Callable[[float, float], Awaitable[None]] | None = field(default=None, repr=False)
    http: HttpRequest | None = None  # the raw request, if it has a signature or a Content-Digest
    letter: A2aMessageRef | None = None  # for an order over A2A
    body_bytes: int = 0  # size of the request's body
    is_continuation: bool = False  # a further call in one request: the first call has used up the signature

    @property
    def is_anonymous(self) -> bool:
        """True if the connection itself has neither a credential nor a signature."""
        return self.credential is None and not (self.http is not None and self.http.signed)

    def set_body(self, body: bytes) -> None:
        """Add the raw body, for signature and digest checks."""
        self.body_bytes = len(body)
        if self.http is not None:
            self.http = replace(self.http, body=body)


@dataclass(frozen=True, slots=True)
class Proof:
    """A verified signature of the request by the agent's root key."""

    public_key: str  # hex; the agent's key when the signature was verified
    use: str | None  # id of a signature that may be used once; None: the request may be repeated


@dataclass(slots=True)
class Caller:
    """An identified caller. `agent_id` is None for anonymous callers. Nothing changes it."""

    agent_id: str | None
    key_id: str | None
    env: Env | None
    scopes: tuple[str, ...]
    request: CallRequest
    proof: Proof | None = None
    epoch: int | None = None  # the agent's auth epoch at login, if the call has an access token

    @property
    def signature_use(self) -> str | None:
        """The id of a signature that may be used once; None if the request may be repeated."""
        return None if self.proof is None else self.proof.use

    @property
    def agent(self) -> str:
        """The agent's id; fails if the caller is anonymous."""
        assert self.agent_id is not None
        return self.agent_id


def anonymous(request: CallRequest) -> Caller:
    return Caller(None, None, None, (), request)


def opens(own: Collection[str], needed: Collection[str]) -> bool:
    """Check whether a key with scopes `own` has one of `needed`; true if none is needed."""
    return not needed or EVERYTHING in own or not set(own).isdisjoint(needed)


def beyond(own: Collection[str], wanted: Collection[str]) -> list[str]:
    """Return the wanted scopes that a key does not have."""
    return [] if EVERYTHING in own else sorted(set(wanted) - set(own))
