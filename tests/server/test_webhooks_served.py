"""Webhooks of the running service: its own worker posts events, over the real network and with the real clock."""

import asyncio
from pathlib import Path
from typing import Any

import orjson

from server.app import Service
from server.settings import read_settings
from tests.support.http_receiver import Receiver, hang, verified
from tools.catalogue import CATALOGUE
from tools.engine.context import CallRequest, Surface


async def test_a_running_service_posts_what_happens_until_it_stops(tmp_path: Path) -> None:
    settings = read_settings(_env_file=None, data_dir=tmp_path, port=1, allow_private_networks=True)
    async with Receiver() as receiver, Service(settings).running() as served, asyncio.timeout(30):

        async def call(operation: str, key: str | None = None, **given: Any) -> Any:
            approach = CallRequest(Surface.REST, "203.0.113.9", "req_test", credential=key)
            return orjson.loads((await served.market.call(CATALOGUE[operation], given, approach)).body)

        key = (await call("register_agent", name="Ada"))["api_keys"]["test"]
        hook = await call("create_webhook", key, url=receiver.url)
        await call("test_webhook", key, webhook_id=hook["id"])
        await receiver.has(1)
        assert verified(receiver.got[0], hook["secret"])["data"]["webhook_id"] == hook["id"]
        receiver.always = hang
        await call("test_webhook", key, webhook_id=hook["id"])
        await receiver.has(2)
    assert len(receiver.got) == 2


async def test_a_service_that_was_not_told_so_calls_nobody_on_its_own_machine(tmp_path: Path) -> None:
    async with Service(read_settings(_env_file=None, data_dir=tmp_path, port=1)).running() as served:
        approach = CallRequest(Surface.REST, "203.0.113.9", "req_test")
        made = await served.market.call(CATALOGUE["register_agent"], {"name": "Ada"}, approach)
        key = orjson.loads(made.body)["api_keys"]["test"]
        asked = CallRequest(Surface.REST, "203.0.113.9", "req_test", credential=key)
        answer = await served.market.call(CATALOGUE["create_webhook"], {"url": "http://127.0.0.1:9/"}, asked)
    assert answer.status == 400
