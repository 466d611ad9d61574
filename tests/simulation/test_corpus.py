"""The corpus: no run of it fails any more, and each still finds its fault. And longer runs, on both databases."""

import pytest

from tests.simulation import planted
from tests.simulation.corpus import Entry, entries
from tests.simulation.records import Result
from tests.simulation.run import Failure, Plan, run

ENTRIES = [*entries()]
LONG = 6_000


def ended(found: Result | Failure) -> str:
    return found.message if isinstance(found, Failure) else "passed"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_run_of_the_corpus_passes(entry: Entry) -> None:
    assert ended(run(entry.plan)) == "passed"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_fault_of_a_run_fits_into_the_market(entry: Entry) -> None:
    text = (planted.ROOT / entry.undone.file).read_text()
    assert planted.changed(text, entry.undone) != text


@pytest.mark.verify
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_run_of_the_corpus_finds_its_fault_again(entry: Entry) -> None:
    with planted.copied() as root, planted.planted(root, entry.undone):
        assert planted.run(root, *entry.plan.options.split()) is not None


@pytest.mark.verify
@pytest.mark.parametrize("scenario", ["default", "cheats", "calm"])
def test_a_longer_run_passes_on_both_databases(scenario: str, database: str) -> None:
    assert ended(run(Plan(LONG, LONG, scenario, database))) == "passed"


@pytest.mark.verify
def test_the_command_finds_a_planted_fault() -> None:
    with planted.copied() as root:
        plant = next(one for one in planted.PLANTS if one.name == "a refund counted as payment")
        found = planted.search(root, plant, planted.RUN, plant.database)
    assert found.message is not None
    assert "seed 1 at" in found.line()
