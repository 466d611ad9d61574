"""Runs of the simulation: one run, the smallest prefix of a run that fails, and the story of a failure."""

import atexit
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

from storage.migrate import upgrade
from storage.open import open_database
from tests.simulation.records import Failed, Result, Violation
from tests.simulation.scenarios import named
from tests.simulation.simulation import Simulation
from tests.simulation.story import story, with_names
from tests.support.databases import SETTINGS, PostgresServer, SQLiteTemplate


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that is to be made."""

    seed: int
    operations: int
    scenario: str = "default"
    database: str = "sqlite"
    log: Path | None = None

    @property
    def options(self) -> str:
        """The options of the command that repeats the run."""
        return (
            f"--seed {self.seed} --operations {self.operations} --scenario {self.scenario} --database {self.database}"
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed run, as a person reads it."""

    plan: Plan
    operations: int  # after which it failed
    message: str
    digest: str
    story: tuple[str, ...]
    set_up: int = 0  # operations before the agents act; shorter runs are alike


def run(plan: Plan) -> Result | Failure:
    """Make a run on a new database."""
    with tempfile.TemporaryDirectory(prefix="emporion-simulation-") as folder:
        file = plan.log.open("w") if plan.log else None
        url = DATABASES[plan.database](Path(folder))
        simulation = Simulation(plan.seed, plan.operations, named(plan.scenario), url, file)
        try:
            return simulation.run()
        except Failed as failed:
            found = _violation(failed.violation)
            if found is None:
                raise failed.violation from failed
            names = {one.id: one.handle for one in simulation.identities.values()}
            lines = tuple(story([*simulation.log.last], str(found), names))
            message = with_names(str(found), names)
            return Failure(plan, failed.operations, message, simulation.log.digest, lines, simulation.set_up)
        finally:
            if file:
                file.close()


class SteadyServer(PostgresServer):
    """Run PostgreSQL without autovacuum.

    Autovacuum works by real time and changes the order of rows that are equal to a query.
    """

    settings: ClassVar = {**SETTINGS, "autovacuum": "off"}


@cache
def _postgres() -> PostgresServer:
    """Start the server of this process, with a migrated database to copy."""
    server = SteadyServer()
    atexit.register(server.stop)
    database = open_database(server.create("template"))
    upgrade(database)
    database.close()
    return server


DATABASES: Mapping[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: SQLiteTemplate.shared().copy(folder),
    "postgres": lambda _: _postgres().create("simulation", template="template"),
}


def smallest(failure: Failure) -> Failure:
    """Return the failure of the shortest run of the same seed that fails; found by bisection.

    A shorter run does the same up to its end. There all oracles look once more, so it may find the failure earlier.
    So a run of one operation more than a failed run made fails too.
    """
    passes = failure.set_up
    while (middle := min((passes + failure.plan.operations) // 2, failure.operations + 1)) > passes:
        again = run(replace(failure.plan, operations=middle, log=None))
        if isinstance(again, Failure):
            failure = again
        else:
            passes = middle
    return failure


def _violation(error: BaseException) -> Violation | None:
    """Find the violation in a group of errors."""
    if isinstance(error, Violation):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for one in inner if (found := _violation(one))), None)
