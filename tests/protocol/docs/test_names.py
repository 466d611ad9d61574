"""Lesson o4: each tool, argument, field, code, event, path, URL and call in every text exists."""

import ast
import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from protocol.a2a.agent_card import extended_card, public_card
from protocol.docs.skill import every_error
from protocol.mcp.resources import TEMPLATES
from protocol.mcp.texts import ANSWERING, BUYING, GUIDES, JUDGING, SELLING, instructions
from protocol.mcp.tools import call_tool, tool_of
from protocol.mcp.wording import Wording
from protocol.reserved_arguments import KEY_ADVICE
from tests.support.documented_names import (
    HOUSE,
    OPENAPI,
    OPERATIONS,
    TEXTS,
    addresses_in_code,
    answers,
    called,
    calls_in_code,
    code,
    descriptions_in,
    faults,
    pages,
    sentences,
    served,
)
from tools.catalogue import CATALOGUE
from tools.discovery.changelog import CHANGELOG
from tools.engine.context import Surface
from tools.events.types import KINDS
from tools.jobs.lifecycle import MOVES

DOCUMENTS = {
    **TEXTS.documents,
    "/llms.txt": TEXTS.llms_txt,
    "/llms-full.txt": TEXTS.llms_full_txt,
    "/": orjson.dumps([TEXTS.index_json["start"], *TEXTS.index_json["docs"].values()]).decode(),
}
FED = {"bounty.created"}  # a line of the public feed; its kinds are an enum of the record
UNSHOWN = ("tools/screening/regex_patterns.py", "tools/screening/phrases")  # patterns of attacks


@pytest.mark.parametrize("path", DOCUMENTS)
def test_o4_a_document_names_only_what_exists(path: str) -> None:
    assert path in pages()
    assert faults(DOCUMENTS[path]) == set()


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_o4_a_tool_names_only_what_exists(op: Any) -> None:
    """This includes its description and those of its arguments and answer."""
    tool = tool_of(op, is_anonymous=True).model_dump()
    for text in (op.description, *descriptions_in(tool)):
        assert faults(text) == set(), text


@pytest.mark.parametrize("error", every_error(), ids=lambda error: error.code)
def test_o4_an_error_names_only_what_exists(error: Any) -> None:
    assert faults(f"{error.usual_hint} {error.__doc__}") == set()


@pytest.mark.parametrize("package", ["tools", "protocol", "rest"])
def test_o4_every_sentence_of_the_code_names_only_what_exists(package: str) -> None:
    """These are hints, messages, notes and all other texts of answers."""
    said = [(place, text) for place, text in sentences(package) if not place.startswith(UNSHOWN)]
    assert len(said) > 60
    assert {(place, text): wrong for place, text in said if (wrong := faults(text))} == {}


def test_o4_openapi_and_the_cards_name_only_what_exists() -> None:
    cards = [public_card(HOUSE, OPERATIONS), extended_card(HOUSE, OPERATIONS)]
    said = list(descriptions_in([OPENAPI, cards]))
    assert len(said) > 500
    assert {text: wrong for text in said if (wrong := faults(text))} == {}


def test_o4_what_mcp_says_beside_its_tools_names_only_what_exists() -> None:
    guides = [part for guide in GUIDES.values() for part in (guide.goal, guide.description)]
    arguments = [str(argument.description) for guide in GUIDES.values() for argument in guide.arguments]
    steps = [why for hints in (BUYING, SELLING, ANSWERING, JUDGING) for _, why in hints]
    said = [
        *guides,
        *arguments,
        *steps,
        KEY_ADVICE,
        instructions(CATALOGUE, Wording(frozenset())),
        *(one.description for one in TEMPLATES),
    ]
    said += list(descriptions_in(call_tool(is_anonymous=True).model_dump()))
    assert {text: wrong for text in said if (wrong := faults(text))} == {}
    for template in TEMPLATES:
        named = template.arguments(re.sub("{[a-z]+_id}", f"job_{'0' * 26}", template.uri).replace("{revision}", "0"))
        assert named
        assert named.keys() <= CATALOGUE[template.operation].input.model_fields.keys()


def test_o4_the_changelog_names_only_what_exists() -> None:
    said = [change for entry in CHANGELOG for change in entry.changes]
    assert {text: wrong for text in said if (wrong := faults(text))} == {}


def test_o4_every_address_that_is_made_is_served() -> None:
    made = list(addresses_in_code("tools", "protocol", "rest", "server"))
    assert len(made) >= 15
    assert [(place, path) for place, path in made if not served(path)] == []


def test_o4_every_step_is_a_call_with_arguments_it_takes() -> None:
    steps = list(steps_in_code())
    assert len(steps) >= 20
    for name, arguments in steps:
        assert arguments <= set(CATALOGUE[name].input.model_fields), name


def test_o4_every_call_given_as_data_is_a_call() -> None:
    """Documents and records contain calls as {"tool": …, "method": …, "url": …}."""
    given = [part for package in ("tools", "protocol") for part in dicts_in_code(package) if "tool" in part]
    assert given
    for part in given:
        op = CATALOGUE[part["tool"]]
        assert part.get("method", op.method) == op.method


def test_o4_every_event_that_is_said_is_a_kind() -> None:
    told = {move.event for move in MOVES if move.event}
    kinds = {
        node.value
        for tree in code("tools").values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.fullmatch(r"(?:job|bounty|dispute|message|review|schedule|webhook)\.[a-z_]+", node.value)
    }
    assert told <= kinds <= KINDS | FED


def test_o4_every_tool_answers_where_its_documents_say() -> None:
    for op in OPERATIONS:
        assert answers(op.method, op.path)
        assert op.rest_only_reason or op.surfaces == frozenset(Surface)


@pytest.mark.parametrize(
    "text",
    [
        "Call sell_soul.",
        "Read payment.statuss of the job.",
        "It happens at job.payed, an event.",
        "GET /v1/souls has them.",
        "POST /v1/listings/{listing_id} changes it.",
        "See https://market.example/docs/souls.",
        "It stands in /docs/souls.",
        "get_job(job, wait_seconds?) waits.",
        "Set `salt` too.",
        "details.soul says which.",
    ],
)
def test_a_text_that_names_what_is_not_there_is_found(text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "get_job(job_id, wait_seconds?) waits for job.paid; payment.status is `due`.",
        "GET /v1/jobs/{job_id}, /v1/jobs/{}/pay and https://market.example/docs/lifecycle.",
        "invalid_transition: details.available_actions has what is open. See skill.md.",
    ],
)
def test_a_text_that_names_what_is_there_is_let_pass(text: str) -> None:
    assert faults(text) == set()


def steps_in_code() -> Iterator[tuple[str, set[str]]]:
    for call in calls_in_code():
        if called(call) == "step" and isinstance(call.args[0], ast.Constant):
            yield str(call.args[0].value), {part.arg for part in call.keywords if part.arg} - {"deadline"}


def dicts_in_code(package: str) -> Iterator[dict[str, Any]]:
    """Yield the literal members of dict displays in the code."""
    for tree in code(package).values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                yield {
                    key.value: value.value
                    for key, value in zip(node.keys, node.values, strict=True)
                    if isinstance(key, ast.Constant) and isinstance(value, ast.Constant)
                }
