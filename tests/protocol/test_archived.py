"""Archived jobs over every protocol: their records say when they were archived, their texts answer 410 `archived`."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.shared.exceptions import MCPError

from tests.protocol.mcp.test_resources import reader
from tests.support.archives import Old, aged, archive
from tests.support.protocols import WIRES, served, wire
from tests.support.trade import Trade


@pytest.fixture
async def old(trade: Trade, tmp_path: Path) -> Old:
    """Jobs whose texts were moved into files."""
    made = await aged(trade)
    await archive(made.market, tmp_path)
    return made


@pytest.mark.parametrize("name", WIRES)
async def test_every_call_that_needs_the_texts_is_refused_alike(old: Old, name: str) -> None:
    job, thread = {"job_id": old.job["id"]}, {"thread_id": old.job["thread_id"]}
    message = {"up_to_message_id": "msg_01M899PFS80000000000000000"}
    refused: dict[str, Any] = {
        "list_job_events": job,
        "get_delivery": job | {"revision": 1},
        "list_messages": thread,
        "post_message": thread | {"body": "Do you remember?"},
        "mark_thread_read": thread | message,
    }
    async with served(old.market) as url, wire(name, url) as call:
        for operation, given in refused.items():
            error = (await call(operation, given, old.buyer.keys["test"]))["error"]
            assert (error["code"], error["details"]["job_id"]) == ("archived", old.job["id"]), operation
        shown = await call("get_job", job, old.buyer.keys["test"])
        listed = await call("list_jobs", {}, old.buyer.keys["test"])
    for record in (shown, *(one for one in listed["data"] if one["id"] == old.job["id"])):
        assert (record["input"], record["output"], record["output_hash"]) == (None, None, old.job["output_hash"])
        assert record["archived_at"] == error["details"]["archived_at"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_texts_are_no_resources_any_more(old: Old, mode: Any) -> None:
    async with served(old.market) as url, reader(url, mode, old.buyer.keys["test"]) as client:
        for part in ("input", "output", "deliveries/0"):
            with pytest.raises(MCPError, match=r"this job was archived.*with detail full") as refused:
                await client.read_resource(f"job://{old.job['id']}/{part}")
            error = refused.value.error.data["error"]
            assert (error["code"], error["details"]["job_id"]) == ("archived", old.job["id"])
        for uri in (f"job://{old.job['id']}", f"receipt://{old.job['id']}"):
            assert (await client.read_resource(uri)).contents


async def test_a_task_says_when_it_was_archived(old: Old) -> None:
    async with served(old.market) as url, httpx.AsyncClient(base_url=url) as http:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": old.job["id"], "historyLength": 50}}
        headers = {"X-API-Key": old.buyer.keys["test"], "A2A-Version": "1.0"}
        task = (await http.post("/a2a", json=asked, headers=headers)).json()["result"]
    job = await old.trade.seen(old.buyer, old.job)
    assert (task.get("artifacts", []), task["metadata"]["service"]["archivedAt"]) == ([], job["archived_at"])
