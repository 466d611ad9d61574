"""The cases on PostgreSQL: the same requests to one process and to two, with the CPU of the servers and the database."""

from collections.abc import Callable, Iterator
from statistics import median

from benchmarks import shots
from benchmarks.cluster import Cluster
from benchmarks.data import Seeded
from benchmarks.goals import GOALS
from benchmarks.load import Plan, Shot, Tally, fire
from benchmarks.processes import Child
from benchmarks.ratios import WRITING, warmed
from benchmarks.rounds import Cost, Row, compare, noted, repeat
from benchmarks.stage import Stage

MAKES: dict[str, tuple[Callable[[int, Seeded], list[Shot]], int]] = {
    "P1": (shots.listings, 16),
    "P3": (shots.searches, 16),
    "P5": (shots.jobs, WRITING),
    "P9": (shots.polls, 16),
}


class Load:
    """Runs of one kind of request against the processes of a market; keeps what each run told."""

    def __init__(self, cluster: Cluster, children: list[Child], kind: str) -> None:
        make, self.connections = MAKES[kind]
        self.cluster, self.children = cluster, children
        self.shots = make(children[0].port, cluster.stage.data)
        self.tallies: list[Tally] = []
        self.run(warm=min(len(self.shots), 1_000))
        self.tallies.clear()

    def run(self, warm: int = 100) -> float:
        """Return microseconds of CPU of the servers and the database for one answer."""
        stage, children = self.cluster.stage, self.children
        plan = Plan(
            [child.port for child in children], [child.pid for child in children], self.shots, self.connections,
            stage.seconds, warm * len(children), database_pid=self.cluster.server.pid,
        )  # fmt: skip
        tally: Tally = stage.worker.run(fire, plan)
        self.tallies.append(tally)
        return tally.cpu_us + tally.database_us

    @property
    def note(self) -> str:
        server, database, rate, p99 = (
            median(getattr(tally, name) for tally in self.tallies) for name in ("cpu_us", "database_us", "rate", "p99")
        )
        return f"server {server:,.0f} + database {database:,.0f} µs; {rate:,.0f}/s, p99 {p99:,.0f} ms"


def rows(stage: Stage) -> Iterator[Row]:
    """Measure P1 to P9, with one process, then with two."""
    cluster = stage.cluster
    one = cluster.markets("one", 1)
    yield _reading(stage, Load(cluster, one, "P1"), warmed(stage, stage.subject, shots.listings))
    yield from (_repeated(stage, kind, Load(cluster, one, kind)) for kind in ("P3", "P5", "P9"))
    one[0].stop()
    two = cluster.markets("two", 2)
    yield from (_repeated(stage, f"{kind} two", Load(cluster, two, kind)) for kind in MAKES)
    for child in two:
        child.stop()


def _reading(stage: Stage, load: Load, on_sqlite: Cost) -> Row:
    return noted(compare(GOALS["P1"], load.run, on_sqlite, stage.rounds), load.note)


def _repeated(stage: Stage, goal: str, load: Load) -> Row:
    return noted(repeat(GOALS[goal], load.run, stage.rounds), load.note)
