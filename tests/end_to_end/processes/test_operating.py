"""The operator's commands on a running market: their output, their errors, and no leak of the operator's secret."""

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from server.app import Service
from server.cli import app
from server.operator_client import Refused, call_operation
from server.settings import BadSettings, read_settings
from tests.end_to_end.processes.test_demo import environment
from tests.support.commands import run
from tests.support.servers import serving

SECRET = "the operator of these tests"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(tmp_path, operator_secret=SECRET) as made:
        yield made


async def registered(service: Service, name: str) -> Any:
    async with httpx.AsyncClient(base_url=service.settings.url, trust_env=False) as http:
        return (await http.post("/v1/agents", json={"name": name})).json()["agent"]


async def asked(service: Service, name: str, **given: Any) -> Any:
    return json.loads(await asyncio.to_thread(call_operation, service.settings, None, name, **given))


async def command(service: Service, *words: str, secret: str | None = SECRET) -> tuple[int, str, str]:
    """Run `emporion …` as a process; return exit code, output and errors."""
    own = environment(service.settings.data_dir, [service.settings.port, 0])
    own |= {} if secret is None else {"EMPORION_OPERATOR_SECRET": secret}
    done = await asyncio.to_thread(run, words, os.environ | own, timeout=120)
    return done.returncode, done.stdout, done.stderr


async def test_each_command_does_what_its_route_does(service: Service) -> None:
    ada = await registered(service, "Ada")
    code, said, _ = await command(service, "first-party", ada["id"])
    assert (code, json.loads(said)["first_party"]) == (0, True)
    code, said, _ = await command(service, "first-party", ada["handle"], "--off")
    assert (code, json.loads(said)["first_party"]) == (0, False)
    code, said, _ = await command(service, "set-status", ada["id"], "suspended")
    assert (code, json.loads(said)["status"]) == (0, "suspended")
    code, said, _ = await command(service, "overview")
    assert (code, json.loads(said)["agents"]) == (0, {"suspended": 1})


async def test_what_the_market_refuses_is_said_in_a_sentence(service: Service) -> None:
    code, said, why = await command(service, "resolve", "job_0", "--verdict", "buyer")
    assert (code, said) == (1, "")
    assert why.startswith("not_found: there is no such job")
    code, _, why = await command(service, "set-status", "agt_0", "asleep")
    assert (code, why.startswith("invalid_request: ")) == (1, True)
    code, _, why = await command(service, "overview", secret="somebody else's guess")
    assert (code, why.startswith("unauthenticated: ")) == (1, True)
    served = f"the secret that {service.settings.url} is served with"
    assert f"EMPORION_OPERATOR_SECRET must be {served}." in why
    code, _, why = await command(service, "overview", "--url", service.settings.url, secret=None)
    assert (code, why.startswith("EMPORION_OPERATOR_SECRET: unset. Set it as a variable or in .env")) == (2, True)
    assert f"EMPORION_OPERATOR_SECRET=<{served}>" in why
    assert f"EMPORION_DATA_DIR names that folder (it is {service.settings.data_dir} now)" in why


@pytest.mark.parametrize("name", ["overview", "resolve", "set-status", "first-party"])
def test_the_help_of_an_operators_command_names_its_secret(name: str) -> None:
    before = os.umask(0o022)
    try:
        shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    finally:
        os.umask(before)  # every command sets its own
    assert shown.exit_code == 0
    assert "EMPORION_OPERATOR_SECRET" in shown.output


async def test_the_overview_is_watched_in_a_terminal_until_ctrl_c(service: Service) -> None:
    code, shown = await asyncio.to_thread(watched, service, SECRET, interrupted=True)
    assert code == 0
    assert "Nothing is stuck." in shown
    assert "Traceback" not in shown
    code, shown = await asyncio.to_thread(watched, service, "somebody else's guess")
    assert (code, "unauthenticated: " in shown) == (1, True)
    code, _, why = await command(service, "overview", "--watch")
    assert (code, why) == (2, "--watch: the output is not a terminal. Leave --watch out to print the overview once\n")


def watched(service: Service, secret: str, *, interrupted: bool = False) -> tuple[int, str]:
    """Run `emporion overview --watch` in a terminal; return its exit code and output."""
    ours, theirs = pty.openpty()
    own = environment(service.settings.data_dir, [service.settings.port, 0])
    own |= {"EMPORION_OPERATOR_SECRET": secret, "COLUMNS": "80", "LINES": "40", "TERM": "xterm"}
    words = [sys.executable, "-m", "server", "overview", "--watch", "--every", "0.5"]
    process = subprocess.Popen(words, env=os.environ | own, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    with suppress(OSError):  # Linux ends the output of a terminal with an error
        while piece := os.read(ours, 65_536):
            written += piece
            if interrupted and b"Agents" in written:
                process.send_signal(signal.SIGINT)
                interrupted = False
    os.close(ours)
    return process.wait(60), written.decode()


async def test_others_text_cannot_speak_to_the_terminal(service: Service) -> None:
    async with httpx.AsyncClient(base_url=service.settings.url, trust_env=False) as http:
        await http.post("/v1/support/reports", json={"message": "cleared \x9b2J\u202e and \u001b[31m painted"})
    printed = await asyncio.to_thread(call_operation, service.settings, None, "get_overview")
    assert printed.isascii()
    assert json.loads(printed)["reports"][0]["message"].startswith("cleared ")
    assert all(one.isprintable() or one == "\n" for one in printed)


@pytest.mark.parametrize(
    "url", ["http://market.example", "ftp://127.0.0.1", "127.0.0.1:8000", "https://", "http://[::2]:80"]
)
def test_the_secret_is_sent_encrypted_or_to_this_machine(url: str) -> None:
    with pytest.raises(BadSettings, match="--url"):
        call_operation(read_settings(_env_file=None, operator_secret=SECRET), url, "get_overview")


def test_where_nothing_is_served_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="Is it served there"):
        call_operation(read_settings(_env_file=None, operator_secret=SECRET), "http://127.0.0.1:9", "get_overview")
