"""Search for listings on both databases: results and order follow from the rules."""

from dataclasses import replace
from datetime import UTC, datetime
from random import Random  # noqa: TID251 - seeded: the same searches every time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.listing_search import (
    CHEAPEST_HOLDER,
    FTS,
    LISTINGS,
    ORDERS,
    Indexed,
    find,
    index_listing,
    index_listings,
)
from storage.search_index import Found, Hit
from storage.search_tokens import (
    LAST_SLOT,
    MAX_PRICE,
    UNSEEN,
    ListingSearch,
    Sort,
    cheapest_key,
    next_slot,
    price_tokens,
    rank_key,
    up_to,
)
from storage.store import Store
from storage.tables.search import ListingSearchRow
from storage.transaction import Tx
from storage.vocabulary import ListingStatus
from tests.conftest import Opening
from tests.support.search_cases import (
    changed,
    every_page,
    expected,
    ids,
    indexed,
    listing,
    put,
    some_listing,
    some_search,
    sound,
)
from tools.kernel.search_terms import query_terms


async def test_any_search_finds_what_the_rules_say_in_their_order_page_by_page(store: Store) -> None:
    dice = Random(1)
    listings = [some_listing(dice, number) for number in range(150)]
    await put(store, *listings)
    never_active = {one.listing.id for one in listings if one.listing.status is not ListingStatus.ACTIVE}
    shown = [one for one in listings if one.listing.id not in never_active]
    for _ in range(250):
        search = some_search(dice)
        assert await store.scan(lambda tx, asked=search: every_page(tx, asked)) == expected(search, shown), search


async def test_the_index_follows_every_change_of_the_listings(store: Store) -> None:
    """Prices, words, ratings and statuses change. A rolled-back change is never indexed."""
    dice = Random(2)
    listings = [indexed(listing(number)) for number in range(25)]
    await put(store, *listings)
    for _ in range(200):
        place = dice.randrange(len(listings))
        other = some_listing(dice, place)
        before = listings[place]
        moved = replace(
            other,
            listing=changed(other.listing, env="live", seller_id="agt_1"),
            unseen=before.unseen and other.listing.status is ListingStatus.ACTIVE,
        )
        if dice.random() < 0.2:
            with pytest.raises(ZeroDivisionError):
                await store.write(lambda tx, one=moved: (index_listings(tx, [one]), 1 // 0))
            continue
        listings[place] = moved
        await store.write(lambda tx, one=moved: index_listing(tx, one.listing, one.terms, one.rating))
        if dice.random() < 0.3 and moved.listing.status is ListingStatus.ACTIVE:
            listings[place] = replace(moved, unseen=not moved.unseen)
            await put(store, listings[place])
    await store.write(sound)
    for _ in range(100):
        search = replace(some_search(dice), env="live")
        assert await store.scan(lambda tx, asked=search: every_page(tx, asked)) == expected(search, listings), search


async def test_many_listings_at_once_are_indexed_as_one_by_one(store: Store) -> None:
    dice = Random(3)
    listings = [some_listing(dice, number) for number in (*range(40), *range(0, 40, 3))]  # some of them twice
    await put(store, *listings)
    await store.write(sound)
    first = {sort: await ids(store, sort=sort) for sort in Sort}
    for one in listings:
        await put(store, replace(one, listing=changed(one.listing, status=ListingStatus.ARCHIVED)))
    assert await ids(store) == []
    for one in listings:
        await put(store, one)
    assert {sort: await ids(store, sort=sort) for sort in Sort} == first


async def test_a_listing_that_was_paused_comes_back_to_its_place(store: Store) -> None:
    await put(store, *(indexed(listing(number)) for number in range(3)))
    assert await ids(store, sort=Sort.NEWEST) == ["lst_2", "lst_1", "lst_0"]
    await put(store, indexed(listing(1, status=ListingStatus.PAUSED)))
    await put(store, indexed(listing(1, status=ListingStatus.PAUSED)))
    assert await ids(store, sort=Sort.NEWEST) == ["lst_2", "lst_0"]
    await put(store, indexed(listing(1)))
    assert await ids(store, sort=Sort.NEWEST) == ["lst_2", "lst_1", "lst_0"]


async def test_all_words_are_wanted_and_where_no_listing_has_them_any_word_will_do(store: Store) -> None:
    await put(store, *(indexed(listing(number, title=title, description="")) for number, title in enumerate(
        ("red apple", "green apple", "green pear", "yellow plum")
    )))  # fmt: skip
    assert await ids(store, "green apple") == ["lst_1"]
    assert await ids(store, "red pear") == ["lst_2", "lst_0"]
    assert await ids(store, "purple") == []
    search = ListingSearch(env="live", terms=("red", "pear"), limit=1)
    page = await store.scan(lambda tx: find(tx, search))
    assert page == Found((Hit("lst_2", rank_key(False, None, 3)),), rank_key(False, None, 3), any_terms=True)


async def test_a_page_that_ends_the_list_says_so(store: Store) -> None:
    await put(store, *(indexed(listing(number)) for number in range(4)))
    search = ListingSearch(env="live", limit=2)
    first = await store.scan(lambda tx: find(tx, search))
    last = await store.scan(lambda tx: find(tx, replace(search, after=first.after or 0)))
    assert [hit.id for hit in (*first.hits, *last.hits)] == ["lst_3", "lst_2", "lst_1", "lst_0"]
    assert (first.after, last.after) == (first.hits[-1].key, None)


async def test_a_list_read_while_listings_come_and_go_repeats_nothing_and_leaves_nothing_out(store: Store) -> None:
    await put(store, *(indexed(listing(number)) for number in range(9)))
    search, seen = ListingSearch(env="live", sort=Sort.NEWEST, limit=2), list[str]()
    for number in range(9, 13):
        found = await store.scan(lambda tx, asked=search: find(tx, asked))
        seen += [hit.id for hit in found.hits]
        search = replace(search, after=found.after)
        await put(store, indexed(listing(number)))
        await put(store, indexed(listing(number - 9, status=ListingStatus.ARCHIVED)))
    # 2, 1 and 0 were removed before their page was read.
    assert seen == ["lst_8", "lst_7", "lst_6", "lst_5", "lst_4", "lst_3"]


@pytest.mark.parametrize(
    "title, q",
    [
        ("Machine translation", "TRANSLATION machine"),
        ("Traduction à la carte", "a la carte traduction"),
        ("機械翻訳サービス", "翻訳"),
        ("文書を翻訳します", "翻"),
        ("번역을 해드립니다", "번역"),
        ("บริการแปลภาษา", "แปลภาษา"),
        ("हिन्दी में अनुवाद", "अनुवाद"),
        ("خدمات الترجمة", "الترجمة"),
        ("שירותי תרגום", "תִּרְגּוּם"),
        ("Перевод текста", "ПЕРЕВОД"),
        ("Μετάφραση", "ΜΕΤΑΦΡΑΣΗ"),
        ("დოკუმენტის თარგმნა", "თარგმნა"),
        ("C++ and C# review", "c++"),
    ],
)
async def test_words_are_found_in_every_script(store: Store, title: str, q: str) -> None:
    await put(store, indexed(listing(1, title=title)), indexed(listing(2, title="Something else", description="")))
    assert await ids(store, q) == ["lst_1"]
    assert await ids(store, f"{q} Ω") == ["lst_1"]


HOSTILE = [
    "c++",
    "a-b",
    "foo AND",
    '"x',
    "*",
    "",
    "\0",
    "\U0001f600" * 200,
    "NEAR(a b)",
    "a:b",
    "^a",
    "{a} : b",
    "'",
    "\\",
]


async def test_no_question_is_an_error_whatever_it_holds(store: Store, database: str) -> None:
    dice = Random(4)
    texts = [
        *HOSTILE,
        *("".join(chr(dice.randrange(0x110000)) for _ in range(dice.randrange(1, 60))) for _ in range(50)),
    ]
    await put(store, indexed(listing(1, title="c++ a foo x", tags=["*", "x\x00y"])))
    for text in texts:
        terms = query_terms(text)
        known = set(terms) & {"c++", "c", "a", "foo", "x", "b", "near"}
        searches = [
            ListingSearch(env="live", terms=terms),
            ListingSearch(env="live", tags=(text,), category=text, seller_id=text, pricing_model=text, payment=text),
        ]
        plain, filtered = [await store.scan(lambda tx, asked=asked: find(tx, asked)) for asked in searches]
        assert [hit.id for hit in plain.hits] == (["lst_1"] if not terms or known - {"b", "near"} else [])
        assert filtered.hits == ()
    assert await ids(store, tags=("*",)) == await ids(store, tags=("x\0y",)) == ["lst_1"]


async def test_a_filter_is_the_whole_of_a_tag_and_never_a_word_of_the_text(store: Store) -> None:
    await put(
        store,
        indexed(listing(1, tags=["a b"], category="r & d")),
        indexed(listing(2, tags=["a", "b"], category="r")),
        indexed(listing(3, title="a b r & d agt_1 fixed upfront", seller_id="agt_2", pricing_model="per_unit")),
    )
    assert await ids(store, tags=("a b",)) == ["lst_1"]
    assert await ids(store, tags=("a", "b")) == ["lst_2"]
    assert await ids(store, category="r & d") == ["lst_1"]
    assert await ids(store, category="R") == ["lst_2"]
    assert await ids(store, seller_id="agt_2") == ["lst_3"]
    assert await ids(store, pricing_model="fixed") == ["lst_2", "lst_1"]
    assert await ids(store, payment="upfront") == []


async def test_live_and_test_never_meet(store: Store) -> None:
    await put(store, indexed(listing(1)), indexed(listing(2, env="test")))
    for sort in Sort:
        assert await ids(store, sort=sort) == ["lst_1"]
        assert await ids(store, env="test", sort=sort) == ["lst_2"]


async def test_a_quote_passes_every_bound_and_is_the_last_of_the_cheapest(store: Store) -> None:
    prices = [None, 10**12, 0, 1_000_000, 999_999, 1_000_001]
    await put(store, *(indexed(listing(number, price=price)) for number, price in enumerate(prices)))
    assert await ids(store, max_price=999_999, sort=Sort.CHEAPEST) == ["lst_2", "lst_4", "lst_0"]
    assert await ids(store, max_price=1_000_000, sort=Sort.CHEAPEST) == ["lst_2", "lst_4", "lst_3", "lst_0"]
    assert await ids(store, max_price=0, sort=Sort.CHEAPEST) == ["lst_2", "lst_0"]
    every = ["lst_2", "lst_4", "lst_3", "lst_5", "lst_1", "lst_0"]
    for bound in (None, 10**12, MAX_PRICE, 2**63):
        assert await ids(store, max_price=bound, sort=Sort.CHEAPEST) == every


async def test_listings_of_one_price_whose_slots_meet_after_four_million_more_are_both_found(store: Store) -> None:
    far = LAST_SLOT + 2  # the seq with the same slot as 1
    await put(store, indexed(listing(1)))
    later = ListingSearchRow(
        seq=far, listing_id="lst_2", env="live", seller_id="agt_1", rank=None, newest=None, cheapest=None, tokens=None
    )
    await store.write(lambda tx: tx.add(later))
    for number in (2, 1, 2):
        await put(store, indexed(listing(number)))
    assert sorted(await ids(store, sort=Sort.CHEAPEST)) == ["lst_1", "lst_2"]
    assert await ids(store, sort=Sort.NEWEST) == ["lst_2", "lst_1"]
    keys = await store.scan(lambda tx: {tx.get(ListingSearchRow, seq).cheapest for seq in (1, far)})  # type: ignore[union-attr]
    assert keys == {cheapest_key(250_000, 1), next_slot(cheapest_key(250_000, 1))}


async def test_o6_a_search_reads_no_table_whole_and_sorts_nothing(sqlite_url: str, opening: Opening) -> None:
    store = opening(sqlite_url)
    await put(store, *(indexed(listing(number)) for number in range(50)))

    def plans(tx: Tx) -> list[str]:
        lines: list[str] = []
        for query in (*(order.from_sqlite for order in ORDERS.values()), LISTINGS.held, CHEAPEST_HOLDER):
            plan = query.plan(tx.dialect)
            values = {
                "env": "live",
                "match": '"lwtext" AND ("lg0" OR "lg1")',
                "low": 0,
                "high": 9,
                "limit": 5,
                "seen_since": datetime(2026, 11, 23, tzinfo=UTC),
            }
            tx.cursor.execute("EXPLAIN QUERY PLAN " + plan.sql, plan.bind(values | {"id": "lst_1", "cheapest": 1}))
            lines += [line[-1] for line in tx.cursor.fetchall()]
        return lines

    def analyse(tx: Tx) -> None:
        tx.cursor.execute("ANALYZE")

    before = await store.scan(plans)
    scans = [line.partition(" INDEX ")[0] for line in before if line.startswith("SCAN")]
    assert scans == [f"SCAN {name} VIRTUAL TABLE" for name in FTS.values() for _ in ("any", "seen")]
    assert all("M1><" in line for line in before if line.startswith("SCAN")), "words and both bounds are the index's"
    assert [line for line in before if "TEMP B-TREE" in line] == []
    await store.write(analyse)
    assert await store.scan(plans) == before


async def test_o6_a_page_is_one_statement_on_sqlite_and_at_most_two_on_postgres(store: Store, database: str) -> None:
    await put(store, *(indexed(listing(number)) for number in range(10)))

    def statements(tx: Tx, search: ListingSearch) -> int:
        before = tx.statements
        find(tx, search)
        return tx.statements - before

    full, short = ListingSearch(env="live", limit=5), ListingSearch(env="live", limit=50, sort=Sort.NEWEST)
    counts = await store.scan(lambda tx: [statements(tx, search) for search in (full, short)])
    assert counts == {"sqlite": [1, 1], "postgres": [1, 2]}[database]


async def test_a_change_writes_only_the_indexes_it_moves(store: Store, database: str) -> None:
    one = indexed(listing(1))
    steps = {
        "new": one,
        "the same": one,
        "rated": replace(one, rating=4.5),
        "dearer": replace(one, rating=4.5, listing=changed(one.listing, price=300_000)),
        "paused": replace(one, listing=changed(one.listing, status=ListingStatus.PAUSED)),
        "still paused": replace(one, listing=changed(one.listing, status=ListingStatus.PAUSED)),
    }

    def statements(tx: Tx, step: Indexed) -> int:
        before = tx.statements
        index_listing(tx, step.listing, step.terms, step.rating)
        return tx.statements - before

    counts = {name: await store.write(lambda tx, step=step: statements(tx, step)) for name, step in steps.items()}
    rows = {"new": 4, "the same": 2, "rated": 3, "dearer": 3, "paused": 2, "still paused": 1}
    full_text = {"new": 3, "the same": 0, "rated": 2, "dearer": 6, "paused": 3, "still paused": 0}
    assert counts == {name: rows[name] + (full_text[name] if database == "sqlite" else 0) for name in steps}


@given(st.integers(0, MAX_PRICE), st.integers(0, 10**12))
def test_a_price_has_one_of_the_tokens_of_a_bound_exactly_when_it_is_within(price: int, bound: int) -> None:
    for near in (bound, max(price - 1, 0), price, min(price + 1, MAX_PRICE)):
        tokens = up_to(near)
        assert len(set(price_tokens(price)) & set(tokens)) == (price <= near)
        assert len(tokens) <= 60


@given(st.booleans(), st.sampled_from([None, 1.0, 4.2, 5.0]), st.integers(1, 2**46 - 1), st.integers(0, 10**12))
def test_every_key_fits_a_signed_64_bit_number(graduated: bool, rating: float | None, seq: int, price: int) -> None:
    assert 0 <= rank_key(graduated, rating, seq) < 2**63
    assert 0 <= cheapest_key(price, seq) < cheapest_key(None, seq) < 2**63
    assert 0 <= rank_key(graduated, rating, seq) < UNSEEN <= rank_key(graduated, rating, seq, unseen=True) < 2**63
    assert cheapest_key(None, seq, unseen=True) < 2**63
    assert cheapest_key(price, 1) < cheapest_key(price, seq, unseen=True) < cheapest_key(price + 1, seq)
    for unseen in (False, True):
        assert next_slot(cheapest_key(price, seq, unseen)) >> 22 == price << 1 | unseen
