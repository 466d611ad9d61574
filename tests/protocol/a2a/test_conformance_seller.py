"""The market with the A2A suite's own seller, which production never loads, and the judgement of a run."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.settings import read_settings
from tests.end_to_end.conformance.a2a_excuses import FAILS, may_be_skipped
from tests.end_to_end.conformance.a2a_fixture import FILE, SCRIPTS, TckService
from tests.end_to_end.conformance.run_a2a import (
    FAILED,
    PASSED,
    SKIPPED,
    Verdict,
    judged_requirements,
    judged_tests,
    verdicts_in,
)
from tests.support.a2a_requests import HTTP_1, RPC_03, RPC_1, A2a, message_of

ROOT = Path(__file__).parents[3]
LOADS_EVERYTHING = """
import importlib, pkgutil, sys
for name in ("server", "protocol", "rest", "tools", "storage"):
    for found in pkgutil.walk_packages(importlib.import_module(name).__path__, name + "."):
        if not found.name.startswith("storage.migrations") and not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print([name for name in sys.modules if name.split(".")[0] in ("tests", "benchmarks")])
"""
STATES = {
    "tck-complete-task": "TASK_STATE_COMPLETED",
    "tck-artifact-text": "TASK_STATE_COMPLETED",
    "tck-input-required": "TASK_STATE_INPUT_REQUIRED",
    "tck-reject-task": "TASK_STATE_REJECTED",
}
STAGES = [f"TASK_STATE_{word}" for word in ("SUBMITTED", "WORKING", "INPUT_REQUIRED", "COMPLETED")]


@asynccontextmanager
async def suited(folder: Path) -> AsyncIterator[A2a]:
    """Open a client without a key, like the suite."""
    service = TckService(read_settings(_env_file=None, data_dir=folder, port=8000, rate_limits=False))
    wire = httpx.ASGITransport(service)
    async with (
        service.running(),
        httpx.AsyncClient(transport=wire, base_url="http://127.0.0.1:8000", timeout=30) as http,
    ):
        yield A2a(http)


async def sent(suite: A2a, message_id: str, form: str = RPC_1, **more: Any) -> Any:
    """Send a text with this message id; return the task or message in the answer."""
    message = message_of(form, ["Hello"], messageId=f"{message_id}-1f", **more)
    if form == RPC_1:
        heard = await suite.ask(form, "SendMessage", {"message": message})
        return heard.body["result"]
    return (await suite.post(form, json.dumps({"message": message}).encode(), "/a2a/message:send")).body


def test_production_loads_nothing_of_the_suites() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", LOADS_EVERYTHING], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


@pytest.mark.parametrize("package", ["server", "protocol", "rest", "tools", "storage"])
def test_production_names_nothing_of_the_suites(package: str) -> None:
    for source in (ROOT / package).rglob("*.py"):
        words = source.read_text().lower()
        assert not [
            word for word in ("tck", "a2a_fixture", "tests.end_to_end.conformance", "from tests") if word in words
        ], source


@pytest.mark.parametrize("form", [RPC_1, HTTP_1])
async def test_a_task_becomes_what_the_id_of_its_message_says(tmp_path: Path, form: str) -> None:
    async with suited(tmp_path) as suite:
        states = {one: (await sent(suite, one, form))["task"]["status"]["state"] for one in STATES}
        assert states == STATES


async def test_a_task_that_waits_goes_on_by_its_next_message(tmp_path: Path) -> None:
    async with suited(tmp_path) as suite:
        waiting = (await sent(suite, "tck-input-required"))["task"]
        talked = (await sent(suite, "tck-input-required", taskId=waiting["id"]))["task"]
        assert talked["history"][-1]["parts"] == [{"text": "Hello"}]
        ended = (await sent(suite, "tck-complete-task", taskId=waiting["id"]))["task"]
        assert (ended["id"], ended["status"]["state"]) == (waiting["id"], "TASK_STATE_COMPLETED")


async def test_the_same_id_again_is_another_task(tmp_path: Path) -> None:
    async with suited(tmp_path) as suite:
        first, again = [(await sent(suite, "tck-complete-task"))["task"]["id"] for _ in range(2)]
        assert first != again


async def test_artifacts_hold_what_the_suite_looks_for(tmp_path: Path) -> None:
    async with suited(tmp_path) as suite:

        def parts(answer: Any) -> Any:
            (artifact,) = answer["task"]["artifacts"]
            return artifact["parts"]

        assert parts(await sent(suite, "tck-artifact-text")) == [{"text": "Generated text content"}]
        assert parts(await sent(suite, "tck-artifact-file")) == [{"raw": "dGNr", **FILE}]
        assert parts(await sent(suite, "tck-artifact-file-url")) == [{"url": "https://example.com/output.txt", **FILE}]
        (data,) = parts(await sent(suite, "tck-artifact-data"))
        assert data["data"] == {"key": "value", "count": 42}
        assert (await sent(suite, "tck-message-response"))["message"]["parts"][0]["text"] == "Direct message response"


async def test_a_stream_tells_the_work_the_artifact_and_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = replace(SCRIPTS["tck-stream-001"], seconds=2.0)  # a stream may skip a state that ends at once
    monkeypatch.setitem(SCRIPTS, "tck-stream-001", slow)
    async with suited(tmp_path) as suite:
        body = {"message": message_of(HTTP_1, ["Stream"], messageId="tck-stream-001-1f")}
        answer = await suite.http.post("/a2a/message:stream", json=body, headers={"a2a-version": "1.0"})
        events = [
            json.loads(line.removeprefix("data:")) for line in answer.text.split("\n") if line.startswith("data:")
        ]
        assert [next(iter(event)) for event in events if "statusUpdate" not in event] == ["task", "artifactUpdate"]
        first = events[0]["task"]["status"]["state"]  # the seller may have accepted before the stream opens
        states = [event["statusUpdate"]["status"]["state"] for event in events if "statusUpdate" in event]
        assert "TASK_STATE_WORKING" in [first, *states]
        assert states == [state for state in STAGES if state in states], "each state once, in order"
        assert states[-1] == "TASK_STATE_COMPLETED"


async def test_under_its_other_name_the_host_shows_the_card_of_0_3_and_nobody_the_extended_one(tmp_path: Path) -> None:
    async with suited(tmp_path) as suite:
        card = "/.well-known/agent-card.json"
        new = (await suite.http.get(card)).json()
        old = (await suite.http.get(card, headers={"host": "localhost:8000"})).json()
        assert ("protocolVersion" in new, old["protocolVersion"]) == (False, "0.3")
        assert old["url"] == new["supportedInterfaces"][0]["url"]
        assert (await suite.ask(RPC_03, "agent/getAuthenticatedExtendedCard", {})).error[0] == -32007
        assert (await suite.http.get("/a2a/extendedAgentCard", headers={"a2a-version": "1.0"})).status_code == 200


# --- the judgement of a run
# ----------------------------------------------------------------------------------------------


def requirement(status: str, **transports: str) -> dict[str, Any]:
    return {"level": "MUST", "status": status, "transports": transports, "errors": ["so"]}


EXCUSED = {name: requirement("FAIL", jsonrpc="FAIL") for name in FAILS}


def told(outcomes: Any) -> list[tuple[str, bool]]:
    return [(one.name, one.went_well) for one in outcomes]


def test_a_requirement_may_fail_only_where_it_is_excused_and_must_where_it_is() -> None:
    assert told(judged_requirements(EXCUSED)) == [("TCK 1.0 MUST jsonrpc", True)]
    more = EXCUSED | {"CORE-GET-001": requirement("FAIL", jsonrpc="PASS", http_json="FAIL", grpc="SKIPPED")}
    assert ("TCK 1.0 CORE-GET-001", False) in told(judged_requirements(more))
    (http, _rpc, *_) = judged_requirements(more)
    assert http.told == "0 passed, 1 failed, 0 skipped"
    assert told(judged_requirements({})) == [(f"TCK 1.0 {name}", False) for name in sorted(FAILS)]


def test_a_requirement_whose_last_test_passed_is_counted_as_it_failed() -> None:
    (counted, *_) = judged_requirements(EXCUSED | {"HTTP_JSON-SVC-001": requirement("FAIL", http_json="PASS")})
    assert (counted.name, counted.told) == ("TCK 1.0 MUST http_json", "0 passed, 1 failed, 0 skipped")


def test_a_test_that_fails_or_is_skipped_without_an_excuse_is_a_finding() -> None:
    well = Verdict("a", PASSED, "")
    excused = Verdict("b", FAILED, "AssertionError: CORE-SEND-003 [SendMessage] failed on jsonrpc")
    assert told(
        judged_tests("T", [well, excused, Verdict("c", SKIPPED, "Transport 'grpc' not configured")], FAILS)
    ) == [("T tests", True)]
    assert told(judged_tests("T", [well, excused], {})) == [("T tests", True), ("T b", False)]
    assert told(judged_tests("T", [well, Verdict("c", SKIPPED, "send_message failed")], {}))[-1] == ("T c", False)
    assert told(judged_tests("T", [], FAILS)) == [("T tests", False)]
    assert not may_be_skipped("Expected task state 'TASK_STATE_COMPLETED'")


def test_an_expected_failure_of_the_suite_counts_as_one(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    report.write_text(
        "<testsuites><testsuite><testcase classname='m' name='a'/>"
        "<testcase classname='m' name='b'><skipped type='pytest.xfail' message='no'/></testcase>"
        "<testcase classname='m' name='c'><skipped type='pytest.skip' message='why'/></testcase>"
        "<testcase classname='m' name='d'><error message='broke'/></testcase></testsuite></testsuites>"
    )
    assert [test.came_out for test in verdicts_in(report)] == [PASSED, FAILED, SKIPPED, FAILED]
    assert verdicts_in(tmp_path / "none.xml") == []
