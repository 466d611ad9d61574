"""The registry: one typed value per operation. Every surface, document and generic test is derived from it."""

import inspect
import types
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, fields
from datetime import date, timedelta
from functools import cached_property, wraps
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tools.engine.arguments import Arguments
from tools.engine.caller import Surface
from tools.engine.context import ReadContext, TxContext
from tools.engine.rate_limits import Rate
from tools.kernel import records as base
from tools.kernel.errors import MarketError

Auth = Literal["none", "optional", "key", "signed", "admin"]  # key: API key, token or signature; signed: signature only
TOOLSETS = (
    "agents", "bounties", "buying", "disputes", "events", "jobs", "market", "memory", "messages", "payments", "schedules",
    "selling", "webhooks",
)  # fmt: skip
OPERATORS_TOOLSET = "operator"  # not offered to agents
OPERATORS = "the operator's, behind X-Admin-Token"
Run = Callable[..., Any]
NOTICE = timedelta(days=180)  # at least, between the announcement and the removal of an operation


@dataclass(frozen=True, slots=True)
class Deprecated:
    """A deprecation: `@operation(…, deprecated=Deprecated(since, sunset, successor))`."""

    since: date
    sunset: date | None = None  # the earliest day of removal; None: not decided
    successor: str | None = None  # the operation to call instead

    def __post_init__(self) -> None:
        if self.sunset is not None and self.sunset - self.since < NOTICE:
            raise TypeError(f"{NOTICE.days} days of notice are promised, not {(self.sunset - self.since).days}")

    @property
    def sentence(self) -> str:
        """The notice for agents."""
        until = f"; it may be gone from {self.sunset} on" if self.sunset else ""
        instead = f" Call {self.successor} instead." if self.successor else ""
        return f"Deprecated since {self.since}{until}.{instead}"

    @property
    def record(self) -> dict[str, str | None]:
        """The notice as a JSON record."""
        sunset = None if self.sunset is None else self.sunset.isoformat()
        return {"since": self.since.isoformat(), "sunset": sunset, "successor": self.successor}

    def told_in(self, text: str) -> str:
        """Return a docstring with the notice added to its first line, which lists show."""
        first, *rest = text.split("\n", 1)
        return "\n".join([f"{first} {self.sentence}", *rest])


@dataclass(frozen=True, eq=False, kw_only=True)
class Policy:
    """The callers that an operation admits, its rate limits and its errors."""

    auth: Auth = "key"
    scopes_beside: tuple[str, ...] = ()  # a key needs all of these, beside one of `scope`
    paid_rate: Rate | None = None  # rate limit of calls with an x402 payment; None: takes no payment
    errors: tuple[type[MarketError], ...] = ()
    # Its checks one by one, so that a refusal lists every failed one.
    preconditions: Callable[[Any, Any], Iterator[Callable[[], object]]] | None = None
    ends_work: bool = False  # pays, delivers, judges or frees space: never refused because the disk is low
    shows_secrets: bool = False  # the answer contains one-time secrets
    may_revoke_caller_key: bool = False  # may revoke the caller's key; a retry still gets the stored answer


@dataclass(frozen=True, eq=False, kw_only=True)
class Http:
    """The form of an operation over HTTP, beside its method and path."""

    status: int = 200
    body_argument: str | None = None  # the argument that is the entire REST body; the others are query parameters
    cache_seconds: int = 0  # how long a cache may keep the answer
    streams: bool = False
    # A replica may answer it: a list that decides nothing. Async operations choose by read_ctx.lagging.
    may_lag: bool = False
    document: type | None = None  # the record type streamed as JSON in pieces; None: server-sent events


@dataclass(frozen=True, eq=False, kw_only=True)
class Waiting:
    """The steps of a call before its unit of work (gather) and after it (wait)."""

    gather: Callable[[ReadContext, Any], Awaitable[Any]] | None = None
    is_ready: Callable[[Any, Any], bool] | None = None  # for calls that may wait: whether the record is worth an answer
    poll: Run | None = None  # for write-then-wait operations: builds the later answer from the first one
    # For write-then-wait operations: stores what must be known once the later answer is given.
    before_answer: Callable[[ReadContext, Any], Awaitable[None]] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Description:
    """Properties of an operation for documents and clients."""

    action: str | None = None  # its name in available_actions
    toolset: str = "market"
    destructive: bool = False
    open_world: bool = False  # reads a chain or another outside system
    deprecated: Deprecated | None = None  # None: not deprecated
    examples: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Options(Policy, Http, Waiting, Description):
    """The options that a declaration and its operation share."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Operation(Options):
    """One operation, declared once for all surfaces."""

    name: str
    method: str
    path: str
    summary: str
    description: str
    input: type[Arguments]
    output: tuple[type, ...]  # the types of record it may return
    run: Run
    outside_transaction: bool  # runs as a coroutine without a unit of work: reads caches or scans
    safe: bool  # writes nothing
    may_exist: bool  # answers 200 with the record if an earlier call has made it
    idempotent: bool
    rate: Rate
    scopes: tuple[str, ...]  # a key needs one of them, or *
    rest_only_reason: str  # why it is not on every surface
    surfaces: frozenset[Surface]

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").capitalize()

    @cached_property
    def path_names(self) -> tuple[str, ...]:
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


CATALOGUE: dict[str, Operation] = {}


@dataclass(frozen=True, eq=False)
class Declaration(Options):
    """The options of an operation; None is derived from the method and other options."""

    route: str  # "METHOD /path"
    safe: bool | None = field(default=None, kw_only=True)
    idempotent: bool | None = field(default=None, kw_only=True)
    rate: Rate | None = field(default=None, kw_only=True)
    scope: str | tuple[str, ...] | None = field(default=None, kw_only=True)  # None: `read` for a read that needs a key
    only_rest: str | None = field(default=None, kw_only=True)  # why it is on REST only
    # Makes the next steps of a record that has no member for them.
    next_steps: Callable[[TxContext, Any], list[base.Step]] | None = field(default=None, kw_only=True)

    def operation_of(self, run: Run) -> Operation:
        """Return the operation that `run` carries out."""
        method, path = self.route.split(" ")
        hints, text = get_type_hints(run), _docstring(run)
        text = text if self.deprecated is None else self.deprecated.told_in(text)
        safe = method == "GET" if self.safe is None else self.safe
        scope = self.scope if self.scope is not None else "read" if safe and self.auth == "key" else ()
        only_rest = self.only_rest if self.only_rest is not None else OPERATORS if self.auth == "admin" else ""
        return Operation(
            **{one.name: getattr(self, one.name) for one in fields(Options)},
            name=run.__name__,
            method=method,
            path=path,
            summary=text.split("\n", 1)[0],
            description=text,
            input=_input_of(run, hints),
            output=self._output(hints["return"]),
            run=self._followed(run),
            outside_transaction=inspect.iscoroutinefunction(run) or inspect.isasyncgenfunction(run),
            safe=safe,
            may_exist=any(get_origin(one) is base.Existing for one in get_args(hints["return"])),
            idempotent=safe or method in ("PUT", "DELETE") if self.idempotent is None else self.idempotent,
            rate=self.rate or (Rate.READS if safe else Rate.WRITES),
            scopes=(scope,) if isinstance(scope, str) else scope,
            rest_only_reason=only_rest,
            surfaces=frozenset({Surface.REST} if only_rest else Surface),
        )

    def _followed(self, run: Run) -> Run:
        """Return the function with its next steps added to the record that it answers."""
        following = self.next_steps
        if following is None:
            return run

        @wraps(run)
        def both(ctx: TxContext, *given: Any) -> Any:
            record = run(ctx, *given)
            if isinstance(record, base.Existing):
                return base.Existing(base.and_steps(record.record, following(ctx, record.record)))
            return record if isinstance(record, MarketError) else base.and_steps(record, following(ctx, record))

        return both

    def _output(self, hint: Any) -> tuple[type, ...]:
        found = _records(hint) if self.document is None else (self.document,)
        return found if self.next_steps is None else tuple(map(base.with_steps, found))


class operation(Declaration):  # noqa: N801 - a decorator
    """Register a function as an operation: `@operation("METHOD /path", …)`.

    Agents read the function's docstring: first line the summary, then when to use it, what it needs, what is next.
    """

    def __call__(self, run: Run) -> Run:
        made = self.operation_of(run)
        _check(made)
        CATALOGUE[made.name] = made
        return run


class internal_operation(Declaration):  # noqa: N801 - a decorator
    """Make an operation outside the catalogue, which no agent calls directly.

    One surface calls it and builds its own answer from the record.
    """

    def __call__(self, run: Run) -> Operation:
        return self.operation_of(run)


def _docstring(run: Run) -> str:
    text = inspect.getdoc(run)
    if not text:
        raise TypeError(f"{run.__name__} needs a docstring: agents read it")
    return text


def _input_of(run: Run, hints: dict[str, Any]) -> type[Arguments]:
    parameters = list(inspect.signature(run).parameters)
    model = hints[parameters[1]]
    if not (isinstance(model, type) and issubclass(model, Arguments)):
        raise TypeError(f"{run.__name__} takes (ctx, arguments, …) with arguments a subclass of Arguments")
    return model


def _records(hint: Any) -> tuple[type, ...]:
    if get_origin(hint) is not None and hasattr(get_origin(hint), "__anext__"):
        hint = get_args(hint)[0]
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    kinds = [one for one in members if one is not base.Ready and get_origin(one) is not base.Existing]
    return tuple(one for one in kinds if not issubclass(one, MarketError))


def _check(made: Operation) -> None:
    if made.name in CATALOGUE:
        raise TypeError(f"two operations are called {made.name}")
    if made.outside_transaction and not made.safe:
        raise TypeError(f"{made.name} writes, so it runs in a unit of work and cannot be async")
    if made.toolset not in (*TOOLSETS, OPERATORS_TOOLSET) or (made.toolset == OPERATORS_TOOLSET) != (
        made.auth == "admin"
    ):
        raise TypeError(f"{made.name} is of {made.toolset}, which is not its toolset")
    waits = made.is_ready is not None
    if made.may_lag and (waits or made.outside_transaction or not made.safe):
        raise TypeError(f"{made.name} writes or waits, or chooses its reads itself")
    if waits and (
        made.outside_transaction or made.safe == bool(made.poll) or "wait_seconds" not in made.input.model_fields
    ):
        raise TypeError(f"{made.name} cannot wait: it is no plain read with wait_seconds, nor followed by one")
    missing = set(made.path_names) - set(made.input.model_fields)
    if missing:
        raise TypeError(f"{made.name} has no argument {sorted(missing)} for its path")
