"""The growth table: what each operation costs when there are many jobs, and when there are few, on both databases.

The jobs are copies of three that were traded. The first ones are those of the seeded agents, which make the calls, and
some of these are delivered or open. All others are completed and paid, and every second party is another agent. Those
are a tenth as many as the jobs. Reputations and the counts by day are those of all jobs.
"""

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf
from pathlib import Path
from tempfile import mkdtemp
from time import perf_counter, sleep
from typing import NamedTuple

from benchmarks import shots
from benchmarks.clones import DIGITS, Model, clone
from benchmarks.clones_figures import more_agents, write_figures
from benchmarks.data import AGENTS, PEPPER, Seeded
from benchmarks.goals import GOALS
from benchmarks.load import Plan, Shot, Tally, family_seconds, fire
from benchmarks.processes import Child, inherited
from benchmarks.ratios import WRITING, Make
from benchmarks.rounds import Row, absolute
from benchmarks.stage import Stage
from benchmarks.trade import Trades, chain_settings, model_jobs
from storage.open import open_database

LEAST_US = 50_000.0  # of a first answer, because the clock of a process ticks every 10 ms; one that scans takes seconds
UNFINISHED = 250  # delivered jobs, and as many open ones
JOBS_OF_EACH = 10  # of each agent that is not seeded
OPERATOR = "an operator of the benchmark, 32 characters"
SETTLE_SECONDS = 2.0  # between two looks, the first after the workers' first round
MOST_SETTLING, IDLE = 300, 0.05  # looks; share of a processor
MIN_CHECKS = 20  # lines of the doctor about stored figures
REPUTATIONS = (
    "recomputed: reputations (as_seller, as_buyer, score, seller_rank, seller_jobs, buyer_rank, buyer_jobs): 0 "
)
ONCE = {
    "get_stats": "/v1/stats?env=live",
    "get_feed": "/v1/feed?env=live",
    "get_leaderboard": "/v1/leaderboard?env=live",
    "get_demand": "/v1/demand?env=live",
    "get_daily_stats": "/v1/stats/daily?env=live",
    "get_overview": "/v1/admin/overview",
}  # made once and kept a while: their first answer counts


class Place(NamedTuple):
    """A database that grows: how to serve it, and PostgreSQL's first process."""

    name: str
    url: str
    serve: Callable[[dict[str, str]], Child]
    database_pid: int | None


def rows(stage: Stage) -> Iterator[Row]:
    """Measure W on both databases."""
    yield from _grown(stage, _sqlite(stage))
    yield from _grown(stage, _postgres(stage))


def _sqlite(stage: Stage) -> Place:
    path = stage.market_file(stage.template)
    return Place("SQLite", f"sqlite:///{path}", lambda env: stage.serve(path.parent, env=env), None)


def _postgres(stage: Stage) -> Place:
    cluster = stage.cluster
    url = cluster.server.create("growth", template="seeded")
    return Place("PostgreSQL", url, lambda env: cluster.serve(url, more=env)[0], cluster.server.pid)


def _grown(stage: Stage, place: Place) -> list[Row]:
    child = place.serve(chain_settings(stage.chain))
    models = model_jobs(Trades(child, stage.data, stage.chain))
    child.stop()
    traders = [trader.id for trader in stage.data.traders]
    _copied(stage, place, models, range(1, stage.few_jobs + 1), traders, UNFINISHED)
    before = _measured(stage, place, models)
    _copied(stage, place, models, range(stage.few_jobs + 1, stage.many_jobs + 1), _more_parties(stage, place), 0)
    after = _measured(stage, place, models)
    note = f"{stage.few_jobs:,} and {stage.many_jobs:,} jobs"
    made = []
    for name, cost in after.items():
        goal = GOALS[f"W {place.name} {name}"]
        made.append(absolute(goal, cost / before[name], f"{cost:,.0f} µs", f"{before[name]:,.0f} µs", note))
    return [*made, _recomputed(stage, place)]


def _recomputed(stage: Stage, place: Place) -> Row:
    """Measure the minutes in which `emporion doctor --recompute` checks every figure.

    The copies have neither wallets nor counted storage, so those two lines differ.
    """
    began, before = perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "server", "doctor", "--recompute", "--from-start"]
    env = chain_settings(stage.chain) | {
        "EMPORION_DATABASE_URL": place.url,
        "EMPORION_KEY_PEPPER": PEPPER.hex(),
        "EMPORION_SIGNING_SEED": bytes(32).hex(),
    }
    folder = Path(mkdtemp(dir=stage.folder))
    done = subprocess.run(command, env=inherited(env), cwd=folder, capture_output=True, text=True)
    if done.stdout.count("recomputed: ") < MIN_CHECKS or REPUTATIONS not in done.stdout:
        raise RuntimeError(
            f"doctor --recompute exited with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-500:]}"
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    minutes = (perf_counter() - began) / 60
    return absolute(GOALS[f"W {place.name} recompute"], minutes, f"{cpu:,.0f} s CPU", note=f"{stage.many_jobs:,} jobs")


def _copied(
    stage: Stage, place: Place, models: list[str], numbers: range, parties: Sequence[str], unfinished: int
) -> None:
    """Make these copies, the last ones delivered and open; the parties take turns as buyers."""
    began = perf_counter()
    counts = (len(numbers) - 2 * unfinished, unfinished, unfinished)
    database = open_database(place.url)
    clone(database, [*map(Model, models, counts)], parties, stage.data.listing_ids, numbers[0])
    write_figures(database, models)
    database.close()
    print(f"{place.name}: {numbers[-1]:,} jobs after {perf_counter() - began:.0f} s", flush=True)


def _more_parties(stage: Stage, place: Place) -> list[str]:
    """Add an agent for each ten jobs; return seeded agents and these by turns."""
    database, traders = open_database(place.url), stage.data.traders
    others = more_agents(database, 0, max(AGENTS, (stage.many_jobs - stage.few_jobs) // JOBS_OF_EACH))
    database.close()
    return [one for number, other in enumerate(others) for one in (traders[number % AGENTS].id, other)]


def _measured(stage: Stage, place: Place, models: list[str]) -> dict[str, float]:
    """Return microseconds of CPU, of the server and the database, for each operation."""
    child = place.serve(chain_settings(stage.chain) | {"EMPORION_OPERATOR_SECRET": OPERATOR})
    _settle(place, child)
    costs = {name: _first(place, child, path) for name, path in ONCE.items()}
    for name, make in _makes(models, stage.few_jobs).items():
        given = make(child.port, stage.data)
        plan = Plan(
            [child.port], [child.pid], given, WRITING if name == "create_job" else 16, stage.seconds,
            min(len(given), 300), database_pid=place.database_pid,
        )  # fmt: skip
        tally: Tally = stage.worker.run(fire, plan)
        costs[name] = tally.cpu_us + tally.database_us
    child.stop()
    return costs


def _settle(place: Place, child: Child) -> None:
    """Wait until server and database are idle.

    The work of a start and of autovacuum is not the work of a call.
    """
    sleep(SETTLE_SECONDS)
    for _ in range(MOST_SETTLING):
        before = _spent(place, child)
        sleep(SETTLE_SECONDS)
        if _spent(place, child) - before < IDLE * SETTLE_SECONDS:
            return
    print(f"{place.name} was never idle", flush=True)


def _first(place: Place, child: Child, path: str) -> float:
    """Return microseconds of CPU for a first answer; infinite if the server gives up."""
    began = _spent(place, child)
    status, answer = child.ask("GET", path, X_Admin_Token=OPERATOR)
    if status == 503:
        print(f"{place.name}: {path} answered 503", flush=True)
        return inf
    if status != 200:
        raise RuntimeError(f"{path}: {status} {answer}")
    return max(LEAST_US, (_spent(place, child) - began) * 1e6)


def _spent(place: Place, child: Child) -> float:
    return child.cpu_seconds() + (0 if place.database_pid is None else family_seconds(place.database_pid))


def _makes(models: list[str], few_jobs: int) -> dict[str, Make]:
    completed, waiting, _ = models
    delivered = range(few_jobs - 2 * UNFINISHED + 1, few_jobs - UNFINISHED + 1)
    return {
        "create_job": shots.jobs,
        "get_job": partial(_jobs, job=completed),
        "list_jobs": partial(_lists, path="/v1/jobs?limit=20"),
        "list_jobs status": partial(_lists, path="/v1/jobs?limit=20&status=completed"),
        "list_events": partial(_lists, path="/v1/events?limit=20"),
        "list_events types": partial(_lists, path="/v1/events?limit=20&types=dispute.*"),
        "get_inbox": partial(_lists, path="/v1/inbox"),
        "search_listings": shots.searches,
        "pay_job terms": partial(_terms, job=waiting, numbers=delivered),
    }


def _lists(port: int, data: Seeded, path: str) -> list[Shot]:
    return [shots.get(port, path, trader.key, b'"object":') for trader in data.traders]


def _jobs(port: int, data: Seeded, job: str) -> list[Shot]:
    """Return reads of a copy by each buyer; the seeded agent in place n bought copy n + 1000."""
    return [
        shots.get(port, f"/v1/jobs/{_copy(job, AGENTS + place)}", trader.key, shots.JOB)
        for place, trader in enumerate(data.traders)
    ]


def _terms(port: int, data: Seeded, job: str, numbers: range) -> list[Shot]:
    return [
        shots.post(port, f"/v1/jobs/{_copy(job, number)}/pay", data.traders[number % AGENTS].key, {}, 402, b'"pay_to"')
        for number in numbers[:AGENTS]
    ]


def _copy(job: str, number: int) -> str:
    return f"{job[:-DIGITS]}{number:0{DIGITS}d}"
