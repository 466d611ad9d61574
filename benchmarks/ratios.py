"""The cases that are ratios: the real server's CPU for a request against its floor's for the same answer."""

import asyncio
import shutil
import time
from collections.abc import Callable
from statistics import median

from benchmarks import raw, shots
from benchmarks.data import PEPPER, Seeded
from benchmarks.goals import GOALS
from benchmarks.load import Shot
from benchmarks.processes import Child
from benchmarks.rounds import Cost, Row, compare, noted, repeat
from benchmarks.stage import Stage

Make = Callable[[int, Seeded], list[Shot]]
RECORDED_ORDERS, WRITING = 300, 32
SEEN_WRITTEN_SECONDS = 12.0  # the workers write every ten seconds, and for each agent once a minute


def listing(stage: Stage) -> Row:
    """Measure G1, reading a listing."""
    return against(stage, "G1", stage.http, shots.listings)


def search(stage: Stage) -> list[Row]:
    """Measure G3.

    The floor is the stored page, and the search's own statement on its own connection.
    """
    path = stage.folder / "searches.db"
    shutil.copyfile(stage.template, path)
    key = stage.data.traders[0].key
    calls = [raw.Call("search_listings", asked, key) for asked in shots.search_words()]
    units = asyncio.run(raw.record(path, PEPPER, calls * 2))[len(calls) :]  # the second time with full caches
    for unit in units:
        assert len(unit.answer["data"]) == 20
    replay = raw.Replay(path, units, times=2_000, writes=False)
    again = _with_sql(stage, "G3", shots.searches, replay, connections=16)
    first = repeat(GOALS["G3 first"], warmed(stage, stage.uncached, shots.searches), stage.rounds)
    return [again, first]


def create_job(stage: Stage) -> list[Row]:
    """Measure G5, and its ratio to a floor.

    The floor is a POST that reads its body, and the statements of each transaction.
    """
    path = stage.folder / "orders.db"
    shutil.copyfile(stage.template, path)
    orders = shots.orders(stage.data)[:RECORDED_ORDERS]
    calls = [
        raw.Call("create_job", {"listing_id": listing, "input": shots.ORDERED | {"text": f"number {number}"}}, key)
        for number, (key, listing) in enumerate(orders)
    ]
    units = asyncio.run(raw.record(path, PEPPER, calls))
    replay = raw.Replay(path, units, times=1_000, writes=True)
    ratio = _with_sql(stage, "G5 ratio", shots.jobs, replay, WRITING)
    given, latencies = shots.jobs(stage.subject.port, stage.data), list[float]()

    def cost() -> float:
        tally = stage.fire(stage.subject, given, WRITING)
        latencies.append(tally.p99)
        return tally.cpu_us

    alone = repeat(GOALS["G5"], cost, stage.rounds)
    return [noted(alone, f"p99 {median(latencies):.0f} ms"), ratio]


def poll(stage: Stage) -> Row:
    """Measure G9, polling for events."""
    return against(stage, "G9", stage.http, shots.polls)


def tool_call(stage: Stage) -> Row:
    """Measure G10, a tool call over MCP."""
    _same_record(stage)
    return against(stage, "G10", stage.mcp, shots.tool_calls)


def catalogue(stage: Stage) -> Row:
    """Measure G11: a server with all tools against one with one tool, of the same age.

    Ten seconds after its first calls a market writes the last-seen times of their agents. Then it reads their listings
    from the database again, and calls cost three times as much for a moment. Both servers do this before the
    measurement. Otherwise the two would do it in different turns.
    """
    children, given = (stage.all_tools, stage.one_tool), shots.tool_calls
    for child in children:
        warmed(stage, child, given)
    time.sleep(SEEN_WRITTEN_SECONDS)
    ours, theirs = (warmed(stage, child, given) for child in children)
    return compare(GOALS["G11"], ours, theirs, 3 * stage.rounds)


def message(stage: Stage) -> Row:
    """Measure G13, a message over A2A."""
    return against(stage, "G13", stage.a2a, shots.messages)


def page(stage: Stage) -> Row:
    """Measure G22: a page against the JSON of the same search, from a server behind a proxy."""
    child = stage.market(env={"EMPORION_TRUSTED_PROXIES": "127.0.0.1"})
    pages, searches = (warmed(stage, child, make) for make in (shots.pages, shots.searches))
    return compare(GOALS["G22"], pages, searches, stage.rounds)


def against(stage: Stage, goal: str, floor: Child, make: Make, connections: int = 16) -> Row:
    """Compare the market with another server, with rate limits on and off."""
    costs = [warmed(stage, child, make, connections) for child in (stage.subject, floor, stage.unlimited)]
    return compare(GOALS[goal], costs[0], costs[1], stage.rounds, unlimited=costs[2])


def warmed(stage: Stage, child: Child, make: Make, connections: int = 16) -> Cost:
    """Send each request once, so that caches are full; return the measurement."""
    given = make(child.port, stage.data)
    stage.cost(child, given, connections, warm=min(len(given), 1_000))
    return lambda: stage.cost(child, given, connections)


def _with_sql(stage: Stage, goal: str, make: Make, replay: raw.Replay, connections: int) -> Row:
    """Compare with HTTP with a stored answer plus the statements alone, one after the other."""
    subject, http, unlimited = (
        warmed(stage, child, make, connections) for child in (stage.subject, stage.http, stage.unlimited)
    )
    parts: list[tuple[float, float]] = []

    def floor() -> float:
        given = raw.Replay(replay.path, replay.units, replay.times, replay.writes, first=len(parts) * replay.times)
        parts.append((http(), stage.worker.run(raw.replay, given)))
        return sum(parts[-1])

    row = compare(GOALS[goal], subject, floor, stage.rounds, unlimited)
    answering, sql = map(median, zip(*parts, strict=True))
    return noted(row, f"floor {answering:.0f} HTTP + {sql:.0f} SQL")


def _same_record(stage: Stage) -> None:
    """Check that MCP answers with REST's record, except for the time the seller was last seen."""
    sent = shots.tool_calls(stage.subject.port, stage.data)[0]
    _, read = stage.subject.ask("GET", f"/v1/listings/{stage.data.listing_ids[0]}", stage.data.traders[0].key)
    answered = stage.subject.send(sent.request)["result"]["structuredContent"]
    for record in (answered, read):
        record.pop("seller_last_seen_at", None)
    if answered != read:
        raise RuntimeError(f"MCP answered {answered}, REST {read}")
