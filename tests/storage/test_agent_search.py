"""Search for agents on both databases: results and order follow from the rules."""

from datetime import UTC, datetime
from random import Random  # noqa: TID251 - seeded: the same agents and searches every time

import pytest
from sqlalchemy import text

from storage.agent_search import (
    AGENTS,
    ANY_UNINDEXED,
    FTS,
    INDEXED,
    NEWEST,
    UNINDEXED,
    AgentSearch,
    agent_tokens,
    find_agents,
)
from storage.migrate import upgrade
from storage.open import open_database, serve
from storage.store import Store
from storage.tables import AgentRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus
from tests.conftest import Opening
from tests.support.databases import PostgresServer, close
from tests.support.expected_pages import every_page, expected
from tools.agents.logic import index, index_waiting
from tools.kernel.search_terms import index_terms, query_terms

BORN = datetime(2026, 11, 21, tzinfo=UTC)
WORDS = ["translate", "text", "code", "review", "機械翻訳", "अनुवाद", "c++", "ترجمة", "the"]
LABELS = ["c++", "a b", "100%", '"quoted"', "it's", "back\\slash", "言語", ":*", "x|y", "a"]
DOMAINS = [None, None, "a.example", "b.example"]


def agent(number: int, **changed: object) -> AgentRow:
    values: dict[str, object] = {
        "id": f"agt_{number}", "handle": f"agent-{number}", "name": "Ada", "description": None, "capabilities": [],
        "tags": [], "public_key": f"{number:064x}", "endpoints": {}, "framework": None, "metadata_json": None,
        "referred_by": None, "created_at": BORN,
    }  # fmt: skip
    return AgentRow(**(values | changed))


def some_agent(dice: Random, number: int) -> AgentRow:
    return agent(
        number,
        name=" ".join(dice.sample(WORDS, 2)),
        description=dice.choice([None, " ".join(dice.sample(WORDS, 3))]),
        capabilities=dice.sample(LABELS, dice.randrange(3)),
        tags=dice.sample(LABELS, dice.randrange(3)),
        framework=dice.choice([None, "Lang Graph", "none"]),
        verified_domain=dice.choice(DOMAINS),
        status=dice.choice([*[AgentStatus.ACTIVE] * 6, AgentStatus.SUSPENDED, AgentStatus.DELETED]),
    )


def some_search(dice: Random) -> AgentSearch:
    maybe = lambda values: dice.choice([None, None, None, *values])  # noqa: E731 - short, and only here
    return AgentSearch(
        terms=query_terms(" ".join(dice.sample(WORDS, dice.choice([0, 1, 1, 2, 3])))),
        any_terms=dice.random() < 0.2,
        tag=maybe(LABELS),
        capability=maybe(LABELS),
        framework=maybe(["lang graph", "none"]),
        domain=maybe(["a.example", "c.example"]),
        verified=maybe([True, False]),
        limit=dice.choice([1, 3, 7, 100]),
    )


def terms_of(row: AgentRow) -> tuple[str, ...]:
    labels = [*row.capabilities, *row.tags]
    return index_terms(f"{row.name} {row.handle}", row.description or "", labels, row.framework or "")


def fits(search: AgentSearch, row: AgentRow) -> bool:
    """Check whether an agent matches a search by each rule."""
    found = [term in terms_of(row) for term in search.terms]
    return (
        row.status is AgentStatus.ACTIVE
        and (any(found) or not found if search.any_terms else all(found))
        and (search.tag is None or search.tag in row.tags)
        and (search.capability is None or search.capability in row.capabilities)
        and (search.framework is None or search.framework == (row.framework or "").lower())
        and search.domain in (None, row.verified_domain)
        and (search.verified is None or search.verified == (row.verified_domain is not None))
    )


async def put(store: Store, *agents: AgentRow) -> None:
    await store.write(lambda tx: [index(tx, row) for row in agents])


def sound(tx: Tx) -> None:
    if tx.is_sqlite:
        tx.cursor.execute(f"INSERT INTO {FTS}({FTS}) VALUES ('integrity-check')")


async def test_any_search_finds_what_the_rules_say_newest_first_page_by_page(store: Store) -> None:
    dice = Random(1)
    agents = [some_agent(dice, number) for number in range(120)]
    await put(store, *agents)
    for _ in range(200):
        search = some_search(dice)
        assert await store.scan(lambda tx, asked=search: every_page(find_agents, tx, asked)) == expected(
            fits, search, agents
        ), search


async def test_the_index_follows_every_change_and_nothing_that_was_undone(store: Store) -> None:
    dice = Random(2)
    agents = [agent(number) for number in range(20)]
    await put(store, *agents)
    for _ in range(150):
        place = dice.randrange(len(agents))
        moved = some_agent(dice, place)
        if dice.random() < 0.2:
            with pytest.raises(ZeroDivisionError):
                await store.write(lambda tx, row=moved: (index(tx, row), 1 // 0))
            continue
        agents[place] = moved
        await put(store, moved)
    await store.write(sound)
    for _ in range(80):
        search = some_search(dice)
        assert await store.scan(lambda tx, asked=search: every_page(find_agents, tx, asked)) == expected(
            fits, search, agents
        ), search


async def test_an_agent_that_did_not_change_writes_nothing(store: Store, database: str) -> None:
    counts = list[int]()

    def count(tx: Tx, row: AgentRow) -> None:
        before = tx.statements
        index(tx, row)
        counts.append(tx.statements - before)

    for row in (agent(1), agent(1), agent(1, name="Bo"), agent(1, status=AgentStatus.DELETED)):
        await store.write(lambda tx, one=row: count(tx, one))
    assert counts == ([4, 1, 4, 3] if database == "sqlite" else [3, 1, 2, 2])


async def test_o6_no_search_reads_a_table_whole_or_sorts(sqlite_url: str, opening: Opening) -> None:
    store = opening(sqlite_url)
    await put(store, *(agent(number) for number in range(50)))

    def plans(tx: Tx) -> list[str]:
        lines: list[str] = []
        for query in (NEWEST.from_sqlite, AGENTS.held, AGENTS.place, ANY_UNINDEXED, UNINDEXED, INDEXED):
            plan = query.plan(tx.dialect)
            tx.cursor.execute("EXPLAIN QUERY PLAN " + plan.sql, [None] * len(plan.parameters))
            lines += [row[3] for row in tx.cursor.fetchall()]
        return lines

    lines = await store.scan(plans)
    assert [line for line in lines if "TEMP B-TREE" in line] == []
    scans = [line for line in lines if line.startswith("SCAN") and "unindexed_agents" not in line]
    assert [line.partition(" INDEX ")[0] for line in scans] == [f"SCAN {FTS} VIRTUAL TABLE"]
    assert "M1><" in scans[0], "words and both bounds are the index's"


def test_every_token_names_its_kind_so_that_no_word_is_taken_for_a_filter() -> None:
    row = agent(1, tags=["a b", "C++"], capabilities=["c"], framework="F W", verified_domain="d.example")
    assert agent_tokens(row, ("a", "v1")).split(" ") == [
        "a", "ta%20b", "tc++", "cc", "ff%20w", "dd.example", "v1", "wa", "wv1",
    ]  # fmt: skip


async def test_agents_of_before_keep_their_handles_and_places_and_are_indexed_by_the_first_start(
    database: str, tmp_path: object, request: pytest.FixtureRequest
) -> None:
    if database == "sqlite":
        opened = open_database(f"sqlite:///{tmp_path}/old.db")
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        opened = open_database(server.create("old_agents"))
    upgrade(opened, "0003")
    columns = "id, version, handle, name, capabilities, tags, public_key, endpoints, trust_tier, first_party, evaluator, status, auth_epoch, created_at"
    with opened.engine.begin() as connection:
        for number in range(120):
            status = "deleted" if number == 7 else "active"
            connection.execute(text(
                f"INSERT INTO agents ({columns}) VALUES ('agt_{number:03}', 1, 'old-{number}', 'Old', '[]', '[]', "
                f"'{number:064x}', '{{}}', 0, false, false, '{status}', 1, {number})"
            ))  # fmt: skip
    upgrade(opened)
    store = serve(opened)
    await put(store, agent(500))
    assert await store.scan(lambda tx: every_page(find_agents, tx, AgentSearch())) == ["agt_500"], (
        "they wait for the first start"
    )
    while await store.write(index_waiting):
        pass
    await store.write(sound)
    old = [f"agt_{number:03}" for number in reversed(range(120)) if number != 7]
    assert await store.scan(lambda tx: every_page(find_agents, tx, AgentSearch())) == ["agt_500", *old]
    assert await store.scan(lambda tx: every_page(find_agents, tx, AgentSearch(terms=("old", "17")))) == ["agt_017"]
    assert await store.read(lambda tx: tx.one(ANY_UNINDEXED)) is None
    with opened.engine.connect() as connection:
        held = connection.execute(text("SELECT count(*), min(agent_id) FROM handles WHERE handle LIKE 'old-%'")).one()
    assert tuple(held) == (120, "agt_000")
    await close(store)
