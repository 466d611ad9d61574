"""`emporion export` from a running market under load: it contains all acknowledged writes and blocks no other call."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.faults.test_backup import Writers, a_receipt, client, key_of, served
from tests.end_to_end.faults.test_start import refused, start
from tests.support.databases import PostgresServer

SECRETS = {"EMPORION_SIGNING_SEED": "11" * 32, "EMPORION_KEY_PEPPER": "22" * 32}
TIMES = ("as_of", "generated_at", "finished_at", "last_seen_at", "last_used_at")


@pytest.fixture
def given(database: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings that select the database; none for SQLite."""
    if database == "sqlite":
        return {}
    server: PostgresServer = request.getfixturevalue("postgres")
    return SECRETS | {"EMPORION_DATABASE_URL": server.create("exported")}


def timeless(document: Any) -> Any:
    """Return the document without times of its request."""
    if isinstance(document, dict):
        return {name: timeless(value) for name, value in document.items() if name not in TIMES}
    return [timeless(one) for one in document] if isinstance(document, list) else document


async def test_a_served_market_is_exported_by_its_operator(tmp_path: Path, given: dict[str, str]) -> None:
    data, out, file = tmp_path / "data", tmp_path / "out", tmp_path / "bo.json"
    with served(data, **given) as url:
        async with client(url) as http:
            buyer, _ = await a_receipt(http)
            ask = f"export --agent {buyer.handle} --env test --out {file}"
            taken = await asyncio.to_thread(start, data, 0, ask, EMPORION_BASE_URL=url, **given)
            own = (await http.get("/v1/agents/me/export", headers=key_of(buyer))).json()
            writers = Writers(http, key_of(buyer))
            async with asyncio.TaskGroup() as group:
                for name in writers.acknowledged:
                    group.create_task(writers.write(name))
                await writers.each_wrote(1)
                before = dict(writers.acknowledged)
                whole = await asyncio.to_thread(start, data, 0, f"export --out {out}", **given)
                after = dict(writers.acknowledged)
                writers.stopped = True
    assert (taken.returncode, whole.returncode) == (0, 0), taken.stderr + whole.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    there = json.loads(file.read_text())
    assert unsigned(there) == unsigned(own)
    assert start(data, 0, f"verify {file} --did {there['platform']['did']}").returncode == 0
    assert sum(after.values()) > sum(before.values()), "they wrote on meanwhile"
    kept = {one["key"]: json.loads(one["value"]) for one in lines(out / "memories.jsonl")}
    assert [name for name, number in before.items() if kept[name] < number] == []
    events = [one["id"] for one in lines(out / "events.jsonl")]
    assert events == sorted(events)
    refused(start(data, 0, f"{ask}2", **given, EMPORION_SERVICE_NAME="other"), "EMPORION_SERVICE_NAME", "'service'")
    refused(start(data, 0, f"export --out {out}", **given), "is not empty")
    refused(start(data, 0, f"{ask} --env test", **given), "is there already")


def unsigned(document: Any) -> Any:
    """Return the document without signatures, because they cover the time of signing."""
    bare: Any = timeless(document)
    bare["attestation"] = None
    for one in bare["jobs"]["data"]:
        one["receipt"] = None
    return bare


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_asked_wrongly_is_said(tmp_path: Path) -> None:
    refused(start(tmp_path, 0, f"export --out {tmp_path / 'out'}"), "market.db is not there")
    refused(start(tmp_path, 0, f"export --agent ada --env mars --out {tmp_path / 'out'}"), "live or test")
    assert not [*tmp_path.iterdir()], "it makes nothing"
