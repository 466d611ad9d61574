"""Clauses of the contract about finding agents, public facts about them, and reports to the operator."""

from typing import Any

import orjson
import pytest

from storage.store import Store
from storage.tables import AgentRow, ReportRow
from storage.vocabulary import AgentStatus
from tests.requirements import covers, named
from tests.requirements.probes import stored
from tests.support.market import START, TestMarket
from tests.support.trade import Trade
from tools.agents.logic import change_agent
from tools.kernel.ids import is_id
from tools.kernel.records import stamp

ADA: dict[str, Any] = {"name": "Ada", "description": "Translates poems into English.", "capabilities": ["translate"]}
BO: dict[str, Any] = {"name": "Bo", "handle": "bo-codes", "tags": ["Python", "review"], "framework": "LangGraph"}
CY: dict[str, Any] = {"name": "機械翻訳", "handle": "cyr", "capabilities": ["translate"], "tags": ["python"]}


async def three(market: TestMarket) -> None:
    for one in (ADA, BO, CY):
        market.pass_seconds(1)
        await market.call("register_agent", **one)


async def found(market: TestMarket, **asked: Any) -> list[str]:
    return [one["name"] for one in (await market.call("search_agents", **asked))["data"]]


async def change(market: TestMarket, handle: str, **values: Any) -> None:
    """Change an agent as an operation of a later issue does: verify its domain, suspend it."""
    agent_id = (await market.call("get_agent", agent_id=handle))["id"]

    def write(tx: Any) -> None:
        change_agent(tx, tx.get(AgentRow, agent_id), **values)

    await market.store.write(write)


@covers("service.8.agent_search", "route.agents.search")
async def test_agents_are_found_by_words_and_labels_newest_first(market: TestMarket) -> None:
    await three(market)
    assert await found(market) == ["機械翻訳", "Bo", "Ada"]
    assert await found(market, q="poems ENGLISH") == ["Ada"]
    assert await found(market, q="翻訳") == ["機械翻訳"]
    assert await found(market, q="codes") == ["Bo"], "a word of the handle"
    assert await found(market, q="translate") == ["機械翻訳", "Ada"], "a word of the labels"
    assert await found(market, q="poems langgraph") == ["Bo", "Ada"], "nobody has both words: any will do"
    assert await found(market, capability="Translate") == ["機械翻訳", "Ada"]
    assert await found(market, tag="python") == ["機械翻訳", "Bo"]
    assert await found(market, tag="python", capability="translate") == ["機械翻訳"]
    assert await found(market, framework="langgraph") == ["Bo"]
    assert await found(market, q="python", tag="review") == ["Bo"]


async def test_what_nobody_fits_says_what_to_do(market: TestMarket) -> None:
    await three(market)
    for asked in ({"q": "plumber"}, {"q": "!?"}, {"tag": "none"}, {"domain": "a.example"}, {"verified": True}):
        page = await market.call("search_agents", **asked)
        assert (page["data"], page["has_more"], page["next_cursor"]) == ([], False, None)
        assert "search_listings" in page["hint"]


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_pages_show_every_agent_once_with_any_key_and_while_others_come_and_go(
    market: TestMarket, limit: int
) -> None:
    people = [await market.register(f"Agent {number}") for number in range(7)]
    names, cursor, turn = list[str](), None, 0
    while True:
        key = (None, people[0].keys["live"], people[0].keys["test"])[turn % 3]
        given = {"limit": limit, "cursor": cursor} | ({"env": "test"} if turn % 2 else {})
        answer = await market.answer("search_agents", given, key=key)
        page = orjson.loads(answer.body)
        names += [one["name"] for one in page["data"]]
        cursor, turn = page["next_cursor"], turn + 1
        assert page["has_more"] == (cursor is not None)
        if cursor is None:
            break
        await market.register(f"Late {turn}")
    assert names == [f"Agent {number}" for number in reversed(range(7))]


async def test_a_cursor_goes_on_with_its_own_filters_only(market: TestMarket) -> None:
    await three(market)
    cursor = (await market.call("search_agents", limit=1))["next_cursor"]
    assert (await market.refusal("search_agents", limit=1, q="bo", cursor=cursor))["code"] == "invalid_cursor"
    for limit in (0, 101):
        assert (await market.refusal("search_agents", limit=limit))["param"] == "limit"


async def test_a_proven_domain_finds_its_agent(market: TestMarket) -> None:
    await three(market)
    await change(market, "bo-codes", verified_domain="bo.example")
    assert await found(market, domain="Bo.Example.") == ["Bo"]
    assert await found(market, domain="o.example") == []
    assert await found(market, verified=True) == ["Bo"]
    assert await found(market, verified=False) == ["機械翻訳", "Ada"]
    await change(market, "bo-codes", verified_domain=None)
    assert await found(market, verified=True) == []


async def test_only_active_agents_are_found_and_one_that_comes_back_stands_where_it_stood(market: TestMarket) -> None:
    await three(market)
    await change(market, "bo-codes", status=AgentStatus.SUSPENDED)
    assert await found(market) == ["機械翻訳", "Ada"]
    assert await found(market, q="codes") == []
    assert (await market.call("get_agent", agent_id="bo-codes"))["status"] == "suspended"
    await change(market, "bo-codes", status=AgentStatus.ACTIVE)
    assert await found(market) == ["機械翻訳", "Bo", "Ada"]


async def test_hostile_words_are_words(market: TestMarket) -> None:
    await three(market)
    for text in ('"', "a AND", "*", "NEAR(a b)", "'", "\\", "%", "_", "wpoems", "a", "t:python", ":*", "(z)", "^"):
        await found(market, q=text)
        for filter_name in ("tag", "capability", "framework", "domain"):
            assert await found(market, **{filter_name: text}) == []


async def test_o6_a_page_of_agents_costs_the_same_few_statements_whatever_its_length(
    market: TestMarket, database: str
) -> None:
    for number in range(12):
        await market.register(f"Agent {number}")
    counts = []
    for limit in (1, 10):
        seen: list[int] = []
        scan = market.store.scan

        async def counting(read: Any, scan: Any = scan, seen: list[int] = seen) -> Any:
            def run(tx: Any) -> Any:
                before = tx.statements
                result = read(tx)
                seen.append(tx.statements - before)
                return result

            return await scan(run)

        market.store.scan = counting  # type: ignore[method-assign, assignment]
        await market.call("search_agents", limit=limit)
        market.store.scan = scan  # type: ignore[method-assign]
        counts.append(sum(seen))
    assert counts == [2, 2]


@covers("route.agents.reviews")
async def test_what_is_said_of_an_agent_is_read_by_anybody_newest_first(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    market, given = trade.market, []
    for rating in (3, 4, 5):
        job = await trade.job_at("completed", seller, buyer)
        market.pass_seconds(0.01)
        given.append(await market.call("review_job", by=buyer, job_id=job["id"], rating=rating, comment="Well."))
    await market.call("review_job", by=seller, job_id=job["id"], rating=2)
    page = await market.call("list_reviews", agent_id=seller.handle, env="test", limit=2)
    assert page["data"] == [given[2], given[1]]
    rest = await market.call("list_reviews", agent_id=seller.handle, env="test", limit=2, cursor=page["next_cursor"])
    assert (rest["data"], rest["has_more"], rest["next_cursor"]) == ([given[0]], False, None)
    of_both = [await market.call("list_reviews", by=one, agent_id=buyer.id) for one in (seller, buyer)]
    assert [[one["rating"] for one in page["data"]] for page in of_both] == [[2], [2]]


async def test_reviews_are_kept_apart_by_environment_and_by_role(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    market = trade.market
    there, back = (
        await trade.job_at("completed", seller, buyer),
        await trade.job_at("completed", buyer, seller, price=0),
    )
    for party, job, rating in ((buyer, there, 5), (buyer, back, 1), (seller, back, 2)):
        await market.call("review_job", by=party, job_id=job["id"], rating=rating)

    async def ratings(**asked: Any) -> list[int]:
        return [one["rating"] for one in (await market.call("list_reviews", agent_id=seller.id, **asked))["data"]]

    assert sorted(await ratings(env="test")) == [1, 5]
    assert await ratings(env="test", role="buyer") == [5]
    assert await ratings(env="test", role="seller") == [1]
    assert await ratings(env="live") == await ratings() == []
    error = await market.refusal("list_reviews", agent_id=seller.id, role="judge")
    assert error["param"] == "role"


@covers("support.*", "auth.1.support")
async def test_anybody_reports_to_the_operator(market: TestMarket, store: Store) -> None:
    told = {
        "message": "pay_job answers chain_unavailable.",
        "request_id": "req_0123456789",
        "references": ["job_1", "0x" + "ab" * 32],
        "contact": "ada@example.com",
    }
    report = await market.call("report_support", **told)
    assert set(told) | set(report) == named("support") - {"route"}
    assert report == {
        "object": "support_report",
        "id": report["id"],
        "received_at": stamp(START),
        "note": report["note"],
    }
    assert is_id("rpt_", report["id"])
    row = await store.read(lambda tx: tx.get(ReportRow, report["id"]))
    assert row is not None
    assert (row.message, row.request_id, row.contact) == (told["message"], told["request_id"], told["contact"])
    assert (row.references_json, row.agent_id) == ('["job_1","0x' + "ab" * 32 + '"]', None)
    agent = await market.register()
    mine = await market.call("report_support", by=agent, message="12345")
    row = await store.read(lambda tx: tx.get(ReportRow, mine["id"]))
    assert row is not None
    assert (row.agent_id, row.env) == (agent.id, "test")


@pytest.mark.parametrize(
    "given",
    [
        {"message": "1234"},
        {"message": "    1   "},
        {"message": "x" * 4001},
        {"request_id": "x" * 129},
        {"references": ["x"] * 21},
        {"references": ["x" * 129]},
        {"references": "job_1"},
        {"contact": "x" * 201},
    ],
    ids=lambda given: next(iter(given)),
)
async def test_a_report_beyond_its_bounds_is_refused(market: TestMarket, given: dict[str, Any]) -> None:
    error = await market.refusal("report_support", **({"message": "It does not work."} | given))
    assert error["param"].split(".")[0] == next(iter(given))
    assert (await market.refusal("report_support"))["param"] == "message"


async def test_a_secret_sent_to_support_is_not_kept(market: TestMarket) -> None:
    agent = await market.register()
    for given in ({"message": f"Broken: {agent.keys['live']}"}, {"message": "Broken", "contact": agent.keys["live"]}):
        assert (await market.refusal("report_support", **given))["code"] == "content_rejected"
    assert agent.keys["live"] not in await stored(market.store)


@covers("limit.rate.support", "limit.rate.value.support", "support.route")
async def test_ten_reports_an_hour_are_taken_from_one_key_or_address(store: Store) -> None:
    market = TestMarket(store, enforced=True)
    agent = await market.register()
    given = {"message": "It does not work."}
    statuses = [(await market.answer("report_support", given)).status for _ in range(11)]
    assert statuses == [201] * 10 + [429]
    assert (await market.answer("report_support", given, key=agent.keys["test"])).status == 201
    assert (await market.answer("report_support", given, ip="203.0.113.77")).status == 201
    assert (await market.answer("get_payments_info")).status == 200, "nothing else is counted with them"
    market.pass_seconds(3600)
    assert (await market.answer("report_support", given)).status == 201
