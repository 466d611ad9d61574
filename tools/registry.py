"""The registry: one typed value per operation; every surface, document and generic test is derived from it."""

import inspect
import types
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Union, Unpack, get_args, get_origin, get_type_hints

from tools.arguments import Arguments
from tools.context import Outside, Surface
from tools.deprecation import Deprecated
from tools.errors import MarketError
from tools.rates import Rate
from tools.records import base

Auth = Literal["none", "optional", "key", "signed", "admin"]  # key: or a signature; signed: that alone
TOOLSETS = (
    "agents", "bounties", "buying", "disputes", "events", "jobs", "market", "memory", "messages", "payments", "schedules",
    "selling", "webhooks",
)  # fmt: skip
OPERATORS_TOOLSET = "operator"  # of no agent's
OPERATORS = "the operator's, behind X-Admin-Token"
Run = Callable[..., Any]
Gather = Callable[[Outside, Any], Awaitable[Any]]
Ready = Callable[[Any, Any], bool]
Follow = Callable[..., Any]
Hurdles = Callable[[Any, Any], Iterator[Callable[[], object]]]
EVERYWHERE = frozenset(Surface)


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One thing that can be done, once, for all surfaces."""

    name: str
    method: str
    path: str
    summary: str
    description: str
    input: type[Arguments]
    output: tuple[type, ...]  # the record, or the records, it answers with
    run: Run
    gather: Gather | None
    hurdles: Hurdles | None  # its checks one by one: when it is refused, all that fail are told at once
    ready: Ready | None  # of a call that may wait: whether there is something to say
    follow: Follow | None  # of one that writes and then waits: what it has to say later, made from its first answer
    auth: Auth
    scopes: tuple[str, ...]  # a key needs one of them, or *
    scopes_beside: tuple[str, ...]  # ... and each of these
    action: str | None  # the word in available_actions
    errors: tuple[type[MarketError], ...]
    status: int
    outside: bool  # runs as a coroutine outside a unit of work: a read from caches or scans
    safe: bool  # writes nothing
    destructive: bool
    idempotent: bool
    open_world: bool  # reads a chain or another outside system
    shows_secrets: bool  # the answer holds secrets shown once
    ends_key: bool  # the key it comes with may be revoked by it: a repeat is answered all the same
    streams: bool
    document: type | None  # what a streamed answer is, written as JSON piece by piece; None: server-sent events
    rate: Rate
    paid_rate: Rate | None  # of a call that comes with an x402 payment; None: nothing is sold so
    whole_body: str | None  # the argument a REST body is as it stands; the others come in the query
    toolset: str
    kept_seconds: int  # how long anybody may keep the answer
    surfaces: frozenset[Surface]
    only_because: str  # why it is not on every surface
    deprecated: Deprecated | None = None  # on its way out; None: it stays
    examples: tuple[dict[str, Any], ...] = field(default=())

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").capitalize()

    @property
    def path_names(self) -> tuple[str, ...]:
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


CATALOGUE: dict[str, Operation] = {}


class Declared(TypedDict, total=False):
    """What may be said of an operation beside its function; what is left out is derived from the method."""

    auth: Auth
    scope: str | tuple[str, ...]
    scopes_beside: tuple[str, ...]
    action: str
    gather: Gather
    hurdles: Hurdles
    ready: Ready
    follow: Follow
    errors: tuple[type[MarketError], ...]
    status: int
    safe: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    shows_secrets: bool
    ends_key: bool
    streams: bool
    document: type
    rate: Rate
    paid_rate: Rate
    whole_body: str
    toolset: str
    kept_seconds: int
    only_rest: str  # the reason why it is on REST alone
    deprecated: Deprecated
    examples: tuple[dict[str, Any], ...]


def operation(route: str, **said: Unpack[Declared]) -> Callable[[Run], Run]:
    """Register a function as an operation. `route` is "METHOD /path".

    The function's docstring is what agents read: first line the summary, then when to use it, what it needs, what is next.
    """

    def register(run: Run) -> Run:
        made = _made(route, run, said)
        _check(made)
        CATALOGUE[made.name] = made
        return run

    return register


def unlisted(route: str, **said: Unpack[Declared]) -> Callable[[Run], Operation]:
    """An operation of one surface, which makes something of its own of what it answers: in no catalogue, called by no agent."""
    return lambda run: _made(route, run, said)


def _made(route: str, run: Run, said: Declared) -> Operation:
    method, path = route.split(" ")
    hints, text, deprecated = get_type_hints(run), _docstring(run), said.get("deprecated")
    text = text if deprecated is None else deprecated.told_in(text)
    safe = said.get("safe", method == "GET")
    only_rest = said.get("only_rest", OPERATORS if said.get("auth") == "admin" else "")
    return Operation(
        name=run.__name__,
        method=method,
        path=path,
        summary=text.split("\n", 1)[0],
        description=text,
        input=_input_of(run, hints),
        output=(said["document"],) if "document" in said else _records(hints["return"]),
        run=run,
        gather=said.get("gather"),
        hurdles=said.get("hurdles"),
        ready=said.get("ready"),
        follow=said.get("follow"),
        auth=said.get("auth", "key"),
        scopes=_scopes(said, safe),
        scopes_beside=said.get("scopes_beside", ()),
        action=said.get("action"),
        errors=said.get("errors", ()),
        status=said.get("status", 200),
        outside=inspect.iscoroutinefunction(run) or inspect.isasyncgenfunction(run),
        safe=safe,
        destructive=said.get("destructive", False),
        idempotent=said.get("idempotent", safe or method in ("PUT", "DELETE")),
        open_world=said.get("open_world", False),
        shows_secrets=said.get("shows_secrets", False),
        ends_key=said.get("ends_key", False),
        streams=said.get("streams", False),
        document=said.get("document"),
        rate=said.get("rate", Rate.READS if safe else Rate.WRITES),
        paid_rate=said.get("paid_rate"),
        whole_body=said.get("whole_body"),
        toolset=said.get("toolset", "market"),
        kept_seconds=said.get("kept_seconds", 0),
        surfaces=frozenset({Surface.REST}) if only_rest else EVERYWHERE,
        only_because=only_rest,
        deprecated=deprecated,
        examples=said.get("examples", ()),
    )


def _scopes(said: Declared, safe: bool) -> tuple[str, ...]:
    """What was said; a read that needs a key needs `read`, what needs none needs no scope."""
    scope = said.get("scope", "read" if safe and said.get("auth", "key") == "key" else ())
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


def _records(hint: Any) -> tuple[type, ...]:
    if get_origin(hint) is not None and hasattr(get_origin(hint), "__anext__"):
        hint = get_args(hint)[0]
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return tuple(one for one in members if one is not base.Ready and not issubclass(one, MarketError))


def _check(made: Operation) -> None:
    if made.name in CATALOGUE:
        raise TypeError(f"two operations are called {made.name}")
    if made.outside and not made.safe:
        raise TypeError(f"{made.name} writes, so it runs in a unit of work and cannot be async")
    if made.toolset not in (*TOOLSETS, OPERATORS_TOOLSET) or (made.toolset == OPERATORS_TOOLSET) != (
        made.auth == "admin"
    ):
        raise TypeError(f"{made.name} is of {made.toolset}, which is not its toolset")
    waits = made.ready is not None
    if waits and (made.outside or made.safe == bool(made.follow) or "wait_seconds" not in made.input.model_fields):
        raise TypeError(f"{made.name} cannot wait: it is no plain read with wait_seconds, nor followed by one")
    missing = set(made.path_names) - set(made.input.model_fields)
    if missing:
        raise TypeError(f"{made.name} has no argument {sorted(missing)} for its path")
