"""The cases against peers: the market's CPU for a request beside that of the same work in a usual framework."""

from collections.abc import Iterator

from benchmarks import shots
from benchmarks.data import Seeded
from benchmarks.goals import GOALS
from benchmarks.load import Shot
from benchmarks.peers.fastapi_sqlmodel import fill
from benchmarks.processes import Child
from benchmarks.ratios import WRITING, Make, warmed
from benchmarks.rounds import Row, compare
from benchmarks.stage import Stage

PLAIN = {  # a peer's records have fewer fields
    shots.LISTING: b'"output_schema"',
    shots.PAGE: shots.PAGE,
    shots.JOB: b'"status":"open"',
    shots.TOOL: shots.TOOL,
}


def rows(stage: Stage) -> Iterator[Row]:
    """Measure F1 to F10."""
    fastapi = _fastapi(stage)
    fastmcp = stage.start(
        ["-m", "benchmarks.peers.fastmcp_tool", "--answers", str(stage.answers)], stage.folder
    )  # fmt: skip
    yield _beside(stage, "F1", fastapi, shots.listings)
    yield _beside(stage, "F3", fastapi, shots.searches)
    yield _beside(stage, "F5", fastapi, shots.jobs, WRITING)
    yield _beside(stage, "F10", fastmcp, shots.tool_calls)
    for peer in (fastapi, fastmcp):
        peer.stop()


def _fastapi(stage: Stage) -> Child:
    path = stage.folder / "peer.db"
    fill(path, stage.template, [(trader.id, trader.key) for trader in stage.data.traders])
    return stage.start(["-m", "benchmarks.peers.fastapi_sqlmodel", "--data", str(path)], stage.folder)


def _beside(stage: Stage, goal: str, peer: Child, make: Make, connections: int = 16) -> Row:
    def plain(port: int, data: Seeded) -> list[Shot]:
        return [shot._replace(holds=PLAIN[shot.holds]) for shot in make(port, data)]

    ours, theirs = warmed(stage, stage.subject, make, connections), warmed(stage, peer, plain, connections)
    return compare(GOALS[goal], ours, theirs, stage.rounds)
