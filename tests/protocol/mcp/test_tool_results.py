"""Untrusted text over MCP: marked in the text of a result, named in `_meta`, and absent from the market's own texts.

The calls are those of the parity script. Each text that an agent writes there contains a sign.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_origin, get_type_hints

import mcp_types as t
import pytest
from mcp.client import Client

from protocol.mcp.toolsets import CALL, CORE
from protocol.untrusted_text import held_in, marks_of
from storage.open import open_database, serve
from tests.protocol.test_parity import run_over
from tests.requirements import covers
from tests.support.databases import SQLiteTemplate, close
from tests.support.next_steps import check_steps
from tests.support.protocols import served
from tests.support.untrusted_markers import unfenced, value_at
from tools.catalogue import CATALOGUE
from tools.engine.caller import Surface
from tools.events.payloads import PAYLOADS
from tools.kernel.text_authors import OWN, Foreign, Payload

SIGN = "⁂"
SERVED = {op.name for op in CATALOGUE.values() if Surface.MCP in op.surfaces}
TOOL_NAME = re.compile(r"(?<![\w/=])[a-z]+(?:_[a-z0-9]+)+(?![\w/])")
WRITTEN = frozenset({
    "body", "comment", "description", "framework", "message", "name", "note", "preview", "rationale", "reason", "title",
    "unit_basis_note", "unit_name",
})  # fmt: skip
HOLDS_WRITTEN = frozenset(
    {"example_input", "example_output", "input", "output", "data", "payload", "value", "metadata"}
)


@dataclass(frozen=True)
class Heard:
    """A call of the script and its result."""

    operation: str
    arguments: Mapping[str, Any]
    result: t.CallToolResult

    @property
    def untrusted(self) -> list[str]:
        named: list[str] = (self.result.meta or {}).get("service/untrusted", [])
        return named

    @property
    def text(self) -> str:
        first = self.result.content[0]
        assert isinstance(first, t.TextContent)
        return first.text


def signed(value: Any, *, written: bool = False) -> Any:
    """Return the arguments with a sign at the end of each free text of an agent."""
    if isinstance(value, str):
        return value + SIGN if written else value
    if isinstance(value, list):
        return [signed(one, written=written) for one in value]
    if not isinstance(value, dict) or "deliverable_schema" in value:
        return value
    return {
        key: signed(one, written=written or key in HOLDS_WRITTEN or (key in WRITTEN and isinstance(one, str)))
        for key, one in value.items()
    }


@pytest.fixture(scope="module")
def heard(sqlite_template: SQLiteTemplate, tmp_path_factory: pytest.TempPathFactory) -> list[Heard]:
    return asyncio.run(_said(sqlite_template.copy(tmp_path_factory.mktemp("presented"))))


async def _said(url: str) -> list[Heard]:
    store, found = serve(open_database(url)), list[Heard]()
    async with run_over("rest", store) as script, served(script.market) as place, Client(f"{place}/mcp") as client:

        async def call(operation: str, given: Mapping[str, Any], key: str | None) -> Any:
            arguments = signed(dict(given)) if operation != "verify_receipt" else dict(given)
            result = await client.call_tool(
                operation, {"detail": "full", **arguments} | ({"api_key": key} if key else {})
            )
            found.append(Heard(operation, arguments, result))
            return json.loads(result.content[0].text) if result.is_error else result.structured_content  # type: ignore[union-attr]

        script.call = call
        await script.run()
    await close(store)
    return found


def test_without_its_marks_the_text_is_the_record(heard: list[Heard]) -> None:
    for one in heard:
        told = unfenced(one.text, one.untrusted)
        assert told == (one.result.structured_content or {"error": (one.result.meta or {})["service/error"]}), (
            one.operation
        )


def test_what_is_named_is_text_of_others_that_is_there(heard: list[Heard]) -> None:
    records = [one for one in heard if not one.result.is_error]
    named = [value_at(one.result.structured_content, pointer) for one in records for pointer in one.untrusted]
    assert len(named) > 150
    assert all(isinstance(value, str | list | dict) and value for value in named)


def test_no_words_of_an_agent_stand_in_what_the_market_says(heard: list[Heard]) -> None:
    """The words are only in fields that are declared as untrusted.

    So they are not in next_steps, hints, reasons or displays.
    """
    seen = [one for one in heard if not one.result.is_error and SIGN in one.text]
    assert len(seen) > 90
    for one in seen:
        record = one.result.structured_content
        kinds = CATALOGUE[one.operation].output
        assert [*misplaced(record, kinds[0], one.operation)] == []


def test_no_refusal_quotes_an_agent_but_where_it_says_so(heard: list[Heard]) -> None:
    refused = [one for one in heard if one.result.is_error]
    quoting = [one for one in refused if one.untrusted]
    assert {one.operation for one in quoting} == {"create_job", "deliver_job", "hire", "link_erc8004"}
    for one in refused:
        error = unfenced(one.text, one.untrusted)["error"]
        for refusal in (error, *error.get("details", {}).get("failing", ())):
            assert SIGN not in json.dumps([refusal.get("hint"), refusal.get("next_steps")], ensure_ascii=False), one


@covers("second.mcp_steps.listed")
def test_every_next_step_names_a_listed_tool_and_is_a_call_of_it(heard: list[Heard]) -> None:
    steps = [step for one in heard for step in steps_in(said_by(one))]
    assert {step["tool"] for step in steps} <= {*CORE, None}
    through = [step["arguments"] for step in steps if step["tool"] == CALL]
    assert len({call["name"] for call in through}) > 20
    assert {call["name"] for call in through}.isdisjoint(CORE)
    for step in steps:
        call = step["arguments"] if step["tool"] == CALL else {"name": step["tool"], "arguments": step["arguments"]}
        check_steps({"next_steps": [step | {"tool": call["name"], "arguments": call["arguments"]}]})


@covers("second.mcp_steps.texts")
def test_no_sentence_of_the_market_sends_to_a_tool_that_is_not_listed(heard: list[Heard]) -> None:
    """These are hints, reasons for steps, and `then`."""
    said = [text for one in heard for text in sentences_in(said_by(one))]
    assert len(said) > 300
    assert {name for text in said for name in TOOL_NAME.findall(text)} & SERVED <= {*CORE}
    assert len([text for text in said if "call_tool(name=" in text]) > 20


def said_by(one: Heard) -> Any:
    return one.result.structured_content or {"error": (one.result.meta or {})["service/error"]}


def steps_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the market's own steps. An agent's text may also have a member `next_steps`."""
    for name, part in members(value):
        if name == "next_steps" and isinstance(part, list):
            yield from part


def sentences_in(value: Any) -> Iterator[str]:
    yield from (part for name, part in members(value) if name in ("hint", "why", "then") and isinstance(part, str))


def members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from members(part)


def misplaced(value: Any, kind: Any, where: str) -> Iterator[str]:
    """Yield the places of an agent's words in fields whose type does not declare them."""
    hints = get_type_hints(get_origin(kind) or kind, include_extras=True)
    for name, part in ({} if getattr(kind, "own", None) is True else value).items():
        marks = marks_of(hints[name])
        payload = next((PAYLOADS[mark.prefix + value["type"]] for mark in marks if isinstance(mark, Payload)), None)
        members = next((mark.members for mark in marks if isinstance(mark, Foreign)), None)
        inner = [record for record, _ in held_in(hints[name])]
        if payload is not None:
            yield from misplaced(part, payload, f"{where}.{name}")
        elif inner and OWN not in marks:
            for one in inner_of(part):
                yield from misplaced(one, inner[0], f"{where}.{name}")
        elif members != () and OWN not in marks and SIGN in json.dumps(bare(part, members or ()), ensure_ascii=False):
            yield f"{where}.{name}"


def inner_of(part: Any) -> list[Any]:
    """Return the records in a field: one, a list of them, or several by name."""
    if isinstance(part, list):
        return part
    by_name = isinstance(part, dict) and bool(part) and all(isinstance(one, dict) for one in part.values())
    return [] if part is None else [*part.values()] if by_name else [part]


def bare(part: Any, members: tuple[str, ...]) -> Any:
    """Return the value without the members at these paths."""
    if isinstance(part, list):
        return [bare(one, members) for one in part]
    if not isinstance(part, dict):
        return part
    left = json.loads(json.dumps(part))
    for path in members:
        holder: Any = left
        *first, last = path.split("/")
        for step in first:
            holder = holder.get(step, {})
        holder.pop(last, None)
    return left
