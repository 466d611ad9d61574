"""Listings and searches for the tests of search, and the expected results, computed directly from the rules."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random  # noqa: TID251 - seeded: the same listings and searches every time

from storage.listing_search import FTS, Indexed, find, index_listings, move_seen
from storage.search_tokens import ListingSearch, Sort
from storage.store import Store
from storage.tables import ListingRow
from storage.transaction import Tx
from storage.vocabulary import ListingStatus
from tools.kernel.search_terms import index_terms, query_terms

BORN = datetime(2026, 11, 21, tzinfo=UTC)
WORDS = ["translate", "text", "code", "review", "image", "data", "機械翻訳", "अनुवाद", "c++", "the", "ترجمة"]
CATEGORIES = ["text", "code", "r & d", "50% off", "言語"]
TAGS = ["c++", "a b", "100%", '"quoted"', "it's", "back\\slash", "*", "言語", ":*", "and", "x|y", "(z)"]
PRICES = [None, 0, 1, 9_999, 10_000, 250_000, 999_999, 1_000_000, 1_000_001, 10**12]
SELLERS = ["agt_1", "agt_2", "agt_3"]


@dataclass(frozen=True, slots=True)
class Case(Indexed):
    """An indexed listing, and whether its seller was not seen for too long."""

    unseen: bool = False


def listing(number: int, **changed: object) -> ListingRow:
    values: dict[str, object] = {
        "id": f"lst_{number}", "env": "live", "seller_id": "agt_1", "title": "Translate a text", "description": "Quickly.",
        "category": "text", "tags": [], "pricing_model": "fixed", "price": 250_000, "unit_name": None,
        "payment": "on_delivery", "input_schema": None, "output_schema": None, "example_input": None,
        "example_output": None, "turnaround_seconds": 3_600, "accept_timeout_seconds": 3_600, "max_open_jobs": 10,
        "content_warnings": [], "first_party": False, "stats": "{}", "created_at": BORN, "updated_at": BORN,
    }  # fmt: skip
    return ListingRow(**(values | changed))


def changed(row: ListingRow, **values: object) -> ListingRow:
    return ListingRow(**(row.__dict__ | values))


def some_listing(dice: Random, number: int) -> Case:
    price = dice.choice(PRICES)
    row = listing(
        number,
        env=dice.choice(["live", "live", "live", "test"]),
        seller_id=dice.choice(SELLERS),
        title=" ".join(dice.sample(WORDS, 3)),
        description=" ".join(dice.sample(WORDS, 4)),
        category=dice.choice(CATEGORIES),
        tags=dice.sample(TAGS, dice.randrange(4)),
        pricing_model="quote" if price is None else dice.choice(["fixed", "per_unit"]),
        price=price,
        payment=dice.choice(["on_delivery", "upfront"]),
        graduated=dice.random() < 0.4,
        status=dice.choice([*[ListingStatus.ACTIVE] * 8, ListingStatus.PAUSED, ListingStatus.ARCHIVED]),
    )
    rating = dice.choice([None, 1.0, 3.5, 4.25, 4.251, 5.0])
    unseen = row.status is ListingStatus.ACTIVE and dice.random() < 0.4
    return replace(indexed(row, rating), unseen=unseen)


def indexed(row: ListingRow, rating: float | None = None) -> Case:
    return Case(row, index_terms(row.title, row.description, row.tags, row.category), rating)


def some_search(dice: Random) -> ListingSearch:
    maybe = lambda values: dice.choice([None, None, None, *values])  # noqa: E731 - short, and only here
    return ListingSearch(
        env=dice.choice(["live", "live", "test"]),
        terms=query_terms(" ".join(dice.sample(WORDS, dice.choice([0, 1, 1, 2, 3])))),
        any_terms=dice.random() < 0.2,
        category=maybe(CATEGORIES),
        tags=tuple(dice.sample(TAGS, dice.choice([0, 0, 0, 1, 2]))),
        seller_id=maybe(SELLERS),
        max_price=maybe([price for price in PRICES if price is not None]),
        pricing_model=maybe(["fixed", "quote"]),
        payment=maybe(["on_delivery", "upfront"]),
        graduated=maybe([True, False]),
        sort=dice.choice(list(Sort)),
        limit=dice.choice([1, 3, 7, 100]),
    )


def fits(search: ListingSearch, one: Indexed) -> bool:
    """Check whether a listing matches a search by each rule."""
    row = one.listing
    found = [term in one.terms for term in search.terms]
    return (
        row.status is ListingStatus.ACTIVE
        and row.env == search.env
        and (any(found) or not found if search.any_terms else all(found))
        and search.category in (None, row.category)
        and set(search.tags) <= set(row.tags)
        and search.seller_id in (None, row.seller_id)
        and (search.max_price is None or row.price is None or row.price <= search.max_price)
        and search.pricing_model in (None, row.pricing_model)
        and search.payment in (None, row.payment)
        and search.graduated in (None, row.graduated)
    )


def order(sort: Sort, one: Case, age: int) -> tuple[float, ...]:
    """Return the sort key, lowest first. `age` is lower for newer listings."""
    row, rating = one.listing, -(one.rating or 0)
    orders: dict[Sort, tuple[float, ...]] = {
        Sort.RELEVANCE: (one.unseen, not row.graduated, rating, age),
        Sort.RATING: (rating, one.unseen, age),
        Sort.NEWEST: (age,),
        Sort.CHEAPEST: (row.price is None, row.price or 0, one.unseen, age),
    }
    return orders[sort]


def expected(search: ListingSearch, listings: Sequence[Case]) -> list[str]:
    """Return the ids of all pages; `listings` are in the order of their first indexing."""
    ages = {one.listing.id: -place for place, one in enumerate(listings)}
    found = [one for one in listings if fits(search, one)]
    if not found and len(search.terms) > 1 and not search.any_terms:
        return expected(replace(search, any_terms=True), listings)
    found.sort(key=lambda one: order(search.sort, one, ages[one.listing.id]))
    return [one.listing.id for one in found]


def every_page(tx: Tx, search: ListingSearch) -> list[str]:
    ids: list[str] = []
    while True:
        found = find(tx, search)
        assert len(found.hits) <= search.limit
        assert (found.after is None) or len(found.hits) == search.limit
        ids += [hit.id for hit in found.hits]
        if found.after is None:
            return ids
        search = replace(search, after=found.after, any_terms=found.any_terms)


async def put(store: Store, *listings: Case) -> None:
    def write(tx: Tx) -> None:
        index_listings(tx, listings)
        for one in listings:
            move_seen(tx, one.listing.id, None if one.unseen else BORN)

    await store.write(write)


async def ids(store: Store, q: str = "", **filters: object) -> list[str]:
    search = replace(ListingSearch(env="live", terms=query_terms(q), limit=3), **filters)  # type: ignore[arg-type]
    return await store.scan(lambda tx: every_page(tx, search))


def sound(tx: Tx) -> None:
    if tx.is_sqlite:
        for name in FTS.values():
            tx.cursor.execute(f"INSERT INTO {name}({name}) VALUES ('integrity-check')")
