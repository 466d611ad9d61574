"""The load generator: prebuilt requests over persistent connections, from its own process.

It checks the status of every answer, and bytes that its body must contain. It counts the answers between two readings
of the server's CPU. So a slow generator or other load does not affect the figure.
"""

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import psutil
import uvloop

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
NUMBER = b"##number##"  # replaced by a new number in each request
MAX_WAIT_SECONDS = 20.0


class Shot(NamedTuple):
    """One request as bytes, and the expected status and content of its answer."""

    request: bytes
    status: int
    holds: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """The requests of a run, the processes that serve them, and its duration.

    The connections are spread over the ports. `database_pid` is PostgreSQL's first process; its children count too.
    """

    ports: Sequence[int]
    pids: Sequence[int]
    shots: Sequence[Shot]
    connections: int
    seconds: float
    warm_answers: int = 0  # before the measurement: one of each shot fills the caches
    keep: bytes | None = None  # a pattern; its first group is collected from the answers
    may_break: bool = False  # the server is killed during the run, so a lost connection ends it without an error
    database_pid: int | None = None
    replica_pid: int | None = None
    may_refuse: bool = False  # answers 503 are counted, and are no errors
    spins: bool = True  # False: the generator leaves its core to the servers, for rates instead of CPU


@dataclass(slots=True)
class Tally:
    """The result of a run. Latencies are in milliseconds."""

    answered: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    database_seconds: float = 0.0
    replica_seconds: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    errors: int = 0
    refused: int = 0
    first_error: str = ""
    kept: list[str] = field(default_factory=list)

    @property
    def cpu_us(self) -> float:
        """Microseconds of the servers' CPU for one answer."""
        return self.cpu_seconds / self.answered * 1e6

    @property
    def database_us(self) -> float:
        """Microseconds of PostgreSQL's CPU for one answer."""
        return self.database_seconds / self.answered * 1e6

    @property
    def replica_us(self) -> float:
        """Microseconds of the replica's CPU for one answer."""
        return self.replica_seconds / self.answered * 1e6

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answered / self.seconds


def fire(plan: Plan) -> Tally:
    """Run a plan to its end. Raises RuntimeError for a wrong answer, or if there is none."""
    tally: Tally = uvloop.run(_fire(plan))
    if tally.errors or not tally.answered:
        raise RuntimeError(f"{tally.errors} wrong answers of {tally.answered}: {tally.first_error or 'none came'}")
    return tally


async def _fire(plan: Plan) -> Tally:
    run = _Run(plan)
    if plan.spins:
        run.stay_awake()
    loop = asyncio.get_running_loop()
    for number in range(plan.connections):
        await loop.create_connection(lambda: _Line(run), "127.0.0.1", plan.ports[number % len(plan.ports)])
    await asyncio.wait([run.broken, run.warm], timeout=MAX_WAIT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    began, cpu, count = time.perf_counter(), _servers(plan), run.answered
    database, replica = _family(plan.database_pid), _family(plan.replica_pid)
    run.latencies.clear()
    await asyncio.wait([run.broken], timeout=plan.seconds)
    tally = run.tally
    tally.answered, tally.seconds = run.answered - count, time.perf_counter() - began
    tally.cpu_seconds, tally.database_seconds = _servers(plan) - cpu, _family(plan.database_pid) - database
    tally.replica_seconds = _family(plan.replica_pid) - replica
    run.over = True
    taken = sorted(run.latencies)
    if taken:
        tally.p50, tally.p99 = taken[len(taken) // 2] * 1000, taken[len(taken) * 99 // 100] * 1000
    if not run.broken.done():
        await asyncio.wait([asyncio.ensure_future(run.idle.wait())], timeout=MAX_WAIT_SECONDS)
    return tally


def _servers(plan: Plan) -> float:
    return sum(map(cpu_seconds, plan.pids))


def _family(pid: int | None) -> float:
    return 0.0 if pid is None else family_seconds(pid)


def cpu_seconds(pid: int) -> float:
    """Return the CPU of a process; 0 if it has ended."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def family_seconds(pid: int) -> float:
    """Return the CPU of a process and its children, also of those that ended."""
    first = psutil.Process(pid)
    times = first.cpu_times()
    ended = float(times.children_user + times.children_system)
    return ended + cpu_seconds(pid) + sum(cpu_seconds(child.pid) for child in first.children(recursive=True))


class _Run:
    """The shared state of the connections of one run."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.tally = plan, Tally()
        self.keep = re.compile(plan.keep) if plan.keep else None
        self.sent, self.answered, self.open = 0, 0, 0
        self.latencies: list[float] = []
        self.over = False
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.warm: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.idle = asyncio.Event()

    def stay_awake(self) -> None:
        """Never sleep, because a kernel charges the wake-up of a local client to the server."""
        if not self.over:
            asyncio.get_running_loop().call_soon(self.stay_awake)

    def next_shot(self) -> tuple[Shot, bytes]:
        self.sent += 1
        shot = self.plan.shots[self.sent % len(self.plan.shots)]
        return shot, shot.request.replace(NUMBER, b"%010d" % self.sent)

    def judge(self, shot: Shot, status: int, body: bytes) -> None:
        if status == 503 and self.plan.may_refuse:
            self.tally.refused += 1
        elif status != shot.status or shot.holds not in body:
            self.tally.errors += 1
            self.tally.first_error = self.tally.first_error or f"{status} {body[:500].decode(errors='replace')}"
        elif self.keep is not None and (found := self.keep.search(body)):
            self.tally.kept.append(found[1].decode())

    def lost(self, over: bool) -> None:
        self.open -= 1
        if not self.open:
            self.idle.set()
        if over or self.broken.done():
            return
        if not self.plan.may_break:
            self.tally.errors += 1
            self.tally.first_error = self.tally.first_error or "the server closed the connection"
        self.broken.set_result(None)


class _Line(asyncio.Protocol):
    """One connection. It sends the next request when the last answer is complete."""

    def __init__(self, run: _Run) -> None:
        self.run, self.got, self.whole, self.head = run, b"", 0, 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.run.open += 1
        self._send()

    def data_received(self, data: bytes) -> None:
        self.got += data
        if not self.whole:
            end = self.got.find(b"\r\n\r\n")
            if end < 0:
                return
            length = LENGTH.search(self.got, 0, end)
            self.head = end + 4
            self.whole = self.head + (int(length[1]) if length else 0)
        if len(self.got) >= self.whole:
            self._answered()

    def connection_lost(self, error: Exception | None) -> None:
        self.run.lost(self.run.over)

    def _send(self) -> None:
        self.got, self.whole = b"", 0
        self.shot, request = self.run.next_shot()
        self.sent_at = time.perf_counter()
        self.transport.write(request)

    def _answered(self) -> None:
        run = self.run
        run.latencies.append(time.perf_counter() - self.sent_at)
        run.answered += 1
        if run.answered > run.plan.warm_answers and not run.warm.done():
            run.warm.set_result(None)
        run.judge(self.shot, int(self.got[9:12]), self.got[self.head : self.whole])
        if run.over:
            self.transport.close()
        else:
            self._send()
