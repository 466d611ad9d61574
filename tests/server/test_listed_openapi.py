"""openapi.json lists what one x402 payment buys, and changes at once when a listing does."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import jsonschema
import orjson
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from rest import openapi_listings
from rest.openapi_listings import BUY, MAX_GUIDANCE, with_listings
from storage.vocabulary import Env
from tests.support.protocols import served
from tests.support.trade import Trade
from tests.support.x402_client import Shop, opened_shop
from tools.purchases.catalogue_entries import Entry

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"text": {"$ref": "#/$defs/Text"}, "$ref": {"$ref": "#/$defs/Text"}, "$id": {"type": "string"}},
    "$defs": {"Text": {"type": "string", "maxLength": 900}},
}
OUTSIDE: Any = {
    "$ref": "https://evil.example/schema",
    "$id": "https://evil.example/",
    "$schema": "https://evil.example/meta",
}
HOSTILE = {  # what readers may follow in a value or in a keyword that JSON Schema does not have
    "default": OUTSIDE,
    "examples": [OUTSIDE],
    "example": OUTSIDE,
    "const": {"deep": [OUTSIDE]},
    "enum": [1, [OUTSIDE]],
    "discriminator": {"propertyName": "kind", "mapping": {"a": "https://evil.example/schema"}},
    "externalDocs": {"url": "https://evil.example/docs"},
    "x-schema": OUTSIDE,
    "$comment": "#/nowhere",
    "additionalItems": OUTSIDE,
}


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(
        trade,
        input_schema=SCHEMA,
        output_schema={
            "$defs": {"A": {"type": "string"}},
            "type": "object",
            "properties": {"english": {"$ref": "#/$defs/A"}},
        },
    )


def members(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every member of every object in a JSON value, with its name."""
    if isinstance(value, dict):
        yield from value.items()
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from members(one)


@asynccontextmanager
async def reader(shop: Shop) -> AsyncIterator[httpx.AsyncClient]:
    async with served(shop.trade.market) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        yield http


def at(document: Any, reference: str) -> Any:
    """Return what a local reference leads to."""
    for step in reference.removeprefix("#/").split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        document = document[int(name) if isinstance(document, list) else name]
    return document


async def test_each_listing_has_a_paid_path_and_the_document_stays_valid(shop: Shop) -> None:
    path = f"/v1/x402/{shop.listing['id']}"
    async with reader(shop) as http:
        answer = await http.get("/openapi.json")
        document = answer.json()
        assert answer.headers["cache-control"] == "public, max-age=60"
        assert (await http.get("/openapi.json", params={"listings": "false"})).json()["paths"].keys() == document[
            "paths"
        ].keys() - {path}
        methods = ("GET", "HEAD", "PUT", "PATCH", "DELETE", "TRACE")
        assert {(await http.request(method, path)).status_code for method in methods} == {405}
        live = (await http.post(path)).json()["required"]["accepts"][0]
    OPENAPI_31_VALIDATOR.validate(document)
    assert len(document["info"]["x-guidance"]) <= MAX_GUIDANCE
    assert document["info"]["contact"]["url"].endswith("/docs")
    assert document["x-agentcash-guidance"]["llmsTxtUrl"].endswith("/llms.txt")
    ((method, sold),) = document["paths"][path].items()
    assert (method, sold["security"]) == ("post", [])
    assert sold["x-payment-info"] == {
        "price": {"mode": "fixed", "currency": "USD", "amount": "0.250000"},
        "protocols": [{"x402": {}}],
    }
    assert live["amount"] == "250000"
    given = sold["requestBody"]["content"]["application/json"]["schema"]
    assert (
        at(document, given["properties"]["text"]["$ref"])
        == at(document, given["properties"]["$ref"]["$ref"])
        == SCHEMA["$defs"]["Text"]
    )
    assert "$schema" not in given
    work = sold["responses"]["200"]["content"]["application/json"]["schema"]["allOf"][1]["properties"]["output"]
    assert at(document, work["properties"]["english"]["$ref"]) == {"type": "string"}
    assert at(document, sold["responses"]["402"].get("$ref", "#/paths"))


async def test_what_is_sold_for_test_money_is_marked_and_the_index_says_how_to_see_it(shop: Shop) -> None:
    path = f"/v1/x402/{shop.listing['id']}"
    async with reader(shop) as http:
        document = (await http.get("/openapi.json")).json()
        shown, hidden = [(await http.get(f"/v1/x402{query}")).json() for query in ("?env=test", "")]
        assert (await http.get("/.well-known/x402")).json()["env"] == "live"
    sold = document["paths"][path]["post"]
    assert sold["summary"] == f"{shop.listing['title']} (test money)"
    assert "one x402 payment of test money" in sold["description"]
    (tag,) = [one for one in document["tags"] if one["name"] == "x402"]
    assert tag["description"].endswith("one x402 payment of test money: GET /v1/x402?env=test.")
    assert shown["resources"] == [f"{document['servers'][0]['url']}{path}"]
    assert shown["what_this_is"].endswith("These are sold for test money (test).")
    assert (hidden["env"], hidden["resources"]) == ("live", [])
    assert hidden["what_this_is"].endswith("With env=test you see what is sold for test money.")


def test_what_is_sold_for_real_money_is_not_marked() -> None:
    document = {"paths": {BUY: {"post": {"responses": {"402": {}}}}}, "tags": []}
    sold = with_listings(document, [Entry("lst_1", "Translate", 1, 1, {}, {})], Env.LIVE)
    post = sold["paths"]["/v1/x402/lst_1"]["post"]
    assert (post["summary"], "of real money" in post["description"]) == ("Translate", True)
    assert sold["tags"][0]["description"].endswith("one x402 payment of real money: GET /v1/x402?env=live.")


async def test_no_reference_in_a_seller_s_schema_leads_out_of_the_document(shop: Shop) -> None:
    parts = {"type": "string", "enum": ["a", "b"], "default": "a"}, {"const": {"plain": 1}}
    schema = {
        **{name: value for name, value in HOSTILE.items() if name not in ("const", "enum")},
        "type": "object",
        "properties": {"first": parts[0], "second": parts[1], **{name: {name: HOSTILE[name]} for name in HOSTILE}},
        "patternProperties": {"^x": {"allOf": [HOSTILE]}},
        "$defs": {"Part": HOSTILE, "$ref": {"type": "object"}},
        "dependentRequired": {"$ref": ["first"]},
    }
    listing = await shop.trade.listing(shop.seller, input_schema=schema, output_schema=schema)
    async with reader(shop) as http:
        document = (await http.get("/openapi.json")).json()
    OPENAPI_31_VALIDATOR.validate(document)
    sold = document["paths"][f"/v1/x402/{listing['id']}"]["post"]
    given = sold["requestBody"]["content"]["application/json"]["schema"]
    assert given["properties"]["first"] == {"type": "string", "enum": ["a", "b"]}
    assert given["properties"]["second"] == parts[1]
    assert given["properties"]["const"] == given["properties"]["enum"] == given["$defs"]["Part"] == {}
    assert given["dependentRequired"] == {"$ref": ["first"]}
    for name, value in members(document):
        if name == "$ref" and isinstance(value, str):
            assert value.startswith("#/")
            assert at(document, value) is not None
    assert "evil.example" not in orjson.dumps(document).decode()


async def test_a_listing_leaves_and_returns_at_once_and_the_tag_follows(shop: Shop) -> None:
    path, agent = f"/v1/x402/{shop.listing['id']}", shop.trade.market
    async with reader(shop) as http:
        first = await http.get("/openapi.json")
        tag = {"if-none-match": first.headers["etag"]}
        assert (await http.get("/openapi.json", headers=tag)).status_code == 304
        await agent.call("update_listing", by=shop.seller, listing_id=shop.listing["id"], status="paused")
        paused = await http.get("/openapi.json", headers=tag)
        assert (paused.status_code, path in paused.json()["paths"]) == (200, False)
        await agent.call(
            "update_listing", by=shop.seller, listing_id=shop.listing["id"], status="active", title="Anew, and better"
        )
        again = (await http.get("/openapi.json", headers=tag)).json()["paths"][path]["post"]
        assert again["summary"] == "Anew, and better (test money)"
        await agent.as_operator("set_first_party", agent_id=shop.seller.id, first_party=False)
        assert path not in (await http.get("/openapi.json")).json()["paths"]


async def test_a_listing_per_unit_has_a_range_and_no_other_seller_is_shown(shop: Shop, trade: Trade) -> None:
    sold = await trade.listing(shop.seller, pricing_model="per_unit", unit_name="word", price=100)
    theirs = await trade.listing(await trade.agent("Third"))
    async with reader(shop) as http:
        paths = (await http.get("/openapi.json")).json()["paths"]
    price = paths[f"/v1/x402/{sold['id']}"]["post"]["x-payment-info"]["price"]
    assert price == {"mode": "dynamic", "currency": "USD", "min": "0.000100", "max": "100.000000"}
    assert f"/v1/x402/{theirs['id']}" not in paths


async def test_the_document_is_made_once_and_its_schemas_are_bounded(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    whole = openapi_listings.with_listings
    monkeypatch.setattr("server.listed_openapi.with_listings", lambda *given: made.append(given) or whole(*given))
    monkeypatch.setattr(openapi_listings, "MAX_BYTES", 10)
    async with reader(shop) as http:
        for _ in range(5):
            document = (await http.get("/openapi.json")).json()
    assert len(made) == 1
    sold = document["paths"][f"/v1/x402/{shop.listing['id']}"]["post"]
    assert sold["requestBody"]["content"]["application/json"]["schema"] == {"type": "object"}
    jsonschema.Draft202012Validator.check_schema(sold["responses"]["200"]["content"]["application/json"]["schema"])
