"""The cases with absolute figures: commits, durability, streams, blocked event loop, search at scale, the start."""

import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks import shots
from benchmarks.goals import GOALS
from benchmarks.load import Plan, Shot, fire
from benchmarks.processes import ROOT, Child
from benchmarks.ratios import Make
from benchmarks.rounds import Row, absolute
from benchmarks.stage import Stage
from benchmarks.subject import tell
from storage.open import open_database
from storage.tables import JobRow

MANY, STREAMS, STREAMS_PER_KEY, FULL = 64, 1_000, 5, 2
JOB_ID = rb'"id":"(job_[0-9A-Z]{26})"'
WORST = re.compile(r"worst p99: ([0-9.]+) ms")
LARGE = 511 * 1024
STARTS = 3
LISTS = tuple(partial(shots.job_lists, limit=limit) for limit in (20, 100))
EMPORION = "from server.cli import app; app()"


def commits(stage: Stage) -> Row:
    """Measure G6: commits for each unit of work, from the store's counters."""
    before = stage.counters(stage.subject)
    tally = stage.fire(stage.subject, shots.jobs(stage.subject.port, stage.data), MANY)
    after = stage.counters(stage.subject)
    written, created = after["commits"] - before["commits"], after["units"] - before["units"]
    return absolute(GOALS["G6"], written / created, f"{written:.0f}", f"{created:.0f} units", f"p99 {tally.p99:.0f} ms")


def durability(stage: Stage) -> Row:
    """Measure G8: kill the server while it creates jobs; count acknowledged jobs in the file."""
    child = stage.market()
    plan = Plan([child.port], [child.pid], shots.jobs(child.port, stage.data), MANY, 20, keep=JOB_ID, may_break=True)
    stage.worker.start(fire, plan)
    time.sleep(1.5)
    child.kill()
    acknowledged = stage.worker.finish().kept
    database = open_database(f"sqlite:///{child.folder / 'market.db'}")
    synchronous = database.write_cursor().connection.execute("PRAGMA synchronous").fetchone()[0]
    tx = database.writing()
    kept = sum(tx.get(JobRow, job_id) is not None for job_id in acknowledged)
    database.close()
    figure = 100 * kept / len(acknowledged) if synchronous == FULL else 0.0
    return absolute(GOALS["G8"], figure, f"{kept} jobs", f"{len(acknowledged)} answered", f"synchronous={synchronous}")


def streams(stage: Stage) -> list[Row]:
    """Measure G14: memory of each of a thousand idle streams, and CPU of all, with heartbeats."""
    seconds = 45.0 if stage.full else 15.0
    child = stage.market()
    _raise_file_limit()
    with _listening(stage, child, 40):  # the first streams load modules, which is not their memory
        pass
    time.sleep(0.5)
    before, alone = child.resident_kb(), _idle_percent(child, 5.0)
    with _listening(stage, child, STREAMS):
        time.sleep(0.5)
        memory = (child.resident_kb() - before) / STREAMS
        busy = _idle_percent(child, seconds)
    child.stop()
    return [
        absolute(GOALS["G14 memory"], memory, note=f"{STREAMS} streams"),
        absolute(GOALS["G14 idle"], busy, note=f"{alone:.1f} % without a stream"),
    ]


def blocks(stage: Stage) -> Row:
    """Measure G18: the longest step of the event loop under mixed calls.

    They include lists of jobs and one delivery of half a megabyte.
    """
    child, data = stage.market("--steps", template=stage.history), stage.data
    mixed: list[Shot] = []
    kinds: tuple[Make, ...] = (
        shots.listings,
        shots.searches,
        shots.polls,
        shots.tool_calls,
        shots.messages,
        shots.jobs,
        *LISTS,
    )
    for some in zip(*(make(child.port, data)[:32] for make in kinds), strict=True):
        mixed.extend(some)
    job, seller = _accepted_job(stage, child)
    fire_plan = Plan([child.port], [child.pid], mixed, 8, 4.0, warm_answers=len(mixed))
    stage.worker.run(fire, Plan([child.port], [child.pid], mixed, 8, 0.1, warm_answers=len(mixed)))
    stage.worker.start(fire, fire_plan)
    tell(child.folder, "watch")
    time.sleep(1.0)
    output = {"text": "It is done, and here it stands. " * (LARGE // 32)}
    status, answer = child.ask("POST", f"/v1/jobs/{job}/deliver", seller, {"output": output})
    if status != 200:
        raise RuntimeError(f"the delivery: {status} {answer}")
    stage.worker.finish()
    found = tell(child.folder, "blocks")
    unit = stage.counters(child)
    child.stop()
    note = (
        f"a due callback waited for {found['delay_ms']:.0f} ms of our CPU, {found['delay_by_clock_ms']:.0f} by the clock; "
        f"longest unit {unit['longest_unit_seconds'] * 1000:.0f} ms"
    )
    return absolute(GOALS["G18"], found["step_ms"], f"{answer['output_bytes']} bytes", "", note)


def scale(stage: Stage) -> Row:
    """Measure G4: the search benchmark, with a hundred thousand listings or a million."""
    count, searches = (1_000_000, 200) if stage.full else (100_000, 60)
    command = [sys.executable, "-m", "benchmarks.search_scale", "--listings", str(count), "--searches", str(searches)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = WORST.search(done.stdout)
    assert found, done.stdout
    return absolute(GOALS["G4"], float(found[1]), note=f"{count:,} listings; the thread's CPU")


def start(stage: Stage) -> list[Row]:
    """Measure G21: `emporion serve` in an empty folder, from its start to its first answer."""
    taken, resident = [], []
    for _ in range(STARTS):
        folder = Path(tempfile.mkdtemp(dir=stage.folder))
        child = Child(["-c", EMPORION, "serve", "--data-dir", str(folder)], folder, "/health")
        taken.append(child.cpu_seconds())
        time.sleep(1.0)
        resident.append(child.resident_kb() / 1024)
        child.stop()
    spread = f"{min(taken):.1f}-{max(taken):.1f} s"
    return [
        absolute(GOALS["G21 start"], min(taken), note=f"least of {STARTS}: {spread}"),
        absolute(GOALS["G21 memory"], statistics.median(resident)),
    ]


@contextmanager
def _listening(stage: Stage, child: Child, count: int) -> Iterator[None]:
    """Hold this many event streams open."""
    wires = []
    try:
        for number in range(count):
            key = stage.data.traders[number // STREAMS_PER_KEY].key
            wire = socket.create_connection(("127.0.0.1", child.port), timeout=20)
            wires.append(wire)
            wire.sendall(shots.get(child.port, "/v1/events/stream", key, b"").request)
        for wire in wires:
            got = b""
            while b"event: ready" not in got:
                got += (piece := wire.recv(4096))
                if not piece or not got.startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(f"a stream was refused: {got[:300].decode()}")
        yield
    finally:
        for wire in wires:
            wire.close()


def _idle_percent(child: Child, seconds: float) -> float:
    before = child.cpu_seconds()
    time.sleep(seconds)
    return (child.cpu_seconds() - before) / seconds * 100


def _raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4_096 if hard == resource.RLIM_INFINITY else min(4_096, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def _accepted_job(stage: Stage, child: Child) -> tuple[str, str]:
    """Return a job in progress, and its seller's key."""
    key, listing = shots.orders(stage.data)[-1]
    seller = stage.data.sellers[listing].key
    _, job = child.ask("POST", "/v1/jobs", key, {"listing_id": listing, "input": shots.ORDERED})
    status, answer = child.ask("POST", f"/v1/jobs/{job['id']}/accept", seller)
    if status != 200:
        raise RuntimeError(f"the acceptance: {status} {answer}")
    return job["id"], seller
