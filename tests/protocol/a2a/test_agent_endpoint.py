"""An agent's own A2A endpoint: its card shows its listings as skills, and messages to it order from this agent only."""

from typing import Any

import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.proto_utils import parse_lenient

from tests.protocol.a2a.test_agent_card import verifier
from tests.protocol.a2a.test_send_message import INPUT, jobs_of, said_in
from tests.support.a2a_requests import FORMS, HTTP_1, RPC_1, RPC_FORMS
from tests.support.a2a_tasks import desk_of, states_in, task_in, until_waiting
from tests.support.market import BASE_URL
from tests.support.trade import Trade


@pytest.mark.parametrize("form", FORMS)
async def test_an_order_at_an_agent_s_endpoint_is_a_task_there(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer, at=seller.handle) as desk:
        task = task_in(await desk.say(form, {"listing_id": listing["id"], "input": INPUT}))
        assert task_in(await desk.task(form, task["id"])) == task
        assert task_in(await desk.task(form, task["id"], "cancel"))["status"]["state"] == "TASK_STATE_CANCELED"
    (job,) = await jobs_of(trade, buyer)
    assert (job["id"], job["seller"]["id"]) == (task["id"], seller.id)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", [{"input": INPUT}, "guten Tag"], ids=["data", "text"])
async def test_where_one_thing_is_sold_the_order_need_not_name_it(trade: Trade, form: str, part: Any) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer, at=seller.id) as desk:
        task_in(await desk.say(form, part))
    (job,) = await jobs_of(trade, buyer)
    assert (job["listing_id"], job["input"]) == (listing["id"], INPUT)


@pytest.mark.parametrize("form", FORMS)
async def test_where_more_is_sold_a_message_shows_what(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    sold = {(await trade.listing(seller, title=title))["id"] for title in ("To English", "To German")}
    async with desk_of(trade, buyer, at=seller.handle) as desk:
        heard = await desk.say(form, "guten Tag")
    assert {one["id"] for one in heard.data["data"]} == sold
    assert '{"listing_id": "lst_…", "input": {…}}' in said_in(heard)
    assert await jobs_of(trade, buyer) == []


@pytest.mark.parametrize("form", FORMS)
async def test_nobody_else_is_hired_and_no_other_job_is_shown_there(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    other = await trade.agent("Otto")
    listing = await trade.listing(other, title="Elsewhere")
    theirs, mine = await trade.order(buyer, listing), await trade.job_at("open", seller, buyer)
    async with desk_of(trade, buyer, at=seller.handle) as desk:
        refused = await desk.say(form, {"listing_id": listing["id"], "input": INPUT})
        hidden = await desk.task(form, theirs["id"])
        said = await desk.say(form, "Hello", taskId=theirs["id"])
        if form in (RPC_1, HTTP_1):
            page = await desk.tasks(form)
            assert ([task["id"] for task in page["tasks"]], page["totalSize"]) == ([mine["id"]], 1)
    rpc = form in RPC_FORMS
    assert refused.error == (-32602 if rpc else 400, "this listing is another agent's: send the order to /a2a")
    assert hidden.error == said.error == (-32001 if rpc else 404, "Task not found")
    assert len(await jobs_of(trade, buyer)) == 2


@pytest.mark.parametrize("form", FORMS)
async def test_a_task_is_followed_at_an_agent_s_endpoint(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    async with desk_of(trade, buyer, at=seller.handle) as desk:
        stream = desk.following(form, job["id"])
        await until_waiting(trade)
        await trade.market.call("decline_job", by=seller, job_id=job["id"])
        assert states_in(await stream) == ["SUBMITTED", "REJECTED"]


async def test_the_card_of_an_endpoint_is_signed_and_names_its_address_and_listings(trade: Trade) -> None:
    seller, _ = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade) as desk:
        place = f"/a2a/agents/{seller.handle}/.well-known/agent-card.json"
        card = await desk.a2a.http.get(place, params={"env": "test"})
        live = await desk.a2a.http.get(place)
        strange = await desk.a2a.http.get(place, params={"env": "moon"})
    verifier(trade.market.market)(parse_lenient(card.json(), pb.AgentCard()))
    assert {one["url"] for one in card.json()["supportedInterfaces"]} == {f"{BASE_URL}/a2a/agents/{seller.handle}"}
    (skill,) = card.json()["skills"]
    assert (skill["id"], live.json()["skills"]) == (listing["id"], [])
    assert card.headers["cache-control"] == "public, max-age=300"
    assert strange.status_code == 400
    assert card.json()["capabilities"]["extendedAgentCard"] is False
    async with desk_of(trade, seller, at=seller.handle) as desk:
        extended = await desk.a2a.ask(RPC_1, "GetExtendedAgentCard", {}, desk.headers)
    assert extended.error[0] == -32007


@pytest.mark.parametrize("path", ["", "/.well-known/agent-card.json", "/message:send"])
async def test_there_is_no_endpoint_of_an_agent_that_is_not_there(trade: Trade, path: str) -> None:
    async with desk_of(trade) as desk:
        answer = await desk.a2a.http.get(f"/a2a/agents/nobody{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "route_not_found")
