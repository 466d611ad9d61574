"""A deprecated operation is marked on every protocol and in every document, from one value in the registry."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest

from protocol.a2a.agent_card import card_json
from protocol.docs.texts import Texts
from rest.deprecation import notice_of
from rest.openapi import openapi
from tests.support.market import TestMarket, house
from tests.support.mcp_client import MODERN, connected
from tests.support.protocols import served
from tools.catalogue import CATALOGUE
from tools.discovery.market_records import Changelog
from tools.engine.arguments import NoArguments
from tools.engine.context import ReadContext
from tools.engine.deprecation import NOTICE, Deprecated
from tools.engine.errors import NotFound
from tools.engine.registry import Operation, internal_operation

SINCE, SUNSET = date(2027, 1, 5), date(2027, 7, 5)
SENTENCE = "Deprecated since 2027-01-05; it may be gone from 2027-07-05 on. Call get_changelog instead."


async def old_news(outside: ReadContext, _: NoArguments) -> Changelog:
    """What changed, told the old way.

    Call it when nothing else helps.
    """
    if outside.caller.agent_id is None:
        raise NotFound("no news for strangers")
    return Changelog(current_version=outside.config.version, entries=[])


def made(said: Deprecated) -> Operation:
    route = internal_operation(
        "GET /v1/old-news", auth="optional", errors=(NotFound,), toolset="market", deprecated=said
    )
    return route(old_news)


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> Operation:
    """A deprecated operation, in the catalogue during the test."""
    op = made(Deprecated(SINCE, SUNSET, "get_changelog"))
    monkeypatch.setitem(CATALOGUE, op.name, op)
    return op


@pytest.fixture
async def market(opening: Any, sqlite_url: str) -> TestMarket:
    return TestMarket(opening(sqlite_url))


@pytest.fixture
async def http(old: Operation, market: TestMarket) -> AsyncIterator[httpx.AsyncClient]:
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False) as client:
        yield client


def test_nothing_is_deprecated_without_its_successor_being_there() -> None:
    for op in CATALOGUE.values():
        if op.deprecated is not None and op.deprecated.successor is not None:
            assert CATALOGUE[op.deprecated.successor].deprecated is None, op.name


async def test_every_answer_over_rest_says_it(http: httpx.AsyncClient, market: TestMarket) -> None:
    agent = await market.register("Ada")
    key = {"X-API-Key": agent.keys["test"]}
    well = await http.get("/v1/old-news", headers=key)
    unchanged = await http.get("/v1/old-news", headers={**key, "If-None-Match": well.headers["etag"]})
    head, stranger = await http.head("/v1/old-news", headers=key), await http.get("/v1/old-news")
    wrong = await http.get("/v1/old-news", headers={"X-API-Key": "as_test_nonsense"})
    answers = (well, unchanged, head, stranger, wrong)
    assert [one.status_code for one in answers] == [200, 304, 200, 404, 401]
    for answer in answers:
        stated = answer.headers["deprecation"]
        assert stated.startswith("@"), "a date as structured fields write it (RFC 9745, 2.1)"
        assert datetime.fromtimestamp(int(stated[1:]), UTC).date() == SINCE
        assert parsedate_to_datetime(answer.headers["sunset"]) == datetime(2027, 7, 5, tzinfo=UTC)
        assert {kind: link["url"] for kind, link in answer.links.items()} == {
            "deprecation": "/v1/changelog", "successor-version": "/v1/changelog",
        }  # fmt: skip
    assert {"Deprecation", "Sunset", "Link"} <= set(well.headers["access-control-expose-headers"].split(", "))


async def test_what_stays_says_nothing(http: httpx.AsyncClient) -> None:
    answer = await http.get("/v1/changelog")
    assert not {"deprecation", "sunset", "link"} & set(answer.headers)


def test_openapi_says_it(old: Operation) -> None:
    document = openapi(CATALOGUE.values(), house())
    entry = document["paths"]["/v1/old-news"]["get"]
    assert entry["deprecated"] is True
    assert entry["summary"] == f"What changed, told the old way. {SENTENCE}"
    assert {"Deprecation", "Sunset"} <= set(entry["responses"]["200"]["headers"])
    assert {"Deprecation", "Sunset"} <= set(document["components"]["headers"])
    assert [op for path in document["paths"].values() for op in path.values() if "deprecated" in op] == [entry]


async def test_mcp_lists_it_with_the_notice_in_words_and_for_programs(old: Operation, market: TestMarket) -> None:
    async with connected(market.market) as mcp:
        listed = (await mcp.ask(MODERN, "tools/list", query="?toolsets=market")).result["tools"]
    tools = {tool["name"]: tool for tool in listed}
    assert SENTENCE in tools["old_news"]["description"]
    assert tools["old_news"]["_meta"] == {
        "service/deprecated": {"since": "2027-01-05", "sunset": "2027-07-05", "successor": "get_changelog"}
    }
    assert "_meta" not in tools["get_changelog"]


def test_every_document_that_describes_it_says_it(old: Operation, market: TestMarket) -> None:
    texts = Texts(CATALOGUE.values(), house())
    assert SENTENCE in texts.llms_txt
    assert SENTENCE in texts.llms_full_txt
    assert SENTENCE.encode() in card_json(house(), CATALOGUE.values(), market.market.world.signer)


def test_a_notice_of_less_than_promised_does_not_start() -> None:
    with pytest.raises(TypeError, match="180 days of notice are promised, not 179"):
        Deprecated(SINCE, SINCE + NOTICE - (SUNSET - date(2027, 7, 4)))
    assert Deprecated(SINCE, SINCE + NOTICE).sunset is not None


def test_a_day_that_is_not_set_and_a_successor_that_is_not_there_are_not_told() -> None:
    bare = made(Deprecated(SINCE))
    assert bare.summary == "What changed, told the old way. Deprecated since 2027-01-05."
    assert bare.description.endswith("Call it when nothing else helps.")
    assert [name for name, _ in notice_of(bare)] == [b"deprecation", b"link"]
    below = replace(bare, deprecated=Deprecated(SINCE, None, "get_job"))
    assert b"successor" not in dict(notice_of(below))[b"link"], "a path with an id in it is no address"
