"""Measure more processes, a replica and a pooler: `python -m benchmarks.scaling [--only writes,serial] [--rounds 3]`.

It prints the tables of docs/scaling.md. The rounds take turns among the rows of a table, and each cell is a median.
The load generator, the servers and PostgreSQL share the cores of this machine, so compare the rows of one table only.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from statistics import median
from threading import Event, Thread
from time import perf_counter

import psycopg

from benchmarks import report, shots
from benchmarks.bouncer import PROGRAM, Bouncer
from benchmarks.cluster import Cluster, Postgres
from benchmarks.load import Plan, Shot, Tally, fire
from benchmarks.stage import Stage
from server.adapters.clock import SystemClock
from storage.open import open_database
from storage.postgres import Postgres as Database
from storage.vocabulary import Counted
from tests.support.replica import Replica

PROCESSES = (1, 2, 4)
CONNECTIONS = 64
SECONDS = 4.0
SERIAL_SECONDS, SERIAL_THREADS = 2.0, 4
SAMPLE_SECONDS = 0.04
POOL_SIZE = 20  # sessions of the pooler for all processes
WAITS = """
SELECT state, coalesce(wait_event_type || ' ' || wait_event, 'running') FROM pg_stat_activity
WHERE datname = %s AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND state <> 'idle'
AND query <> 'ROLLBACK AND CHAIN'
"""
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"


class BenchReplica(Replica):
    """A replica with the cache size of the benchmark's primary."""

    settings = Postgres.settings


@dataclass
class Setting:
    """A row: processes over a database, with more settings."""

    name: str
    database: str
    processes: int
    more: dict[str, str] = field(default_factory=dict)
    url: str | None = None  # if it is not the primary's address
    beside: tuple[int, ...] = ()  # other processes whose CPU counts as the servers'
    tallies: list[Tally] = field(default_factory=list)
    waits: Counter[str] = field(default_factory=Counter)
    megabytes: list[float] = field(default_factory=list)
    sessions: list[float] = field(default_factory=list)

    def middle(self, name: str) -> float:
        return median(getattr(tally, name) for tally in self.tallies)


class Scaling:
    """The cluster, its replica, and the runs."""

    def __init__(self, stage: Stage, rounds: int) -> None:
        self.stage, self.rounds = stage, rounds

    @cached_property
    def cluster(self) -> Cluster:
        return self.stage.cluster

    @cached_property
    def replica(self) -> Replica:
        made = BenchReplica(self.cluster.server)
        self.stage.stack.callback(made.stop)
        return made

    def copies(self, name: str, processes: Iterable[int] = PROCESSES) -> list[Setting]:
        """Return a setting with its own copy of the seeded database for each number of processes."""
        made = []
        for number in processes:
            self.cluster.server.create(f"{name}_{number}", template="seeded")
            made.append(Setting(f"{number}", f"{name}_{number}", number))
        return made

    def run(self, settings: Sequence[Setting], make: Callable[[int], list[Shot]]) -> None:
        """Run all settings in turn, `rounds` times."""
        for _ in range(self.rounds):
            for setting in settings:
                self._once(setting, make)

    def _once(self, setting: Setting, make: Callable[[int], list[Shot]]) -> None:
        server = self.cluster.server
        url = setting.url or server.url(setting.database)
        children = self.cluster.serve(url, setting.processes, setting.more)
        plan = Plan(
            [child.port for child in children], [child.pid for child in children] + list(setting.beside),
            make(children[0].port), CONNECTIONS, SECONDS, 1_000 * setting.processes,
            database_pid=server.pid, replica_pid=self._replica_pid(setting), may_refuse=True, spins=False,
        )  # fmt: skip
        with sampled(server.url(), setting):
            setting.tallies.append(self.stage.worker.run(fire, plan))
        with psycopg.connect(server.url()) as admin:
            setting.sessions.extend(admin.execute(SESSIONS, [setting.database]).fetchone() or ())
        setting.megabytes += [child.resident_kb() / 1024 for child in children]
        for child in children:
            child.stop()

    def _replica_pid(self, setting: Setting) -> int | None:
        if "EMPORION_READ_DATABASE_URL" not in setting.more:
            return None
        assert self.replica.process
        return self.replica.process.pid


@contextmanager
def sampled(url: str, setting: Setting) -> Iterator[None]:
    """Count meanwhile what the working sessions of the database wait for."""
    over = Event()

    def sample() -> None:
        with psycopg.connect(url, autocommit=True) as admin:
            while not over.wait(SAMPLE_SECONDS):
                for state, wait in admin.execute(WAITS, [setting.database]):
                    setting.waits["the market (idle in transaction)" if state != "active" else wait] += 1

    thread = Thread(target=sample)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def writes(scaling: Scaling) -> None:
    """Orders with 1, 2 and 4 processes."""
    settings = scaling.copies("orders")
    scaling.run(settings, lambda port: shots.jobs(port, scaling.stage.data))
    _table("Orders", settings)
    print("\nWhat the working sessions of the database waited for:\n")
    for one in settings:
        total = sum(one.waits.values())
        shares = ", ".join(f"{wait} {count / total:.0%}" for wait, count in one.waits.most_common(5))
        print(f"- {one.name}: {shares}")


def reads(scaling: Scaling) -> None:
    """Reads of one listing, from memory, and searches, with 1, 2 and 4 processes."""
    for title, make in (("One listing", shots.listings), ("Searches", shots.searches)):
        settings = scaling.copies("reads")
        scaling.run(settings, lambda port, make=make: make(port, scaling.stage.data))
        _table(title, settings)


def replica(scaling: Scaling) -> None:
    """Searches with and without a replica."""
    settings = scaling.copies("follow", (1, 2))
    settings += [
        Setting(f"{one.name}, replica", one.database, one.processes,
                {"EMPORION_READ_DATABASE_URL": scaling.replica.url(one.database)})
        for one in settings
    ]  # fmt: skip
    scaling.run(settings, lambda port: shots.searches(port, scaling.stage.data))
    _table("Searches", settings)


def pooler(scaling: Scaling) -> None:
    """Orders and searches of two processes through pgbouncer in transaction mode."""
    if PROGRAM is None:
        print("\npgbouncer is not installed")
        return
    server = scaling.cluster.server
    bouncer = Bouncer(server.folder, "transaction", POOL_SIZE)
    scaling.stage.stack.callback(bouncer.stop)
    for title, make in (("Orders", shots.jobs), ("Searches", shots.searches)):
        (direct,), (copied,) = scaling.copies("direct", (2,)), scaling.copies("pooled", (2,))
        direct.name = "direct"
        through = Setting(
            "pgbouncer", copied.database, 2, {"EMPORION_DATABASE_DIRECT_URL": server.url(copied.database)},
            url=bouncer.url(copied.database), beside=(bouncer.pid,),
        )  # fmt: skip
        scaling.run([direct, through], lambda port, make=make: make(port, scaling.stage.data))
        _table(title, [direct, through])


def serial(scaling: Scaling) -> None:
    """Run the part of an order that only one transaction of all processes runs at a time."""
    url = scaling.cluster.server.create("serial", template="seeded")
    print("\n| units in a COMMIT | COMMITs/s | orders/s | ms for a COMMIT |\n|---|---|---|---|")
    for units in (1, 8, 32):
        rates = [_commits(url, units) for _ in range(scaling.rounds)]
        rate = median(rates)
        print(f"| {units} | {rate:,.0f} | {rate * units:,.0f} | {1000 / rate:.2f} |")


def _commits(url: str, units: int) -> float:
    """Return the COMMITs a second of several writers that do nothing else."""
    database, counts = open_database(url), [0] * SERIAL_THREADS
    assert isinstance(database, Database)
    until = perf_counter() + SERIAL_SECONDS

    def write(number: int) -> None:
        tx, now = database.writing(), SystemClock().now()
        while perf_counter() < until:
            database.control(tx, database.begin)
            tx.begin()
            for unit in range(units):
                tx.count_day("live", Counted.CREATED, 1)
                for party in ("buyer", "seller"):
                    tx.emit(f"agt_{party}_{unit}", "live", "job.created", '{"job_id":"job_0"}', now)
            database.finish(tx)
            counts[number] += 1

    threads = [Thread(target=partial(write, number)) for number in range(SERIAL_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    return sum(counts) / SERIAL_SECONDS


def _table(title: str, settings: Sequence[Setting]) -> None:
    print(
        f"\n{title}\n\n| processes | a second | p50 ms | p99 ms | server µs | database µs | replica µs | MB | sessions | 503 |"
    )
    print("|" + "---|" * 10)
    for one in settings:
        cells = (one.middle(name) for name in ("rate", "p50", "p99", "cpu_us", "database_us", "replica_us"))
        refused = sum(tally.refused for tally in one.tallies)
        shown = " | ".join(f"{cell:,.0f}" for cell in cells)
        print(
            f"| {one.name} | {shown} | {median(one.megabytes):.0f} | {median(one.sessions):.0f} | {refused} |",
            flush=True,
        )


TABLES = {"writes": writes, "serial": serial, "reads": reads, "replica": replica, "pooler": pooler}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(TABLES), help=", ".join(TABLES))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(report.machine(), flush=True)
    with ExitStack() as stack:
        scaling = Scaling(Stage(stack, full=False), given.rounds)
        for name in given.only:
            print(f"\n## {name}: {TABLES[name].__doc__}", flush=True)
            TABLES[name](scaling)
    print(report.machine(), flush=True)


if __name__ == "__main__":
    main()
