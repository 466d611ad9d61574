"""Brief answers over MCP: short lists, no value that fills the context, and everything on request."""

from typing import Any

import httpx
import pytest
from mcp.client import Client

from protocol.brief import MAX_BYTES, MAX_BYTES_LISTED
from protocol.reserved_arguments import MAX_LISTED
from tests.protocol.mcp.test_resources import read, reader
from tests.support.protocols import served
from tests.support.trade import ENGLISH, OFFER, Trade

WIDE = {"type": "object", "properties": {"text": {"type": "string"}, "english": {"type": "string"}}}
AROUND = len('{"english":""}')


def meta(result: Any, name: str) -> Any:
    return (result.meta or {}).get(f"service/{name}")


def links(result: Any) -> list[tuple[str, int | None]]:
    return [(str(part.uri), part.size) for part in result.content if part.type == "resource_link"]


async def told(client: Client, tool: str, **given: Any) -> Any:
    result = await client.call_tool(tool, given)
    assert result.is_error is False, result.content
    return result


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_output_over_16_kb_is_a_link_that_reads_it(trade: Trade, mode: Any) -> None:
    seller, buyer = await trade.parties()
    output = {"english": "x" * (MAX_BYTES - AROUND + 1)}
    job = await trade.order(buyer, await trade.listing(seller, price=0))
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await trade.deliver(seller, job, output)
    whole = await trade.seen(buyer, job)
    async with served(trade.market) as url, reader(url, mode, buyer.keys["test"]) as client:
        brief = await told(client, "get_job", job_id=job["id"])
        full = await told(client, "get_job", job_id=job["id"], detail="full")
        uri = f"job://{job['id']}/output"
        assert await read(client, uri) == output
        delivery = await told(client, "get_delivery", job_id=job["id"], revision=0)
        assert links(delivery) == [(f"job://{job['id']}/deliveries/0", MAX_BYTES + 1)]
        assert await read(client, links(delivery)[0][0]) == output
    assert full.structured_content == whole
    assert (links(full), meta(full, "left_out")) == ([], None)
    assert brief.structured_content == {name: value for name, value in whole.items() if name != "output"} | {
        "detail": "brief"
    }
    assert (links(brief), meta(brief, "left_out")) == ([(uri, MAX_BYTES + 1)], ["/output"])
    assert "x" * 100 not in brief.content[0].text


async def test_a_link_names_the_call_that_tells_the_same_and_a_key_in_an_argument_opens_it(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    output = {"english": "x" * MAX_BYTES}
    job = await trade.order(buyer, await trade.listing(seller, price=0))
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await trade.deliver(seller, job, output)
    given = {"job_id": job["id"], "api_key": buyer.keys["test"]}
    async with served(trade.market) as url, reader(url, "auto", None) as client:
        link = (await told(client, "get_job", **given)).content[-1]
        with pytest.raises(Exception, match="get_job with detail full tells the same"):
            await client.read_resource(link.uri)
        full = await told(client, "get_job", **given, detail="full")
    assert link.description == "What a job delivered, once it is yours to read. Or call get_job with detail full."
    assert full.structured_content["output"] == output


async def test_an_output_of_16_kb_is_shown(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller, price=0))
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await trade.deliver(seller, job, {"english": "x" * (MAX_BYTES - AROUND)})
    async with served(trade.market) as url, reader(url, "auto", buyer.keys["test"]) as client:
        brief = await told(client, "get_job", job_id=job["id"])
    assert brief.structured_content == await trade.seen(buyer, job)
    assert (links(brief), meta(brief, "left_out")) == ([], None)


async def test_the_seller_reads_a_large_input_behind_its_link_and_others_do_not(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, input_schema=WIDE)
    given = {"text": "y" * MAX_BYTES}
    job = await trade.order(buyer, listing, input=given)
    other = await trade.agent("Nosy")
    async with served(trade.market) as url:
        async with reader(url, "auto", seller.keys["test"]) as client:
            accepted = await told(client, "accept_job", job_id=job["id"])
            ((uri, _),) = links(accepted)
            assert (uri, await read(client, uri)) == (f"job://{job['id']}/input", given)
        async with reader(url, "auto", other.keys["test"]) as client:
            with pytest.raises(Exception, match="Resource not found"):
                await client.read_resource(uri)


async def test_a_list_is_of_ten_unless_it_is_said_how_many_or_all_is_asked_for(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    for at in range(MAX_LISTED + 5):
        await trade.listing(seller, title=f"Translate to English, way {at}")
    asked: list[dict[str, Any]] = [{}, {"limit": 12}, {"detail": "full"}, {"detail": "brief"}]
    async with served(trade.market) as url, reader(url, "auto", buyer.keys["test"]) as client:
        found = [(await told(client, "search_listings", q="translate", **one)).structured_content for one in asked]
        rest = await told(client, "search_listings", q="translate", cursor=found[0]["next_cursor"])
    assert [len(one["data"]) for one in found] == [MAX_LISTED, 12, MAX_LISTED + 5, MAX_LISTED]
    assert [one["has_more"] for one in found] == [True, True, False, True]
    ids = [one["id"] for one in (*found[0]["data"], *rest.structured_content["data"])]
    assert ids == [one["id"] for one in found[2]["data"]]


async def test_in_a_list_what_is_over_1_kb_is_left_out_and_small_schemas_stay(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    large = ENGLISH | {"description": "z" * MAX_BYTES_LISTED}
    await trade.listing(seller, output_schema=large, title="Translate to English at length")
    await trade.listing(seller)
    async with served(trade.market) as url, reader(url, "auto", buyer.keys["test"]) as client:
        listed = await told(client, "search_listings", q="translate")
        found = {one["title"]: one for one in listed.structured_content["data"]}
        lacking = found["Translate to English at length"]
        alone = await told(client, "get_listing", listing_id=lacking["id"])
    assert "output_schema" not in lacking
    assert lacking["input_schema"] == OFFER["input_schema"]
    assert found[OFFER["title"]]["output_schema"] == ENGLISH
    place = listed.structured_content["data"].index(lacking)
    assert (listed.structured_content["detail"], meta(listed, "left_out")) == (
        "brief",
        [f"/data/{place}/output_schema"],
    )
    assert (alone.structured_content["output_schema"], links(alone)) == (large, [])


async def test_of_the_tools_found_the_best_three_come_with_their_schemas(trade: Trade) -> None:
    async with served(trade.market) as url, reader(url, "auto", None) as client:
        brief = await told(client, "find_tools", query="job")
        full = await told(client, "find_tools", query="job", detail="full", limit=MAX_LISTED)
    shown, whole = (one.structured_content["data"] for one in (brief, full))
    assert len(shown) == len(whole) == MAX_LISTED
    assert shown[:3] == whole[:3]
    cut = ("description", "input_schema")
    assert shown[3:] == [{name: one[name] for name in one if name not in cut} for one in whole[3:]]
    assert meta(brief, "left_out") == [f"/data/{n}/{name}" for n in range(3, MAX_LISTED) for name in cut]


async def test_another_detail_is_refused_and_call_tool_takes_it_beside_or_inside(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.order(buyer, await trade.listing(seller))
    whole = await trade.market.call("list_jobs", by=buyer)
    async with served(trade.market) as url, reader(url, "auto", buyer.keys["test"]) as client:
        for wrong in ("everything", "", 1, ["full"]):
            refused = await client.call_tool("list_jobs", {"detail": wrong})
            assert refused.is_error
            assert meta(refused, "error")["param"] == "detail"
        beside = await told(client, "call_tool", name="list_jobs", detail="full")
        inside = await told(client, "call_tool", name="list_jobs", arguments={"detail": "full"})
        brief = await told(client, "call_tool", name="list_jobs")
        both = await client.call_tool(
            "call_tool", {"name": "list_jobs", "detail": "full", "arguments": {"detail": "brief"}}
        )
    assert beside.structured_content == inside.structured_content == whole
    assert brief.structured_content["detail"] == "brief"
    assert meta(both, "error")["param"] == "detail"


async def test_over_a2a_a_record_is_whole_unless_the_message_asks_for_it_in_brief(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.order(buyer, await trade.listing(seller))
    whole = await trade.market.call("list_jobs", by=buyer)
    async with served(trade.market) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        said = []
        for metadata in ({}, {"detail": "full"}, {"detail": "brief"}):
            part = {"data": {"tool": "list_jobs", "arguments": {}}}
            message = {"messageId": f"m{len(said)}", "role": "ROLE_USER", "parts": [part], "metadata": metadata}
            answer = await http.post(
                "/a2a/message:send",
                json={"message": message},
                headers={"A2A-Version": "1.0", "X-API-Key": buyer.keys["test"]},
            )
            said.append(answer.json()["message"]["parts"][0]["data"])
    assert said[0] == said[1] == whole
    assert said[2]["detail"] == "brief"
    assert said[2]["data"][0].keys() < whole["data"][0].keys()
