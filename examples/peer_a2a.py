"""Hire over A2A with the official SDK: send the order, follow the task, and print what is to be paid."""

import asyncio
import os
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict

URL = os.environ.get("EMPORION_URL", "http://127.0.0.1:8000")
HELP = 'Start examples/seller.py and set LISTING_ID to what this prints: .venv/bin/emporion-client find "count words"'
LISTING = os.environ.get("LISTING_ID") or sys.exit(HELP)


async def main() -> None:
    async with httpx.AsyncClient(timeout=70) as http:
        made = await http.post(f"{URL}/v1/agents", json={"name": "A2A peer"})
        http.headers["X-API-Key"] = made.raise_for_status().json()["api_keys"]["test"]
        card = await A2ACardResolver(http, URL).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=True)).create(card)
        order = {"data": {"listing_id": LISTING, "input": {"text": "one two three"}}}
        message = {"role": "ROLE_USER", "messageId": os.urandom(16).hex(), "parts": [order]}
        async for event in client.send_message(ParseDict({"message": message}, pb.SendMessageRequest())):
            if event.HasField("message"):  # no task was made
                sys.exit(event.message.parts[0].text)
            status = event.task.status if event.HasField("task") else event.status_update.status
            print(pb.TaskState.Name(status.state))
            if status.state == pb.TaskState.TASK_STATE_INPUT_REQUIRED:
                (terms,) = MessageToDict(status.message.metadata)["x402.payment.required"]["accepts"]
                print(f"send {terms['amount']} of {terms['asset']} to {terms['payTo']}")
                break


try:
    asyncio.run(main())
except httpx.HTTPError as error:
    sys.exit(f"No market answers at {URL} ({type(error).__name__}): start `make run`, or set EMPORION_URL")
