"""The cases that are ratios: the real server's CPU for a request against its floor's for the same answer."""

import asyncio
import shutil
from collections.abc import Callable

from benchmarks import raw, shots
from benchmarks.data import Seeded
from benchmarks.goals import GOALS
from benchmarks.load import Shot
from benchmarks.processes import Child
from benchmarks.rounds import Row, compare
from benchmarks.stage import PEPPER, Stage

Make = Callable[[int, Seeded], list[Shot]]
RECORDED_ORDERS, WRITING = 300, 32


def listing(stage: Stage) -> Row:
    """Measure G1, reading a listing."""
    return _against(stage, "G1", stage.subject, stage.http, shots.listings)


def search(stage: Stage) -> Row:
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
    return _with_sql(stage, "G3", shots.searches, replay, connections=16)


def create_job(stage: Stage) -> Row:
    """Measure G5.

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
    return _with_sql(stage, "G5", shots.jobs, raw.Replay(path, units, times=1_000, writes=True), WRITING)


def poll(stage: Stage) -> Row:
    """Measure G9, polling for events."""
    return _against(stage, "G9", stage.subject, stage.http, shots.polls)


def tool_call(stage: Stage) -> Row:
    """Measure G10, a tool call over MCP."""
    _same_record(stage)
    return _against(stage, "G10", stage.subject, stage.mcp, shots.tool_calls)


def catalogue(stage: Stage) -> Row:
    """Measure G11: a server with all tools against one with one tool, of the same age."""
    return _against(stage, "G11", stage.all_tools, stage.one_tool, shots.tool_calls)


def message(stage: Stage) -> Row:
    """Measure G13, a message over A2A."""
    return _against(stage, "G13", stage.subject, stage.a2a, shots.messages)


def page(stage: Stage) -> Row:
    """Measure G22: a page against the JSON of the same search, both from the real server."""
    return _against(stage, "G22", stage.subject, stage.subject, shots.pages, shots.searches)


def _against(stage: Stage, goal: str, subject: Child, floor: Child, make: Make, make_floor: Make | None = None) -> Row:
    ours, theirs = make(subject.port, stage.data), (make_floor or make)(floor.port, stage.data)
    stage.cost(subject, ours, warm=len(ours))  # one of each, so that caches are full before the measurement
    stage.cost(floor, theirs, warm=len(theirs))
    return compare(
        GOALS[goal], lambda: stage.cost(subject, ours), lambda: stage.cost(floor, theirs), stage.rounds
    )  # fmt: skip


def _with_sql(stage: Stage, goal: str, make: Make, replay: raw.Replay, connections: int) -> Row:
    """Compare with HTTP with a stored answer plus the statements alone, one after the other."""
    ours, theirs = make(stage.subject.port, stage.data), make(stage.http.port, stage.data)
    stage.cost(stage.subject, ours, connections, warm=len(ours) if not replay.writes else 200)
    told: list[tuple[float, float]] = []

    def floor() -> float:
        given = raw.Replay(replay.path, replay.units, replay.times, replay.writes, first=len(told) * replay.times)
        told.append((stage.cost(stage.http, theirs, connections), stage.worker.run(raw.replay, given)))
        return sum(told[-1])

    row = compare(GOALS[goal], lambda: stage.cost(stage.subject, ours, connections), floor, stage.rounds)
    http, sql = (sorted(part)[len(part) // 2] for part in zip(*told, strict=True))
    return Row(
        row.goal, row.figure, row.verdict, row.subject, row.floor, row.spread, f"floor {http:.0f} HTTP + {sql:.0f} SQL"
    )


def _same_record(stage: Stage) -> None:
    """Check that MCP answers with REST's record, except for the time the seller was last seen."""
    sent = shots.tool_calls(stage.subject.port, stage.data)[0]
    _, told = stage.subject.ask("GET", f"/v1/listings/{stage.data.listing_ids[0]}", stage.data.traders[0].key)
    answered = stage.subject.send(sent.request)["result"]["structuredContent"]
    for record in (answered, told):
        record.pop("seller_last_seen_at", None)
    if answered != told:
        raise RuntimeError(f"MCP answered {answered}, REST {told}")
