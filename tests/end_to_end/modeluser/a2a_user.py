"""A scripted model as an A2A peer with the published client; it knows the agent card and the market's answers.

It may use names that the card or the answers quote, and words that can only be names (with an underscore).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import orjson
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict

from tests.end_to_end.modeluser.user import Stranger, leaves

NAME = re.compile(r'"(\w+)"|\b([a-z]+_[a-z_]+)\b')


@dataclass
class PeerUser(Stranger):
    """A model that calls each operation with one A2A message."""

    card: Any = field(default_factory=dict)

    @property
    def examples(self) -> list[Any]:
        return [orjson.loads(one) for skill in self.card["skills"] for one in skill["examples"]]

    async def call(self, tool: str, given: Any) -> Any:
        """Send a message with one data part, as the card describes; return the answer's record."""
        (answer,) = await self.say(tool, {"tool": tool, "arguments": given})
        (record,) = [part["data"] for part in answer["message"]["parts"] if "data" in part]
        assert "error" not in record, record
        if tool == "register_agent":
            self.key = record["api_keys"][self.words["env"]]
        return record

    async def follow(self, record: Any, action: str) -> Any:
        return await self.call(*self.next_step(record, action))

    async def say(self, what: str, data: Any, **message: Any) -> list[Any]:
        """Send one message with the key in its metadata; return all events of the answer as JSON."""
        metadata = {"api_key": self.key} if self.key else {}
        self._account_for(what, [data, metadata, *filter(None, [message.get("taskId")])], *self._told())
        self.called.append(what)
        sent = {
            "messageId": uuid4().hex,
            "role": "ROLE_USER",
            "parts": [{"data": data}],
            "metadata": metadata,
            **message,
        }
        asked = ParseDict({"message": sent}, pb.SendMessageRequest())
        events = [MessageToDict(one) async for one in self.client.send_message(asked)]
        self.read += events
        return events

    def sends(self, task: Any) -> str:
        """Pay the amount that a task's status requires; return the transaction hash."""
        (terms,) = task["status"]["message"]["metadata"]["x402.payment.required"]["accepts"]
        return self._sent(terms["payTo"], int(terms["amount"]))

    def _told(self) -> Iterator[Any]:
        yield self.examples
        yield [
            next(filter(None, found)) for text in leaves([self.card, self.read]) for found in NAME.findall(str(text))
        ]


async def arrived(url: str, http: httpx.AsyncClient, binding: str, version: str, *, stream: bool) -> tuple[Client, Any]:
    """Read the card at this URL; return a client made from it, and the card."""
    card = await A2ACardResolver(http, url).get_agent_card()
    told = MessageToDict(card)
    if version == "0.3":  # the card names only 1.0; clients of the other version have to ask for it
        place = card.supported_interfaces[0].url
        del card.supported_interfaces[:]
        card.supported_interfaces.add(url=place, protocol_binding=binding, protocol_version=version)
    config = ClientConfig(httpx_client=http, streaming=stream, supported_protocol_bindings=[binding])
    return ClientFactory(config).create(card), told
