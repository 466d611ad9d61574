"""The registry: one typed value per operation. Every surface, document and generic test is derived from it."""

import inspect
import types
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Literal, TypedDict, Union, Unpack, get_args, get_origin, get_type_hints

from tools.engine.arguments import Arguments
from tools.engine.context import ReadContext, Surface, TxContext
from tools.engine.deprecation import Deprecated
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
Gather = Callable[[ReadContext, Any], Awaitable[Any]]
Ready = Callable[[Any, Any], bool]
Follow = Callable[..., Any]
NextSteps = Callable[[TxContext, Any], list[base.Step]]
Hurdles = Callable[[Any, Any], Iterator[Callable[[], object]]]
EVERYWHERE = frozenset(Surface)


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation, declared once for all surfaces."""

    name: str
    method: str
    path: str
    summary: str
    description: str
    input: type[Arguments]
    output: tuple[type, ...]  # the types of record it may return
    run: Run
    gather: Gather | None
    preconditions: Hurdles | None  # its checks one by one, so that a refusal lists every failed one
    is_ready: Ready | None  # for calls that may wait: whether the record is worth an answer
    poll: Follow | None  # for write-then-wait operations: builds the later answer from the first one
    auth: Auth
    scopes: tuple[str, ...]  # a key needs one of them, or *
    scopes_beside: tuple[str, ...]  # and all of these
    action: str | None  # its name in available_actions
    errors: tuple[type[MarketError], ...]
    status: int
    outside_transaction: bool  # runs as a coroutine without a unit of work: reads caches or scans
    safe: bool  # writes nothing
    destructive: bool
    idempotent: bool
    open_world: bool  # reads a chain or another outside system
    shows_secrets: bool  # the answer contains one-time secrets
    may_revoke_caller_key: bool  # may revoke the caller's key; a retry still gets the stored answer
    streams: bool
    document: type | None  # the record type streamed as JSON in pieces; None: server-sent events
    rate: Rate
    ends_work: bool  # pays, delivers, judges or frees space: never refused because the disk is low
    paid_rate: Rate | None  # rate limit of calls with an x402 payment; None: takes no payment
    body_argument: str | None  # the argument that is the entire REST body; the others are query parameters
    toolset: str
    cache_seconds: int  # how long a cache may keep the answer
    surfaces: frozenset[Surface]
    rest_only_reason: str  # why it is not on every surface
    deprecated: Deprecated | None = None  # None: not deprecated
    examples: tuple[dict[str, Any], ...] = field(default=())

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").capitalize()

    @property
    def path_names(self) -> tuple[str, ...]:
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


CATALOGUE: dict[str, Operation] = {}


class OperationOptions(TypedDict, total=False):
    """Options of an operation; what is left out is derived from the method or has a default."""

    auth: Auth
    scope: str | tuple[str, ...]
    scopes_beside: tuple[str, ...]
    action: str
    gather: Gather
    preconditions: Hurdles
    is_ready: Ready
    poll: Follow
    next_steps: NextSteps  # makes the next steps of a record that has none of its own
    errors: tuple[type[MarketError], ...]
    status: int
    safe: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    shows_secrets: bool
    may_revoke_caller_key: bool
    streams: bool
    document: type
    rate: Rate
    ends_work: bool
    paid_rate: Rate
    body_argument: str
    toolset: str
    cache_seconds: int
    only_rest: str  # why it is on REST only
    deprecated: Deprecated
    examples: tuple[dict[str, Any], ...]


def operation(route: str, **options: Unpack[OperationOptions]) -> Callable[[Run], Run]:
    """Register a function as an operation. `route` is "METHOD /path".

    Agents read the function's docstring: first line the summary, then when to use it, what it needs, what is next.
    """

    def register(run: Run) -> Run:
        made = _made(route, run, options)
        _check(made)
        CATALOGUE[made.name] = made
        return run

    return register


def internal_operation(route: str, **options: Unpack[OperationOptions]) -> Callable[[Run], Operation]:
    """Make an operation outside the catalogue, which no agent calls directly.

    One surface calls it and builds its own answer from the record.
    """
    return lambda run: _made(route, run, options)


def _made(route: str, run: Run, options: OperationOptions) -> Operation:
    method, path = route.split(" ")
    hints, text, deprecated = get_type_hints(run), _docstring(run), options.get("deprecated")
    text = text if deprecated is None else deprecated.told_in(text)
    safe = options.get("safe", method == "GET")
    only_rest = options.get("only_rest", OPERATORS if options.get("auth") == "admin" else "")
    return Operation(
        name=run.__name__,
        method=method,
        path=path,
        summary=text.split("\n", 1)[0],
        description=text,
        input=_input_of(run, hints),
        output=_output(options, hints["return"]),
        run=_followed(run, options),
        gather=options.get("gather"),
        preconditions=options.get("preconditions"),
        is_ready=options.get("is_ready"),
        poll=options.get("poll"),
        auth=options.get("auth", "key"),
        scopes=_scopes(options, safe),
        scopes_beside=options.get("scopes_beside", ()),
        action=options.get("action"),
        errors=options.get("errors", ()),
        status=options.get("status", 200),
        outside_transaction=inspect.iscoroutinefunction(run) or inspect.isasyncgenfunction(run),
        safe=safe,
        destructive=options.get("destructive", False),
        idempotent=options.get("idempotent", safe or method in ("PUT", "DELETE")),
        open_world=options.get("open_world", False),
        shows_secrets=options.get("shows_secrets", False),
        may_revoke_caller_key=options.get("may_revoke_caller_key", False),
        streams=options.get("streams", False),
        document=options.get("document"),
        rate=options.get("rate", Rate.READS if safe else Rate.WRITES),
        ends_work=options.get("ends_work", False),
        paid_rate=options.get("paid_rate"),
        body_argument=options.get("body_argument"),
        toolset=options.get("toolset", "market"),
        cache_seconds=options.get("cache_seconds", 0),
        surfaces=frozenset({Surface.REST}) if only_rest else EVERYWHERE,
        rest_only_reason=only_rest,
        deprecated=deprecated,
        examples=options.get("examples", ()),
    )


def _followed(run: Run, options: OperationOptions) -> Run:
    """Return the function with its next steps added to the record that it answers."""
    following = options.get("next_steps")
    if following is None:
        return run

    @wraps(run)
    def both(ctx: TxContext, *given: Any) -> Any:
        record = run(ctx, *given)
        return record if isinstance(record, MarketError) else base.and_steps(record, following(ctx, record))

    return both


def _scopes(options: OperationOptions, safe: bool) -> tuple[str, ...]:
    """Return the declared scopes; by default `read` for a read that needs a key, otherwise none."""
    scope = options.get("scope", "read" if safe and options.get("auth", "key") == "key" else ())
    return (scope,) if isinstance(scope, str) else scope


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


def _output(options: OperationOptions, hint: Any) -> tuple[type, ...]:
    found = (options["document"],) if "document" in options else _records(hint)
    return tuple(map(base.with_steps, found)) if "next_steps" in options else found


def _records(hint: Any) -> tuple[type, ...]:
    if get_origin(hint) is not None and hasattr(get_origin(hint), "__anext__"):
        hint = get_args(hint)[0]
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return tuple(one for one in members if one is not base.Ready and not issubclass(one, MarketError))


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
    if waits and (
        made.outside_transaction or made.safe == bool(made.poll) or "wait_seconds" not in made.input.model_fields
    ):
        raise TypeError(f"{made.name} cannot wait: it is no plain read with wait_seconds, nor followed by one")
    missing = set(made.path_names) - set(made.input.model_fields)
    if missing:
        raise TypeError(f"{made.name} has no argument {sorted(missing)} for its path")
