"""Runs that once failed, each with the fault that it found and what would bring that fault back."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.simulation.plants import Plant
from tests.simulation.run import Plan


@dataclass(frozen=True, slots=True)
class Entry:
    """A run of the corpus.

    `undone` plants its fault again.
    """

    name: str
    plan: Plan
    undone: Plant


def entries() -> Iterator[Entry]:
    """Read the files of this folder."""
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        given = tomllib.loads(file.read_text())
        fault, undone = given.pop("fault"), given.pop("undone")
        plan = Plan(**given)
        yield Entry(file.stem, plan, Plant(fault, **undone, scenario=plan.scenario, database=plan.database))
