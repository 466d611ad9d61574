"""Test /mcp with published programs: the conformance suite, the Inspector, the TypeScript clients.

npm installs into one folder, which git ignores. mcp-<revision>.yml lists the tests that a server without sessions
cannot pass. A listed test that passes is a failure too.
"""

import re
import shutil
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import environ
from pathlib import Path

HERE = Path(__file__).parent
REVISIONS = ("2025-11-25", "2026-07-28")
NO_SUCH_TOOL = 5  # the Inspector's exit code for an unknown tool and for a failed call
SECONDS = 300
NPM_IS_MISSING = 2  # an exit code
KEY = re.compile(r"as_test_[0-9A-Za-z]{40}")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
COUNTS = re.compile(r"Total: (.*)|Passed: (.*)|^(\d+ tools, .*)$", re.MULTILINE)

# These must pass on the market without the fixture.
PLAIN_SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
    "sep-2164-resource-not-found",
    "caching",
    "http-header-validation",
    "input-required-result-unsupported-methods",
)
# The tasks extension, with the fixture's tools. No revision requires it, so no list of requirements has it.
TASK_SCENARIOS = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-status-notifications",  # the suite skips it
    "tasks-required-task-error",
    "tasks-mrtr-composition",
)
# The skills extension, with the number of checks that must succeed. The suite calls a scenario passed if all are skipped.
SKILL_SCENARIOS = {"sep-2640-skills-enumeration": 31, "sep-2640-skills-manifest": 5}
CLIENTS = (("v1",), ("v2",), ("v2", "auto"))


@dataclass(frozen=True)
class Outcome:
    """One check: its success, and its counts."""

    name: str
    went_well: bool
    told: str


@dataclass(frozen=True)
class Bench:
    """A folder with the published tools and their logs."""

    folder: Path

    def run(self, name: str, *command: str, expected: int = 0) -> tuple[Outcome, str]:
        """Run one of the tools; return its outcome and its output.

        The output is also in logs/<name>.log.
        """
        bin_folder = self.folder / "node_modules" / ".bin"
        env = {**environ, "PATH": f"{bin_folder}:{environ['PATH']}", "NO_COLOR": "1"}
        ran = subprocess.run(
            [bin_folder / command[0], *command[1:]],
            cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
        said = ran.stdout + ran.stderr
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        (logs / f"{name.replace(' ', '-').replace('/', '-')}.log").write_text(said)
        counted = [next(filter(None, found)) for found in COUNTS.findall(said)]
        ended = "" if ran.returncode == expected else f"exit {ran.returncode}, expected {expected}"
        return Outcome(name, ran.returncode == expected, " ".join([*counted[-1:], ended]).strip()), said


def main(folder: Path) -> int:
    """Install into `folder`, check, print a line for each check; return the exit code.

    0: all as expected. 1: not so. 2: npm is missing.
    """
    bench = install(folder)
    if bench is None:
        return NPM_IS_MISSING
    with serving("--fixture") as helped, serving() as plain:
        outcomes = [
            *suite(bench, helped),
            *scenarios(bench, "plain", plain, PLAIN_SCENARIOS),
            *scenarios(bench, "extension", helped, TASK_SCENARIOS),
            *skills(bench, plain),
            *inspector(bench, plain),
            *clients(bench, helped, plain),
        ]
    return printed(outcomes, folder)


def printed(outcomes: Sequence[Outcome], folder: Path) -> int:
    """Print a line for each check and a summary; return 0 if all are as expected, otherwise 1."""
    for outcome in outcomes:
        print(f"{'ok  ' if outcome.went_well else 'FAIL'} {outcome.name}{': ' if outcome.told else ''}{outcome.told}")
    failed = sum(not outcome.went_well for outcome in outcomes)
    print(f"{len(outcomes)} checks, {failed} failed; logs in {folder / 'logs'}")
    return 1 if failed else 0


def install(folder: Path) -> Bench | None:
    """Install the pinned packages and our scripts, unless present; None if npm is missing."""
    if shutil.which("npm") is None:
        print("npm is missing: it fetches the published suites and clients", file=sys.stderr)
        return None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    wanted, there = HERE / "clients" / "package.json", folder / "package.json"
    complete = folder / "node_modules" / ".complete"
    if not (complete.exists() and there.exists() and there.read_bytes() == wanted.read_bytes()):
        shutil.copy(wanted, there)
        options = (
            "--no-audit",
            "--no-fund",
            "--no-package-lock",
            "--loglevel=error",
            f"--cache={folder / 'npm-cache'}",
        )
        subprocess.run(["npm", "install", *options], cwd=folder, check=True, timeout=900)
        complete.touch()
    for script in (HERE / "clients").glob("*.mjs"):
        shutil.copy(script, folder)
    return Bench(folder)


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Run the market in its own process; return the URL of its /mcp."""
    command = [sys.executable, "-m", "tests.end_to_end.conformance.app", *options]
    server = subprocess.Popen(command, cwd=HERE.parents[2], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        if not url:
            raise RuntimeError("the market does not start")
        threading.Thread(
            target=deque, args=(server.stdout, 0), daemon=True
        ).start()  # a full pipe would block the server's log, and then the server
        yield url
    finally:
        server.terminate()
        server.wait(timeout=30)


def suite(bench: Bench, url: str) -> Iterator[Outcome]:
    """Yield the results of each revision's requirements, with the fixture's tools."""
    for revision in REVISIONS:
        baseline = str(HERE / f"mcp-{revision}.yml")
        options = ("--requirements", revision, "--expected-failures", baseline, "-o", str(bench.folder / "out"))
        yield bench.run(f"requirements of {revision}", "conformance", "server", "--url", url, *options)[0]


def scenarios(bench: Bench, kind: str, url: str, names: Sequence[str]) -> Iterator[Outcome]:
    for name in names:
        yield bench.run(f"{kind} {name}", "conformance", "server", "--url", url, "--scenario", name)[0]


def skills(bench: Bench, url: str) -> Iterator[Outcome]:
    """Yield the scenarios of skills, which need enough successes and nothing skipped."""
    for name, needed in SKILL_SCENARIOS.items():
        outcome, said = bench.run(f"plain {name}", "conformance", "server", "--url", url, "--scenario", name)
        plain = COLOUR.sub("", said)
        counts = {word: len(re.findall(rf"\b{word}\b", plain)) for word in ("SUCCESS", "SKIPPED", "WARNING")}
        went_well = outcome.went_well and counts["SUCCESS"] >= needed and not counts["SKIPPED"] + counts["WARNING"]
        yield Outcome(outcome.name, went_well, f"{outcome.told} {counts}")


def inspector(bench: Bench, url: str) -> Iterator[Outcome]:
    """Yield checks of portable schemas, of each way to send a key, and of refused calls."""

    def inspect(name: str, at: str, *options: str, expected: int = 0) -> tuple[Outcome, str]:
        command = ("mcp-inspector", "--cli", at, "--transport", "http", *options)
        return bench.run(f"inspector {name}", *command, expected=expected)

    call: Sequence[str] = ("--method", "tools/call", "--tool-name")
    yield inspect("strict list", f"{url}?toolsets=all", "--method", "tools/list", "--strict")[0]
    made, said = inspect("register", url, *call, "register_agent", "--tool-arg", "name=Inspector")
    yield made
    key = KEY.findall(said)[0]
    yield inspect("bearer key", url, *call, "get_me", "--header", f"Authorization: Bearer {key}")[0]
    yield inspect("header key", url, *call, "get_me", "--header", f"X-API-Key: {key}")[0]
    yield inspect("query key", f"{url}?api_key={key}", *call, "get_me")[0]
    yield inspect("argument key", url, *call, "get_me", "--tool-arg", f"api_key={key}")[0]
    yield inspect("strict list with key", f"{url}?api_key={key}&toolsets=all", "--method", "tools/list", "--strict")[0]
    yield inspect("no key", url, *call, "get_me", expected=NO_SUCH_TOOL)[0]
    yield inspect("unknown tool", url, *call, "no_such_tool", expected=NO_SUCH_TOOL)[0]


def clients(bench: Bench, *urls: str) -> Iterator[Outcome]:
    """Yield the visit of a stranger with each published client (clients/mcp.mjs)."""
    for client in CLIENTS:
        for url, what in zip(urls, ("with fixture", "plain"), strict=True):
            yield bench.run(f"client {' '.join(client)} {what}", "node", "mcp.mjs", f"{url}?toolsets=all", *client)[0]
