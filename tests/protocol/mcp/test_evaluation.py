"""The tools keep their grade, and the grader finds the faults that it exists for."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types as t
import pytest

from tests.evaluation import COSTS, grade, tokens
from tests.evaluation.report import MAX_ANSWER_TOKENS, MAX_LISTED, Report, made, printed
from tests.evaluation.typical import sizes
from tests.support.commands import run
from tools.engine.caller import Surface
from tools.engine.registry import CATALOGUE

NAMED: Mapping[str, Any] = {"type": "string", "maxLength": 64, "description": "job_…"}
ANNOTATED = t.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
WORDS = "Look at a job you are a party to: what it waits for and until when. Before it is paid its output is null; see pay_job."


def tool(name: str = "get_job", words: str = WORDS, given: Any = None, **changes: Any) -> t.Tool:
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"job_id": {**NAMED}} if given is None else given,
    }
    made = {"input_schema": schema, "output_schema": {"type": "object"}, "annotations": ANNOTATED}
    return t.Tool(name=name, description=words, **made | changes)


async def test_the_tools_keep_their_grade(tmp_path: Path) -> None:
    report = made(await sizes(tmp_path))
    assert report.broken == []
    assert len(report.tools) == 1 + len([op for op in CATALOGUE.values() if Surface.MCP in op.surfaces])
    assert 0 < len(report.listed) <= MAX_LISTED
    text = "\n".join(printed(report))
    assert all(f"\n{one.name}" in f"\n{text}" for one in report.tools)
    assert "BROKEN" not in text


def test_a_tool_that_is_well_made_loses_nothing() -> None:
    (graded,) = grade([tool()])
    assert (graded.score, graded.findings, graded.parameters) == (100, [], 1)


@pytest.mark.parametrize(
    "bad, finding",
    [
        (tool("getJob"), "name"),
        (tool("job_data"), "name: no verb that is known"),
        (tool("get_the_job_that_i_have_ordered_from_you"), "name"),
        (tool(words="Look at a job."), "description too short"),
        (tool(words=WORDS * 10), "description too long"),
        (tool(words="A job is looked at, with all its fields, by a party, and everything in it stands there as it stands."),
         "says neither when to use it nor what is next"),
        (tool(given={"job_id": {"type": "string", "maxLength": 9}}), "parameter without description: job_id"),
        (tool(given={"job_id": {"description": "a job"}}), "parameter without type: job_id"),
        (tool(given={"job_id": {"type": "string", "description": "a job"}}), "text without a bound: job_id"),
        (tool(given={"job_id": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "a job"}}),
         "text without a bound: job_id"),
        (tool(given={f"p{at}": NAMED for at in range(26)}), "too many parameters"),
        (tool(input_schema={"type": "object", "properties": {}}), "unknown arguments let in"),
        (tool(input_schema={"type": "object", "additionalProperties": False, "properties": {}, "anyOf": []}),
         "composed at the root"),
        (tool(input_schema={"type": "object", "additionalProperties": False, "properties": {}, "required": [*"abcdefg"]}),
         "too many required"),
        (tool(output_schema=None), "no output schema"),
        (tool(annotations=None), "annotations left out"),
        (tool(given={"job_id": NAMED | {"description": "x" * 9000}}), "too many tokens"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_tool_is_found_and_costs(bad: t.Tool, finding: str) -> None:
    (graded,) = grade([bad])
    assert finding in graded.findings
    assert graded.score <= 100 - COSTS[finding.split(":")[0]]


def test_objects_within_objects_are_counted_through_references() -> None:
    deep: dict[str, Any] = {"type": "string", "maxLength": 9}
    for _ in range(4):
        deep = {"type": "object", "properties": {"inner": deep}}
    schema = tool().input_schema | {
        "properties": {"job": {"$ref": "#/$defs/Job", "description": "a job"}}, "$defs": {"Job": deep},
    }  # fmt: skip
    assert grade([tool(input_schema=schema)])[0].findings == ["nested too deep: job"]


def test_tools_that_are_taken_for_one_another_are_found() -> None:
    other = "Read what was said in a thread, newest first, once you are in it; post_message answers, and the rest is there for good."
    alone, near, same = grade([tool(), tool("get_jobs", other), tool("read_job".replace("read", "find"), WORDS + " ")])
    assert alone.findings == []
    assert near.findings == ["name too near another: get_job"]
    assert same.findings == ["description too near another: get_job"]


def test_tokens_are_bytes_by_four_rounded_up() -> None:
    assert [tokens(text) for text in ("", "ab", "abc", "ä")] == [1, 1, 2, 1]


def test_every_bound_that_is_broken_is_named() -> None:
    fine = made({"get_job": MAX_ANSWER_TOKENS})
    assert fine.broken == []
    bad = replace(fine.tools[0], findings=["name", "no output schema"])
    broken = Report([bad], fine.listed * 2, {"get_job": MAX_ANSWER_TOKENS + 1}).broken
    assert [line.split()[0] for line in broken] == [
        f"{bad.name}:",
        str(2 * len(fine.listed)),
        "tools/list",
        "output",
        "get_job",
    ]
    assert "BROKEN: get_job answers 99999 tokens" in list(printed(Report([bad], [], {"get_job": 99_999})))


def test_it_runs_as_a_command() -> None:
    done = run([], os.environ, module="tests.evaluation")
    assert (done.returncode, done.stderr) == (0, "")
    assert "listed first" in done.stdout.splitlines()[-3]
