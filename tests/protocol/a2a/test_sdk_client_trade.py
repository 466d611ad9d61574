"""The a2a-sdk's own client, unchanged, trades over real HTTP: it orders, follows, pays and reads the artifact."""

import asyncio
from typing import Any

import pytest
from a2a.client import Client
from a2a.compat.v0_3.conversions import to_core_task
from a2a.compat.v0_3.types import Task as OldTask
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict, ParseDict

from protocol.a2a.payment import PAYLOAD, REQUIRED, STATUS
from tests.protocol.a2a.test_sdk_client import message, readers, served
from tests.protocol.a2a.test_send_message import INPUT
from tests.support.a2a_tasks import until_waiting
from tests.support.http_receiver import Receiver
from tests.support.push_notifications import pushing
from tests.support.trade import Trade


async def heard(client: Client, asked: pb.SendMessageRequest) -> list[pb.StreamResponse]:
    return [event async for event in client.send_message(asked)]


def terms_of(status: pb.TaskStatus) -> Any:
    (terms,) = MessageToDict(status.message.metadata)[REQUIRED]["accepts"]
    return terms


@readers
async def test_the_sdk_s_client_hires_follows_pays_and_reads_the_artifact(
    trade: Trade, binding: str, version: str
) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with served(trade.market.market) as place, asyncio.timeout(30):
        place.http.headers["x-api-key"] = buyer.keys["test"]
        client = place.client(binding, version, stream=True)
        asked = message({"listing_id": listing["id"], "input": INPUT}, messageId="m-order")
        stream = asyncio.create_task(heard(client, asked))
        await until_waiting(trade)
        (job,) = (await trade.market.call("list_jobs", by=seller))["data"]
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        await until_waiting(trade)
        await trade.deliver(seller, job)
        first, *_, last = await stream
        terms = terms_of(last.status_update.status)
        sent = trade.evm.transfer(buyer.wallet, terms["payTo"], int(terms["amount"]))
        proof = {STATUS: "payment-submitted", PAYLOAD: {"x402Version": 2, "payload": {"transaction": sent}}}
        paying = message("Paid.", messageId="m-pay", taskId=job["id"], metadata=proof)
        (paid,) = await heard(place.client(binding, version), paying)
        taking = message({"action": "accept"}, messageId="m-accept", taskId=job["id"])
        (taken,) = await heard(place.client(binding, version), taking)
        found = await client.get_task(pb.GetTaskRequest(id=job["id"]))
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(pb.CancelTaskRequest(id=job["id"]))
        place.http.headers["x-api-key"] = (await trade.agent("Eve")).keys["test"]
        with pytest.raises(TaskNotFoundError):
            await client.get_task(pb.GetTaskRequest(id=job["id"]))
    assert first.task.status.state == pb.TaskState.TASK_STATE_SUBMITTED
    assert [one.task.status.state for one in (paid, taken)] == [
        pb.TaskState.TASK_STATE_INPUT_REQUIRED,
        pb.TaskState.TASK_STATE_COMPLETED,
    ]
    assert found == taken.task
    (artifact,) = found.artifacts
    assert MessageToDict(artifact.parts[0].data) == {"english": "good day"}


@readers
async def test_the_sdk_s_client_subscribes_to_a_task_and_cancels_it(trade: Trade, binding: str, version: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    async with served(trade.market.market) as place, asyncio.timeout(30):
        place.http.headers["x-api-key"] = buyer.keys["test"]
        client = place.client(binding, version, stream=True)

        async def followed() -> list[pb.StreamResponse]:
            return [event async for event in client.subscribe(pb.SubscribeToTaskRequest(id=job["id"]))]

        stream = asyncio.create_task(followed())
        await until_waiting(trade)
        task = await client.cancel_task(pb.CancelTaskRequest(id=job["id"]))
        events = await stream
    assert task.status.state == events[-1].status_update.status.state == pb.TaskState.TASK_STATE_CANCELED
    assert events[0].task.id == job["id"]


@readers
async def test_the_sdk_s_client_has_its_task_posted_to_its_own_url(
    trade: Trade, receiver: Receiver, binding: str, version: str
) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with pushing(trade) as sender, served(trade.market.market) as place, asyncio.timeout(30):
        place.http.headers["x-api-key"] = buyer.keys["test"]
        client = place.client(binding, version)
        asked = message({"listing_id": listing["id"], "input": INPUT}, messageId="m-order")
        asked.configuration.return_immediately = True
        asked.configuration.task_push_notification_config.url = receiver.url
        asked.configuration.task_push_notification_config.token = "of-mine"
        (hired,) = await heard(client, asked)
        job = hired.task.id
        other = pb.TaskPushNotificationConfig(task_id=job, id="two", url=f"{receiver.url}/two")
        made = await client.create_task_push_notification_config(other)
        read = await client.get_task_push_notification_config(
            pb.GetTaskPushNotificationConfigRequest(task_id=job, id="two")
        )
        found = await client.list_task_push_notification_configs(pb.ListTaskPushNotificationConfigsRequest(task_id=job))
        await client.delete_task_push_notification_config(
            pb.DeleteTaskPushNotificationConfigRequest(task_id=job, id="two")
        )
        await trade.market.call("accept_job", by=seller, job_id=job)
        assert await sender.step() == 1
        (posted,) = receiver.got
        task = await client.get_task(pb.GetTaskRequest(id=job))
    assert made == read == other
    assert {one.url for one in found.configs} == {receiver.url, f"{receiver.url}/two"}
    assert (posted.path, posted.headers["x-a2a-notification-token"]) == ("/hook", "of-mine")
    told = (
        to_core_task(OldTask.model_validate(posted.body))
        if version == "0.3"
        else ParseDict(posted.body, pb.StreamResponse()).task
    )
    facts = told.metadata["service"]
    assert facts.fields.pop("agentId").string_value == buyer.id
    assert told == task
