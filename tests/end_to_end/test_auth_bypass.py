"""The bypass table: every operation, with every kind of invalid credential, over every protocol.

The table is made from the registry, so it includes each new operation. An operation that needs an argument unknown
here fails with its name. Each kind is sent with valid arguments, and the database must not change.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest

from rest.routes import Rest
from storage.store import Store
from tests.requirements import covers
from tests.requirements.probes import stored
from tests.support import a2a_requests, mcp_client
from tests.support.fixed_market import HOST, approach_of, edged
from tests.support.invalid_credentials import (
    NOBODYS,
    PRIVATE,
    Sent,
    Standing,
    as_argument,
    as_bearer,
    as_key,
    as_query,
    contradicting,
    elsewhere,
    schemes,
    standing,
)
from tests.support.market import TestMarket
from tools.catalogue import CATALOGUE
from tools.engine.context import Surface
from tools.engine.registry import Operation

Refusal = tuple[str, str, str | None]  # type, code, param
Ask = Callable[[Operation, dict[str, Any], Sent], Awaitable[tuple[Any, str]]]
UNAUTHENTICATED: Refusal = ("authentication_error", "unauthenticated", None)
FORBIDDEN: Refusal = ("permission_error", "forbidden", None)
NO_ARGUMENT: Refusal = ("validation_error", "invalid_request", "api_key")
STATUS = {"unauthenticated": 401, "forbidden": 403, "not_found": 404, "invalid_request": 400}
# A buyer may order any listing, and a seller may propose on any bounty. Memory keys and claimed domains belong to each
# agent.
FOR_EVERYBODY = {"create_job", "hire", "put_memory", "propose_on_bounty", "list_proposals", "add_domain"}
NOT_SET_UP = {"get_faucet"}  # this market has no faucet
DONE_ALREADY = {"delete_memory"}  # deleting a missing key succeeds
OF_BOTH_ENVIRONMENTS = {"key", "key_id", "domain"}  # an agent's memory, its keys, its domains


@dataclass(frozen=True)
class Wire:
    """One protocol into the market of the table."""

    surface: Surface
    market: Standing
    ask: Ask

    @property
    def every(self) -> list[Operation]:
        return [op for op in CATALOGUE.values() if self.surface in op.surfaces]

    @property
    def keyed(self) -> list[Operation]:
        return [op for op in self.every if op.auth == "key"]

    @property
    def guarded(self) -> list[Operation]:
        """Operations that refuse anonymous callers, including those that need a signature."""
        return [op for op in self.every if op.auth in ("key", "signed")]


@asynccontextmanager
async def over_rest(market: Standing) -> AsyncIterator[Ask]:
    door = market.market.market
    wire = httpx.ASGITransport(edged(Rest(door, approach_of), door))
    async with httpx.AsyncClient(transport=wire, base_url=f"https://{HOST}") as http:

        async def ask(op: Operation, given: dict[str, Any], sent: Sent) -> tuple[Any, str]:
            rest, path = {**given, **sent.argument}, op.path
            for name in op.path_names:
                path = path.replace(f"{{{name}}}", quote(str(rest.pop(name)), safe=""))
            body = {} if op.method == "GET" else {"json": rest}
            params = {**sent.query, **(rest if op.method == "GET" else {})}
            made = http.build_request(op.method, path, headers=list(sent.headers), params=params, **body)
            answer = await http.send(made)
            error = answer.json().get("error")
            assert answer.status_code == (STATUS[error["code"]] if error else op.status)
            assert ("www-authenticate" in answer.headers) is (answer.status_code == 401)
            return error, answer.text

        yield ask


@asynccontextmanager
async def over_mcp(market: Standing) -> AsyncIterator[Ask]:
    async with mcp_client.connected(market.market.market) as mcp:

        async def ask(op: Operation, given: dict[str, Any], sent: Sent) -> tuple[Any, str]:
            query = f"?{urlencode(sent.query)}" if sent.query else ""
            given = {**given, **sent.argument}
            result = await mcp.call(mcp_client.MODERN, op.name, given, headers=sent.headers, query=query)
            said = result["content"][0]["text"]
            error = json.loads(said).get("error")
            assert result["isError"] is (error is not None)
            return error, said

        yield ask


@asynccontextmanager
async def over_a2a(market: Standing) -> AsyncIterator[Ask]:
    form = a2a_requests.RPC_1
    async with a2a_requests.connected(market.market.market) as a2a:

        async def ask(op: Operation, given: dict[str, Any], sent: Sent) -> tuple[Any, str]:
            message = a2a_requests.message_of(form, [{"tool": op.name, "arguments": given}], metadata=sent.argument)
            path, body = a2a_requests.request(form, message)
            headers = [*a2a_requests.VERSION.items(), *sent.headers]
            answer = await a2a.http.post(path, json=body, headers=headers, params=sent.query)
            heard = a2a_requests.heard(form, answer)
            return heard.data.get("error"), heard.raw

        yield ask


WIRES = {Surface.REST: over_rest, Surface.MCP: over_mcp, Surface.A2A: over_a2a}


@asynccontextmanager
async def wired(surface: Surface, store: Store) -> AsyncIterator[Wire]:
    """Open a wire in the test's own task.

    MCP sessions must be left by the task that entered them.
    """
    market = await standing(TestMarket(store))
    async with WIRES[surface](market) as ask:
        yield Wire(surface, market, ask)


async def wrong(
    wire: Wire, kind: str, sent: Callable[[Operation], Sent], asked: Iterable[tuple[Operation, Refusal | None]]
) -> Any:
    """Return the wrong answers of a row of the table, and whether anything was written."""
    before, found = await stored(wire.market.market.store), {}
    for op, expected in asked:
        carried = sent(op)
        error, text = await wire.ask(op, wire.market.arguments(op), carried)
        said = error and (error["type"], error["code"], error.get("param"))
        if said != expected:
            found[kind, op.name] = said
        assert not any(secret in text for secret in carried.secrets), (kind, op.name)
    if await stored(wire.market.market.store) != before:
        found[kind, "nothing"] = "was written"
    return found


def absent(wire: Wire) -> Iterator[tuple[str, Sent, Refusal]]:
    """Yield data that is no credential on this wire. It is refused if a credential is needed."""
    own = wire.market.owner.keys["test"]
    yield "none", Sent(), UNAUTHENTICATED
    if wire.surface is not Surface.REST:
        yield "null, argument", as_argument(None), UNAUTHENTICATED
    if wire.surface is not Surface.MCP:
        yield "query", as_query(own), UNAUTHENTICATED
    if wire.surface is Surface.REST:
        yield "body", as_argument(own), UNAUTHENTICATED


def useless(wire: Wire) -> Iterator[tuple[str, Sent, Refusal]]:
    """Yield invalid credentials of every kind. They are refused even if none is needed."""
    own, other = wire.market.owner.keys["test"], wire.market.stranger.keys["test"]
    for name, key in (("empty", ""), *wire.market.dead.items()):
        yield f"{name}, X-API-Key", as_key(key), UNAUTHENTICATED
        if wire.surface is Surface.REST or not key:
            yield f"{name}, Bearer", as_bearer(key), UNAUTHENTICATED
    for name, sent in (*schemes(own), *contradicting(own, other)):
        yield name, sent, UNAUTHENTICATED
    if wire.surface is not Surface.REST:
        yield from arguments(wire, own, other)
    if wire.surface is Surface.MCP:
        for name, key in wire.market.dead.items():
            yield f"{name}, query", as_query(key), UNAUTHENTICATED
        for sent in (as_key(own), as_bearer(own)):
            yield "a header and another query", replace(sent, query={"api_key": other}), UNAUTHENTICATED


def arguments(wire: Wire, own: str, other: str) -> Iterator[tuple[str, Sent, Refusal]]:
    """Yield credentials in the reserved argument of a tool call, or in a message's metadata."""
    for name, key in (("empty", ""), *wire.market.dead.items()):
        yield f"{name}, argument", as_argument(key), UNAUTHENTICATED
    for odd in (["x"], {"x": "y"}, 7, True):
        yield f"{odd}, argument", as_argument(odd), NO_ARGUMENT
    for name, key in (("works", own), ("is nobody's", NOBODYS)):
        for sent in (as_key(key), as_bearer(key)):
            yield f"a header that {name} and another argument", replace(sent, argument={"api_key": other}), NO_ARGUMENT


@pytest.mark.parametrize("surface", Surface)
@covers("endpoint.auth.key", "auth.7.missing")
async def test_without_a_credential_nothing_that_needs_one_is_done(surface: Surface, store: Store) -> None:
    found: dict[tuple[str, str], Any] = {}
    async with wired(surface, store) as wire:
        own = wire.market.owner.keys["test"]
        rest = [(name, sent, UNAUTHENTICATED) for name, sent in elsewhere(own)]
        for kind, sent, refusal in (*absent(wire), *rest):
            found |= await wrong(wire, kind, lambda op: sent, row(wire, kind, refusal))  # noqa: B023
    assert found == {}


@pytest.mark.parametrize("surface", Surface)
@covers("auth.7.invalid")
async def test_a_credential_that_opens_nothing_is_refused_also_where_none_is_needed(
    surface: Surface, store: Store
) -> None:
    found: dict[tuple[str, str], Any] = {}
    async with wired(surface, store) as wire:
        for kind, sent, refusal in useless(wire):
            found |= await wrong(wire, kind, lambda op: sent, [(op, refusal) for op in wire.every])  # noqa: B023
    assert found == {}


@pytest.mark.parametrize("surface", Surface)
@covers("error.code.forbidden", "error.type.permission_error")
async def test_a_key_without_the_scope_of_an_operation_is_forbidden(surface: Surface, store: Store) -> None:
    async with wired(surface, store) as wire:
        asked = [(op, FORBIDDEN) for op in wire.keyed]
        for carry in (as_key, as_argument) if surface is not Surface.REST else (as_key, as_bearer):
            found = await wrong(wire, "narrow", lambda op: carry(wire.market.narrow[op.scopes]), asked)  # noqa: B023
            assert found == {}
        for op in wire.keyed:
            error, _ = await wire.ask(op, wire.market.arguments(op), as_key(wire.market.narrow[op.scopes]))
            assert error["details"] == {"scope": " or ".join(op.scopes)}


@pytest.mark.parametrize("surface", Surface)
@covers("auth.7.others")
async def test_what_is_anothers_or_of_the_other_environment_is_not_found(surface: Surface, store: Store) -> None:
    async with wired(surface, store) as wire:
        named = [(op, names_of(op)) for op in wire.keyed if names_of(op) and op.name not in FOR_EVERYBODY]
        apart = [(op, names) for op, names in named if not names & OF_BOTH_ENVIRONMENTS]
        apart.append((CATALOGUE["create_job"], {"listing_id"}))
        stranger, live = wire.market.stranger.keys["test"], wire.market.owner.keys["live"]
        await wire.ask(CATALOGUE["get_me"], {}, as_key(live))  # the first call on live is written down
        for kind, key, asked in (("another's", stranger, named), ("live", live, apart)):
            assert len(asked) > 20
            refusals = [(op, None if op.name in DONE_ALREADY else hidden(op)) for op, _ in asked]
            assert await wrong(wire, kind, lambda op: as_key(key), refusals) == {}  # noqa: B023


@covers("endpoint.auth.signed")
async def test_a1_where_only_a_signature_counts_no_key_opens_anything(store: Store) -> None:
    async with wired(Surface.REST, store) as wire:
        asked = [(op, UNAUTHENTICATED) for op in wire.guarded if op.auth == "signed"]
        assert len(asked) >= 2
        for key in (wire.market.owner.keys["test"], wire.market.owner.keys["live"], wire.market.stranger.keys["test"]):
            for sent in (as_key(key), as_bearer(key), Sent((("Authorization", key),))):
                assert await wrong(wire, "a key", lambda op: sent, asked) == {}  # noqa: B023


@pytest.mark.parametrize("surface", Surface)
async def test_what_is_anothers_is_told_apart_in_nothing_from_what_never_was(surface: Surface, store: Store) -> None:
    async with wired(surface, store) as wire:
        stranger = as_key(wire.market.stranger.keys["test"])
        for op in wire.keyed:
            names = names_of(op)
            if not names or op.name in FOR_EVERYBODY | DONE_ALREADY:
                continue
            theirs, nothing = wire.market.arguments(op), wire.market.arguments(op)
            nothing |= {name: f"{theirs[name][:-6]}000000" for name in names}
            said = [[*await wire.ask(op, given, stranger)] for given in (theirs, nothing)]
            for (error, _), given in zip(said, (theirs, nothing), strict=True):
                del error["request_id"]
                assert not any(given[name] in str(error) for name in names), op.name
            assert said[0][0] == said[1][0], op.name


@pytest.mark.parametrize("surface", Surface)
async def test_no_list_shows_what_is_anothers_or_of_the_other_environment(surface: Surface, store: Store) -> None:
    async with wired(surface, store) as wire:
        lists = [
            op for op in wire.keyed if op.safe and not op.streams and not names_of(op) and op.name not in NOT_SET_UP
        ]
        stranger, live = wire.market.stranger.keys["test"], wire.market.owner.keys["live"]
        shown = {}
        for kind, key in (("another's", stranger), ("live", live), ("own", wire.market.owner.keys["test"])):
            for op in lists:
                error, text = await wire.ask(op, wire.market.arguments(op), as_key(key))
                assert error is None
                shown[kind, op.name] = {name for name, value in wire.market.ids.items() if value in text}
        assert {cell: names for cell, names in shown.items() if names and cell[0] != "own"} == {
            ("live", "list_api_keys"): {"key_id"},
            ("another's", "get_opportunities"): {"listing_id"},  # everybody may read listings
        }
        assert set().union(*(names for (kind, _), names in shown.items() if kind == "own")) >= {"job_id", "thread_id"}


@pytest.mark.parametrize("surface", Surface)
async def test_the_owners_key_opens_every_operation(surface: Surface, store: Store) -> None:
    """With a valid key, each call of the table is refused only for its arguments."""
    async with wired(surface, store) as wire:
        key = wire.market.owner.keys["test"]
        forms = [
            as_key(key),
            as_bearer(key),
            Sent((("authorization", f"bEARER  {key} "),)),
            Sent((("Authorization", key),)),
        ]
        forms += [as_argument(key)] if surface is not Surface.REST else []
        forms += [as_query(key)] if surface is Surface.MCP else []
        for op in wire.keyed:
            for sent in forms:
                error, _ = await wire.ask(op, wire.market.arguments(op) | {"nonsense": "1"}, sent)
                assert (error["code"], error["param"]) == ("invalid_request", "nonsense"), (op.name, sent.headers[:1])


def names_of(op: Operation) -> set[str]:
    """Return the arguments that identify a record of an agent."""
    return PRIVATE & {name for name, one in op.input.model_fields.items() if one.is_required()}


def row(wire: Wire, kind: str, refusal: Refusal) -> list[tuple[Operation, Refusal | None]]:
    """Return the expected answer of each operation.

    On REST, a POST with a query is refused before its credential is checked.
    """
    unread = wire.surface is Surface.REST and kind == "query"
    return [(op, NO_ARGUMENT if unread and op.method != "GET" else refusal) for op in wire.guarded]


def hidden(op: Operation) -> Refusal:
    """Return the expected not_found error, with the argument that is looked up first."""
    return ("not_found", "not_found", (*op.path_names, *names_of(op))[0])
