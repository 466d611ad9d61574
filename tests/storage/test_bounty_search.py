"""Search for bounties on both databases: results and order follow from the rules."""

from datetime import UTC, datetime
from random import Random  # noqa: TID251 - seeded: the same bounties and searches every time

import pytest

from storage.bounty_search import BOUNTIES, FTS, NEWEST, BountySearch, bounty_tokens, find_bounties
from storage.store import Store
from storage.tables import BountyRow
from storage.transaction import Tx
from storage.vocabulary import BountyStatus
from tests.conftest import Opening
from tests.support.expected_pages import every_page, expected
from tools.bounties.logic import index
from tools.kernel.search_terms import index_terms, query_terms

POSTED = datetime(2026, 11, 21, tzinfo=UTC)
WORDS = ["translate", "poem", "code", "機械翻訳", "अनुवाद", "c++", "ترجمة", "การแปล", "перевод", "the"]
LABELS = ["c++", "a b", "100%", '"quoted"', "it's", "back\\slash", "言語", ":*", "x|y", "a"]
BUDGETS = [0, 1, 9_999, 10_000, 250_000, 1_000_000, 10**9, 10**12 - 1, 10**12]


def bounty(number: int, **changed: object) -> BountyRow:
    values: dict[str, object] = {
        "id": f"bty_{number}", "env": "test", "buyer_id": "agt_1", "title": "A need", "description": "Of somebody.",
        "category": "text", "tags": [], "budget_max": 1, "input": None, "job_input": "0", "deliverable_schema": None,
        "preview_schema": None, "acceptance": None, "content_warnings": [], "first_party": False, "expires_at": POSTED,
        "created_at": POSTED, "updated_at": POSTED,
    }  # fmt: skip
    return BountyRow(**(values | changed))


def some_bounty(dice: Random, number: int) -> BountyRow:
    return bounty(
        number,
        env=dice.choice(["live", "test", "test"]),
        title=" ".join(dice.sample(WORDS, 2)),
        description=" ".join(dice.sample(WORDS, 3)),
        category=dice.choice(LABELS),
        tags=dice.sample(LABELS, dice.randrange(3)),
        budget_max=dice.choice(BUDGETS),
        first_party=dice.random() < 0.2,
        status=dice.choice([*[BountyStatus.OPEN] * 5, *BountyStatus]),
    )


def some_search(dice: Random) -> BountySearch:
    maybe = lambda values: dice.choice([None, None, None, *values])  # noqa: E731 - short, and only here
    return BountySearch(
        env=dice.choice(["live", "test"]),
        terms=query_terms(" ".join(dice.sample(WORDS, dice.choice([0, 1, 1, 2, 3, 5])))),
        any_terms=dice.random() < 0.2,
        category=maybe(LABELS),
        tag=maybe(LABELS),
        min_budget=dice.choice([0, 0, *BUDGETS, 2, 10_001]),
        first_party=maybe([True, False]),
        limit=dice.choice([1, 3, 7, 100]),
    )


def fits(search: BountySearch, row: BountyRow) -> bool:
    """Check whether a bounty matches a search by each rule."""
    words = index_terms(row.title, row.description, row.tags, row.category)
    found = [term in words for term in search.terms]
    return (
        (row.status, row.env) == (BountyStatus.OPEN, search.env)
        and (any(found) or not found if search.any_terms else all(found))
        and search.category in (None, row.category)
        and (search.tag is None or search.tag in row.tags)
        and row.budget_max >= search.min_budget
        and search.first_party in (None, row.first_party)
    )


async def put(store: Store, *rows: BountyRow) -> None:
    await store.write(lambda tx: [index(tx, row) for row in rows])


async def test_any_search_finds_what_the_rules_say_newest_first_page_by_page(store: Store) -> None:
    dice = Random(3)
    rows = [bounty(number) for number in range(120)]
    await put(store, *rows)  # all are open when they are posted
    rows = [some_bounty(dice, number) for number in range(120)]
    await put(store, *rows)
    found = 0
    for _ in range(200):
        search = some_search(dice)
        ids = await store.scan(lambda tx, asked=search: every_page(find_bounties, tx, asked))
        assert ids == expected(fits, search, rows), search
        found += bool(ids)
    assert found > 40


async def test_o6_no_search_of_bounties_reads_a_table_whole_or_sorts(sqlite_url: str, opening: Opening) -> None:
    store = opening(sqlite_url)
    await put(store, *(bounty(number) for number in range(50)))

    def plans(tx: Tx) -> list[str]:
        lines: list[str] = []
        for query in (NEWEST.from_sqlite, BOUNTIES.held, BOUNTIES.place):
            plan = query.plan(tx.dialect)
            tx.cursor.execute("EXPLAIN QUERY PLAN " + plan.sql, [None] * len(plan.parameters))
            lines += [row[3] for row in tx.cursor.fetchall()]
        return lines

    lines = await store.scan(plans)
    assert [line for line in lines if "TEMP B-TREE" in line] == []
    assert [line.partition(" INDEX ")[0] for line in lines if line.startswith("SCAN")] == [f"SCAN {FTS} VIRTUAL TABLE"]


@pytest.mark.parametrize(("env", "letter"), [("live", "l"), ("test", "t")])
def test_every_token_names_its_environment_and_its_kind(env: str, letter: str) -> None:
    row = bounty(1, env=env, tags=["a b"], category="c", first_party=True, budget_max=10**12)
    tokens = bounty_tokens(row, ("a",)).split(" ")
    assert tokens[:5] == [f"{letter}{kind}" for kind in ("a", "cc", "o1", "ta%20b", "wa")]
    assert all(token.startswith(letter) for token in tokens)
