"""Search at scale: seeded listings, indexed in bulk by the market's own code, then p50 and p99 of every filter mix.

    python -m benchmarks.search_scale [--listings 100000] [--url sqlite:///search.db] [--searches 300] [--keep]

The listings use the words of 48 trades and common words, a tenth of them in scripts without spaces. The searches use
every order, every filter and difficult cases: words that never occur together, and a bound just below many equal
prices.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate, islice
from pathlib import Path
from random import Random  # noqa: TID251 - seeded: the same listings and searches every time
from typing import NamedTuple

from storage.database import Database
from storage.listing_search import Indexed, find, index_listings
from storage.migrate import upgrade
from storage.open import open_database
from storage.search_tokens import ListingSearch, Sort
from storage.tables.listings import ListingRow
from storage.transaction import Tx
from tools.kernel.search_terms import index_terms, query_terms

TRADES, COMMON_WORDS, TRADE_WORDS, TAGS = 48, 3_000, 600, 1_500
CHUNK = 50_000
MAX_SECONDS = 3_600
ROUND_PRICES = (10_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 25_000_000)
BORN = datetime(2026, 1, 1, tzinfo=UTC)
SYLLABLES = ("ka", "to", "mi", "re", "lo", "sa", "ne", "vu", "pi", "do", "ga", "he", "ri", "zu", "ba", "no")


def zipf(size: int) -> list[float]:
    return list(accumulate(1 / (place + 3) ** 0.9 for place in range(size)))


def word(number: int) -> str:
    """Return an invented word for a number, the same every time."""
    parts: list[str] = []
    while number or not parts:
        number, part = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[part])
    return "".join(parts) + "n"


COMMON = [word(number) for number in range(COMMON_WORDS)]
TRADE = [
    [word(COMMON_WORDS + trade * TRADE_WORDS + number) for number in range(TRADE_WORDS)] for trade in range(TRADES)
]
COMMON_WEIGHTS, TRADE_WEIGHTS, TRADES_WEIGHTS, TAG_WEIGHTS = map(zipf, (COMMON_WORDS, TRADE_WORDS, TRADES, TAGS))


def listings(count: int, seed: int = 7) -> Iterator[Indexed]:
    dice = Random(seed)
    for number in range(1, count + 1):
        yield listing(dice, number, sellers=max(1, count // 5))


def listing(dice: Random, number: int, sellers: int) -> Indexed:
    trade = dice.choices(range(TRADES), cum_weights=TRADES_WEIGHTS)[0]
    words = dice.choices(COMMON, cum_weights=COMMON_WEIGHTS, k=16) + dice.choices(
        TRADE[trade], cum_weights=TRADE_WEIGHTS, k=24
    )
    dice.shuffle(words)
    if dice.random() < 0.1:
        words[:4] = ["".join(chr(0x4E00 + int(dice.paretovariate(0.6)) % 3_000) for _ in range(12))]
    tags = sorted(
        {f"tag-{dice.choices(range(TAGS), cum_weights=TAG_WEIGHTS)[0]}" for _ in range(3)} | {f"trade-{trade}"}
    )
    model = dice.choices(("fixed", "per_unit", "quote"), (80, 15, 5))[0]
    price = dice.choice(ROUND_PRICES) if dice.random() < 0.7 else int(10 ** dice.uniform(4, 8))
    row = ListingRow(
        id=f"lst_{number:024x}",
        env="live" if dice.random() < 0.85 else "test",
        seller_id=f"agt_{dice.randrange(sellers):024x}",
        title=" ".join(words[:6]),
        description=" ".join(words[6:]),
        category=f"trade {trade}",
        tags=tags,
        pricing_model=model,
        price=None if model == "quote" else price,
        unit_name="page" if model == "per_unit" else None,
        payment="upfront" if dice.random() < 0.1 else "on_delivery",
        input_schema=None,
        output_schema=None,
        example_input=None,
        example_output=None,
        turnaround_seconds=3600,
        accept_timeout_seconds=3600,
        max_open_jobs=10,
        content_warnings=[],
        first_party=False,
        graduated=dice.random() < 0.1,
        stats="{}",
        created_at=BORN,
        updated_at=BORN,
    )
    rating = round(dice.uniform(3, 5), 2) if dice.random() < 0.3 else None
    return Indexed(row, index_terms(row.title, row.description, tags, row.category), rating)


def common(dice: Random) -> str:
    return COMMON[dice.randrange(10)]


def mid(dice: Random, trade: int | None = None) -> str:
    return TRADE[dice.randrange(TRADES) if trade is None else trade][dice.randrange(5, 60)]


def rare(dice: Random) -> str:
    return TRADE[dice.randrange(TRADES)][dice.randrange(400, TRADE_WORDS)]


def ask(*words: str, **filters: object) -> ListingSearch:
    return replace(ListingSearch(env="live", terms=query_terms(" ".join(words))), **filters)  # type: ignore[arg-type]


def of_trade(trade: int, *words: str, **filters: object) -> ListingSearch:
    return ask(*words, category=f"trade {trade}", **filters)


def a_tag(dice: Random) -> tuple[str, ...]:
    return (f"tag-{dice.choices(range(TAGS), cum_weights=TAG_WEIGHTS)[0]}",)


def a_price(dice: Random) -> int:
    return dice.choice((*ROUND_PRICES, int(10 ** dice.uniform(4, 8))))


Mix = Callable[[Random], ListingSearch]
MIXES: dict[str, Mix] = {
    "no filter": lambda d: ask(),
    "graduated": lambda d: ask(graduated=True),
    "not graduated": lambda d: ask(graduated=False),
    "category": lambda d: of_trade(d.randrange(TRADES)),
    "tag": lambda d: ask(tags=a_tag(d)),
    "two tags": lambda d: ask(tags=a_tag(d) + a_tag(d)),
    "seller": lambda d: ask(seller_id=f"agt_{d.randrange(2_000):024x}"),
    "seller, category": lambda d: of_trade(d.randrange(TRADES), seller_id=f"agt_{d.randrange(2_000):024x}"),
    "pricing model, upfront": lambda d: ask(pricing_model=d.choice(("per_unit", "quote")), payment="upfront"),
    "max_price": lambda d: ask(max_price=a_price(d)),
    "max_price just under a crowd": lambda d: ask(max_price=d.choice(ROUND_PRICES) - 1),
    "max_price 1": lambda d: ask(max_price=1),
    "category, max_price": lambda d: of_trade(d.randrange(TRADES), max_price=a_price(d)),
    "category, tag of another": lambda d: of_trade(d.randrange(20), tags=(f"trade-{20 + d.randrange(20)}",)),
    "tag, category, max_price": lambda d: of_trade(d.randrange(TRADES), tags=a_tag(d), max_price=a_price(d)),
    "q common": lambda d: ask(common(d)),
    "q mid": lambda d: ask(mid(d)),
    "q rare": lambda d: ask(rare(d)),
    "q unknown": lambda d: ask("xyzzy"),
    "q two common": lambda d: ask(common(d), common(d)),
    "q two of one trade": lambda d: (lambda t: ask(mid(d, t), mid(d, t)))(d.randrange(TRADES)),
    "q two of other trades, then any": lambda d: ask(mid(d), mid(d)),
    "q six words": lambda d: ask(common(d), common(d), mid(d), mid(d), rare(d), common(d)),
    "q ten common words": lambda d: ask(*(COMMON[d.randrange(60)] for _ in range(10))),
    "q Han pair": lambda d: ask(chr(0x4E01 + d.randrange(4)) + chr(0x4E01 + d.randrange(4))),
    "q Han run": lambda d: ask("".join(chr(0x4E01 + d.randrange(4)) for _ in range(5))),
    "q common, category": lambda d: of_trade(d.randrange(TRADES), common(d)),
    "q mid, its category": lambda d: (lambda t: of_trade(t, mid(d, t)))(d.randrange(TRADES)),
    "q mid, another category": lambda d: of_trade(d.randrange(TRADES), mid(d)),
    "q mid, max_price": lambda d: ask(mid(d), max_price=a_price(d)),
    "q mid, max_price under a crowd": lambda d: ask(mid(d), max_price=d.choice(ROUND_PRICES) - 1),
    "q common, max_price 1": lambda d: ask(common(d), max_price=1),
    "q mid, category, tag, max_price": lambda d: (
        lambda t: of_trade(t, mid(d, t), tags=(f"trade-{t}",), max_price=a_price(d))
    )(d.randrange(TRADES)),
    "all filters": lambda d: (
        lambda t: of_trade(
            t, mid(d, t), tags=a_tag(d), max_price=a_price(d), pricing_model="fixed", payment="upfront", graduated=True
        )
    )(d.randrange(TRADES)),
}  # fmt: skip
ORDERED = (
    "no filter",
    "category, max_price",
    "q common",
    "q mid",
    "q mid, max_price",
    "q mid, another category",
    "tag",
)


def by(sort: Sort, mix: Mix) -> Mix:
    return lambda dice: replace(mix(dice), sort=sort)


def build(database: Database, count: int, chunk: int = CHUNK) -> float:
    """Index `count` listings; return the seconds.

    The listings themselves are left out, because search does not read them.
    """
    began = time.perf_counter()
    tx = database.writing()
    if tx.is_sqlite:
        tx.cursor.connection.executescript("PRAGMA synchronous=OFF; PRAGMA cache_size=-500000;")
    made = listings(count)
    while batch := list(islice(made, chunk)):
        tx.cursor.execute(database.begin)
        index_listings(tx, batch)
        tx.cursor.execute("COMMIT")
        print(f"  {batch[-1].listing.id} after {time.perf_counter() - began:.0f} s", flush=True)
    if not tx.is_sqlite:
        tx.cursor.execute("VACUUM ANALYZE listing_search")
    return time.perf_counter() - began


class Times(NamedTuple):
    """Milliseconds of real time, and a p99 of this thread's CPU, which excludes other load."""

    p50: float
    p99: float
    p99_cpu: float
    hits: float  # for each page, on average


def measure(tx: Tx, mix: Mix, searches: int, deep: bool) -> Times:
    """Measure the same searches every time.

    `deep`: the page after the first 200 hits, if there are more.
    """
    dice, taken, cpu, hits = Random(11), [], [], 0
    for _ in range(searches):
        search = mix(dice)
        if deep:
            found = find(tx, replace(search, limit=200))
            if found.after is None:
                continue
            search = replace(search, after=found.after, any_terms=found.any_terms)
        began, began_cpu = time.perf_counter(), time.thread_time()
        found = find(tx, search)
        cpu.append(time.thread_time() - began_cpu)
        taken.append(time.perf_counter() - began)
        hits += len(found.hits)
    if not taken:
        return Times(0, 0, 0, 0)
    return Times(nth(taken, 0.5), nth(taken, 0.99), nth(cpu, 0.99), hits / len(taken))


def nth(seconds: list[float], part: float) -> float:
    return sorted(seconds)[int(len(seconds) * part)] * 1000


def report(database: Database, searches: int) -> float:
    """Print every mix; return the worst p99.

    It is by the thread's CPU if the database is in the thread, otherwise by real time.
    """
    tx = database.reading(MAX_SECONDS)
    database.start_read(tx, MAX_SECONDS)
    worst = 0.0
    cases = [(name, mix, False) for name, mix in MIXES.items()]
    cases += [(f"{name} by {sort}", by(sort, MIXES[name]), False) for name in ORDERED for sort in list(Sort)[1:]]
    cases += [(f"{name}, deep", MIXES[name], True) for name in ORDERED]
    print(f"{'mix':44} {'p50 ms':>8} {'p99 ms':>8} {'p99 cpu':>8} {'hits':>6}")
    for name, mix, deep in cases:
        measure(tx, mix, searches // 3, deep)  # warms the file
        times = measure(tx, mix, searches, deep)
        worst = max(worst, times.p99_cpu if tx.is_sqlite else times.p99)
        print(f"{name:44} {times.p50:8.3f} {times.p99:8.3f} {times.p99_cpu:8.3f} {times.hits:6.1f}", flush=True)
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listings", type=int, default=100_000)
    parser.add_argument("--searches", type=int, default=300)
    parser.add_argument("--url", default=None, help="an empty database; by default a SQLite file that is removed")
    parser.add_argument("--built", action="store_true", help="the database at --url holds the listings already")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(given.url or f"sqlite:///{Path(folder, 'search.db')}")
        upgrade(database)
        if not given.built:
            print(f"{given.listings:,} listings indexed in {build(database, given.listings):.1f} s")
        print(f"worst p99: {report(database, given.searches):.2f} ms")
        database.close()


if __name__ == "__main__":
    main()
