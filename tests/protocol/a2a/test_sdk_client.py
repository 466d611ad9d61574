"""The a2a-sdk's own client over real HTTP: all four forms of the protocol against one surface, starting at the card."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import ExtendedAgentCardNotConfiguredError, InvalidParamsError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict, ParseDict

from protocol.a2a.agent_card import card_json
from protocol.a2a.server import A2aSurface
from server.pages import Page, Pages
from tests.protocol.a2a.test_agent_card import verifier
from tests.support.a2a_requests import offered
from tests.support.echo_operations import SAID, echoing
from tests.support.fixed_market import NOON, approach_of, edged, serve
from tools.engine.dispatch import Market
from tools.engine.registry import CATALOGUE
from tools.kernel.strict_json import MAX_INTEGER

CARD = "/.well-known/agent-card.json"
FORMS = [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3")]
forms = pytest.mark.parametrize(("binding", "version"), FORMS)
readers = pytest.mark.parametrize(("binding", "version"), FORMS[:3])  # the client reads no 0.3 errors over HTTP
streams = pytest.mark.parametrize("stream", [False, True], ids=["send", "stream"])


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


@dataclass(frozen=True)
class Place:
    """A served market, and its card as the client read and verified it."""

    url: str
    http: httpx.AsyncClient
    card: pb.AgentCard

    def client(self, binding: str, version: str, stream: bool = False) -> Client:
        card = pb.AgentCard()
        card.CopyFrom(self.card)
        if version == "0.3":  # the card lists only 1.0; a client of 0.3 must ask for 0.3
            del card.supported_interfaces[:]
            card.supported_interfaces.add(url=f"{self.url}/a2a", protocol_binding=binding, protocol_version=version)
        config = ClientConfig(httpx_client=self.http, streaming=stream, supported_protocol_bindings=[binding])
        return ClientFactory(config).create(card)


@asynccontextmanager
async def served(market: Market) -> AsyncIterator[Place]:
    def app_of(place: str) -> Any:
        market.config = replace(market.config, base_url=f"http://{place}")
        body = card_json(market.config, CATALOGUE.values(), market.world.signer)
        pages = Pages({CARD: Page(body, "application/json", NOON)}, {})
        surface = A2aSurface(market, approach_of)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await (pages(scope, send) if scope["path"] in pages else surface(scope, receive, send))

        return edged(app, market, frozenset({place}))

    async with serve(app_of) as url, httpx.AsyncClient(timeout=10) as http:
        card = await A2ACardResolver(http, url).get_agent_card(signature_verifier=verifier(market))
        yield Place(url, http, card)


def message(*parts: Any, **more: Any) -> pb.SendMessageRequest:
    written = [{"text": part} if isinstance(part, str) else {"data": part} for part in parts]
    found = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": written, **more}}
    return ParseDict(found, pb.SendMessageRequest())


async def said(client: Client, asked: pb.SendMessageRequest) -> Any:
    """Return the value of the data part of the only message in the answer."""
    (event,) = [event async for event in client.send_message(asked)]
    assert event.WhichOneof("payload") == "message"
    (part,) = [part for part in event.message.parts if part.HasField("data")]
    return MessageToDict(part.data)


@forms
@streams
async def test_the_sdk_s_client_calls_in_every_form(market: Market, binding: str, version: str, stream: bool) -> None:
    value = {"amount": 10000, "largest": MAX_INTEGER, "part": 4.5, "text": "a\u2028b\u0085c"}
    async with served(market) as place:
        client = place.client(binding, version, stream)
        made = await said(client, message({"tool": "register_agent", "arguments": {"name": "Ada"}}))
        metadata = {"api_key": made["api_keys"]["test"], "idempotency_key": "once"}
        asked = message({"tool": "say_json", "arguments": {"value": value, "times": 2}}, metadata=metadata)
        first, again = await said(client, asked), await said(client, asked)
    assert first == again == {"object": "echo", "value": value, "caller": made["agent"]["id"], "number": 1.0}
    assert [value] == SAID
    assert [type(SAID[0][name]) for name in ("amount", "largest", "part")] == [int, int, float]


@readers
@streams
async def test_the_sdk_s_client_reads_refusals_and_explanations(
    market: Market, binding: str, version: str, stream: bool
) -> None:
    async with served(market) as place:
        client = place.client(binding, version, stream)
        refused = await said(client, message({"tool": "get_me"}))
        explained = await said(client, message("What can you do?"))
        with pytest.raises(InvalidParamsError, match="Unknown tool: nothing_like_it"):
            await said(client, message({"tool": "nothing_like_it"}))
        with pytest.raises(TaskNotFoundError):
            await said(client, message({"tool": "get_me"}, taskId="t-1"))
    assert refused["error"]["code"] == "unauthenticated"
    assert [tool["tool"] for tool in explained["tools"]] == offered()


@readers
async def test_the_sdk_s_client_is_told_that_there_are_no_such_tasks(
    market: Market, binding: str, version: str
) -> None:
    async with served(market) as place:
        client = place.client(binding, version)
        with pytest.raises(TaskNotFoundError):
            await client.get_task(pb.GetTaskRequest(id="t-1"))
        with pytest.raises(TaskNotFoundError):
            await client.cancel_task(pb.CancelTaskRequest(id="t-1"))
        config = pb.TaskPushNotificationConfig(task_id="t-1", url="https://example.com/hook")
        with pytest.raises(TaskNotFoundError):
            await client.create_task_push_notification_config(config)
        if version == "1.0":
            assert (await client.list_tasks(pb.ListTasksRequest())).total_size == 0


@readers
async def test_the_sdk_s_client_reads_the_extended_card_with_a_key_alone(
    market: Market, binding: str, version: str
) -> None:
    async with served(market) as place:
        client = place.client(binding, version)
        made = await said(client, message({"tool": "register_agent", "arguments": {"name": "Ada"}}))
        with pytest.raises(ExtendedAgentCardNotConfiguredError):
            await client.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
        place.http.headers["x-api-key"] = made["api_keys"]["test"]
        check = verifier(market) if version == "1.0" else None
        card = await client.get_extended_agent_card(pb.GetExtendedAgentCardRequest(), signature_verifier=check)
    assert [skill.id for skill in card.skills] == offered()


async def test_many_clients_at_once_each_get_their_own_answer(market: Market) -> None:
    async with served(market) as place:
        clients = [place.client(*form, stream) for form in FORMS for stream in (False, True)]
        asked = [(client, number) for client in clients for number in range(5)]
        found = await asyncio.gather(
            *(said(client, message({"tool": "say_json", "arguments": {"value": n}})) for client, n in asked)
        )
    assert [answer["value"] for answer in found] == [number for _, number in asked]
    assert sorted(answer["number"] for answer in found) == list(range(1, len(asked) + 1))
