"""Test /a2a with the suites of the A2A project: TCK 1.0 at all levels, and the mandatory part of TCK 0.3.

    python -m tests.end_to_end.conformance.run_a2a [folder]

git fetches each suite at one commit into `folder`, and pip its dependencies. A2A_TCK_ORIGIN names another repository.
a2a_excuses.py lists the accepted failures and skips.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import environ
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from tests.end_to_end.conformance.a2a_excuses import FAILS, may_be_skipped
from tests.end_to_end.conformance.run_mcp import HERE, Outcome, printed, serving

ORIGIN = "https://github.com/a2aproject/a2a-tck"
COMMITS = {
    "1.0": "357c4a87afa2818731590647cccbea31c31733a2",  # on the branch 1.0-dev
    "0.3": "eb1f804c27ea25db8805264d9ed2d7ca077a7776",  # on 0.3.x
}
REQUIREMENTS = HERE / "tck-requirements.txt"
TRANSPORTS, UNSERVED = ("jsonrpc", "http_json"), "grpc"
SECONDS = 900
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class NotFetched(Exception):
    """The error if a suite or its dependencies cannot be downloaded."""


@dataclass(frozen=True)
class Verdict:
    """The result of a test, or of a requirement on one transport.

    `said` is its message, or the requirement's id.
    """

    name: str
    came_out: str
    said: str


def main(folder: Path) -> int:
    """Fetch, run, print a line for each check; return the exit code.

    0: all as expected. 1: not so. 2: a suite cannot be downloaded.
    """
    try:
        bench = Bench(folder / "tck")
        bench.install()
    except NotFetched as missing:
        print(f"A2A TCK NOT RUN: {missing}", file=sys.stderr)
        return 2
    with serving("--tck") as url:
        outcomes = [*newest(bench, url), *older(bench, url)]
    return printed(outcomes, bench.folder)


@dataclass(frozen=True)
class Bench:
    """A folder with the suites, their virtual environment and their logs."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    def install(self) -> None:
        """Install each suite at its commit with its dependencies, unless present. Raises NotFetched."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / ".gitignore").write_text("*\n")
        for version, commit in COMMITS.items():
            self._fetch(self.folder / version, commit)
        complete, wanted = self.folder / "venv" / "complete", REQUIREMENTS.read_text()
        if not complete.exists() or complete.read_text() != wanted:
            _do(sys.executable, "-m", "venv", self.folder / "venv")
            _do(self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS)
            complete.write_text(wanted)

    def _fetch(self, suite: Path, commit: str) -> None:
        complete = suite / ".git" / "complete"
        if complete.exists() and complete.read_text() == commit:
            return
        _do("git", "init", "--quiet", suite)
        _do("git", "-C", suite, "fetch", "--quiet", "--depth=1", environ.get("A2A_TCK_ORIGIN", ORIGIN), commit)
        _do("git", "-C", suite, "checkout", "--quiet", "--force", "FETCH_HEAD")
        complete.write_text(commit)

    def run(self, version: str, *options: str) -> Path:
        """Run a suite; return the folder with the reports of this run.

        Its exit code is ignored, because the reports are more exact.
        """
        reports = self.folder / version / "reports"
        for old in reports.glob("*.[jx][sm]*"):
            old.unlink()
        reports.mkdir(exist_ok=True)
        given = {"PYTEST_ADDOPTS": "--junitxml=reports/junitreport.xml", "NO_PROXY": "127.0.0.1,localhost"}
        ran = subprocess.run(
            [self.python, "run_tck.py", *options],
            cwd=self.folder / version, env=environ | given, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=SECONDS,
        )  # fmt: skip
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        (logs / f"tck-{version}.log").write_text(ran.stdout + ran.stderr)
        return reports


def _do(*command: Any) -> None:
    """Run a command that downloads. Raises NotFetched with its last line of output."""
    asks_nobody = environ | {"GIT_TERMINAL_PROMPT": "0"}
    try:
        subprocess.run(
            command, env=asks_nobody, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
        )  # fmt: skip
    except OSError as error:
        raise NotFetched(f"{command[0]}: {error.strerror}") from None
    except subprocess.SubprocessError as error:
        said = str(getattr(error, "stderr", None) or error).strip().splitlines()
        raise NotFetched(f"{' '.join(map(str, command))}: {said[-1]}") from None


# --- the runs ----------------------------------------------------------------------------------------------------------


def newest(bench: Bench, url: str) -> Iterator[Outcome]:
    """Yield the results of TCK 1.0: its tests, its requirements, and those without an excuse."""
    base = url.removesuffix("/mcp")
    reports = bench.run("1.0", "--sut-host", base, "--transport", ",".join(TRANSPORTS))
    yield from judged_tests("TCK 1.0", verdicts_in(reports / "junitreport.xml"), FAILS)
    found = reports / "compatibility.json"
    yield from judged_requirements(json.loads(found.read_text())["per_requirement"] if found.exists() else {})


def older(bench: Bench, url: str) -> Iterator[Outcome]:
    """Yield the results of TCK 0.3, mandatory: nothing may fail.

    With this host name, the card is in the form of 0.3.
    """
    base = f"http://localhost:{urlsplit(url).port}/a2a"
    reports = bench.run("0.3", "--sut-url", base, "--category", "mandatory")
    yield from judged_tests("TCK 0.3 mandatory", verdicts_in(reports / "junitreport.xml"), {})


def verdicts_in(report: Path) -> list[Verdict]:
    """Return every test of a JUnit report, or none if there is no report."""
    if not report.exists():
        return []
    return [_verdict(case) for case in ElementTree.parse(report).iter("testcase")]


def _verdict(case: ElementTree.Element) -> Verdict:
    """Return a test's result. An expected failure counts as a failure.

    The suite expects failures of optional requirements.
    """
    name = f"{case.get('classname')}::{case.get('name')}"
    for kind in ("failure", "error", "skipped"):
        if (found := case.find(kind)) is not None:
            was_skipped = kind == "skipped" and found.get("type") != "pytest.xfail"
            return Verdict(name, SKIPPED if was_skipped else FAILED, found.get("message", ""))
    return Verdict(name, PASSED, "")


# --- the judgement
# ----------------------------------------------------------------------------------------------------


def judged_tests(run: str, tests: Iterable[Verdict], excused: Mapping[str, str]) -> Iterator[Outcome]:
    """Yield the count of tests, and each test that fails or is skipped without an excuse."""
    tests = list(tests)
    counted = Counter(test.came_out for test in tests)
    yield Outcome(f"{run} tests", counted[PASSED] > 0, _told(counted))
    for test in tests:
        if test.came_out == FAILED and not any(f"{name} [" in test.said for name in excused):
            yield Outcome(f"{run} {test.name}", False, test.said.split("\n")[0][:300])
        if test.came_out == SKIPPED and not may_be_skipped(test.said):
            yield Outcome(f"{run} {test.name}", False, f"skipped: {test.said[:300]}")


def judged_requirements(found: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the count of requirements by level and transport, and each wrong one.

    Wrong are failures without an excuse, and excuses that are not needed.
    """
    counted: dict[tuple[str, str], Counter[str]] = {}
    failed = {name for name, requirement in found.items() if requirement["status"] == "FAIL"}
    for name, requirement in found.items():
        for transport, status in requirement["transports"].items():
            somewhere = (
                "FAIL" in requirement["transports"].values()
            )  # the report has the last test of each transport, and the worst overall
            came_out = (
                FAILED if name in failed and not somewhere else {"PASS": PASSED, "FAIL": FAILED}.get(status, SKIPPED)
            )
            counted.setdefault((requirement["level"], transport), Counter())[came_out] += 1
    for (level, transport), counts in sorted(counted.items()):
        if transport != UNSERVED:
            yield Outcome(f"TCK 1.0 {level} {transport}", True, _told(counts))
    for name in sorted(failed - FAILS.keys()):
        yield Outcome(f"TCK 1.0 {name}", False, "; ".join(found[name]["errors"])[:300])
    for name in sorted(FAILS.keys() - failed):
        yield Outcome(f"TCK 1.0 {name}", False, "excused, and does not fail")


def _told(counted: Counter[str]) -> str:
    return ", ".join(f"{counted[came_out]} {came_out}" for came_out in (PASSED, FAILED, SKIPPED))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()))
