"""A scripted model trades over A2A with the published client, a base URL and a wallet; messages are counted."""

import asyncio
from typing import Any

import httpx
import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict

from tests.end_to_end.modeluser.a2a_user import PeerUser, arrived
from tests.end_to_end.modeluser.test_model_user import WORDS, a_seller
from tests.protocol.a2a.test_sdk_client import forms, streams
from tests.support.protocols import served
from tests.support.trade import PRICE, Trade


def task_in(events: list[Any]) -> Any:
    """Return the task as it was at the end of an answer."""
    task = events[0]["task"]
    for event in events[1:]:
        task |= {"status": event["statusUpdate"]["status"]} if "statusUpdate" in event else {}
        task |= {"artifacts": [event["artifactUpdate"]["artifact"]]} if "artifactUpdate" in event else {}
    return task


@streams
@forms
async def test_a_stranger_reads_the_artifact_after_five_messages(
    trade: Trade, binding: str, version: str, stream: bool
) -> None:
    wallet = trade.evm.person(10 * PRICE)
    async with (
        a_seller(trade),
        served(trade.market, named=True) as url,
        httpx.AsyncClient(timeout=30, trust_env=False) as http,
        asyncio.timeout(60),
    ):
        client, card = await arrived(url, http, binding, version, stream=stream)
        user = PeerUser(client, wallet, trade.evm.transfer, WORDS, card=card)
        with pytest.raises(AssertionError, match="where does it have"):
            await user.call("search_listings", {"sort": "cheapest"})
        made = await user.call("register_agent", {"name": WORDS["name"]})
        await user.follow(made, "set_wallet_address")
        found = await user.call("search_listings", {"q": WORDS["q"]})
        order = found["data"][0]["how_to_order"]["body_example"] | {"input": WORDS["input"]}
        task = task_in(await user.say("hire", order))
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        paid = task_in(await user.say("pay", {"transaction": user.sends(task)}, taskId=task["id"]))
        (artifact,) = paid["artifacts"]
        assert artifact["parts"][0]["data"] == {"english": "good day"}
        assert user.called == ["register_agent", "set_wallet_address", "search_listings", "hire", "pay"]
        taken = task_in(await user.say("accept", {"action": "accept"}, taskId=task["id"]))
        assert taken["status"]["state"] == "TASK_STATE_COMPLETED"
        http.headers["x-api-key"] = user.key or ""
        kept = MessageToDict(await client.get_task(pb.GetTaskRequest(id=task["id"])))
        assert kept["artifacts"] == paid["artifacts"]
