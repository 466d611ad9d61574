"""The simulation itself: one seed always gives the same log, and a broken market is found, shrunk and explained."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from storage.vocabulary import Env
from tests.simulation import machine
from tests.simulation.records import Result
from tests.simulation.run import Failure, Plan, run, smallest
from tests.simulation.scenarios import Scenario, named
from tests.support.market import house
from tools.jobs.facts import JobFacts

ROOT = Path(__file__).parents[2]
SEED, OPERATIONS = 4, 600
SMALL = Scenario(sellers=2, buyers=3, evaluators=0, clients=0, traders=0)


def printed(operations: int, *options: str) -> dict[str, str]:
    """Run the command in another process; return its lines by their first words."""
    plan = ("--seed", str(SEED), "--operations", str(operations))
    command = [sys.executable, "-m", "tests.simulation", *plan, *options]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


@pytest.mark.repeated(1_200, 300)
def test_one_seed_gives_the_same_log_in_another_process(repetitions: int, tmp_path: Path) -> None:
    first, second = (printed(repetitions, "--log", str(tmp_path / name)) for name in ("first", "second"))
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert first["log sha256"] == second["log sha256"]
    assert "crash" in first["faults"]
    assert first["operations"] == second["operations"]


def test_an_output_that_is_shown_too_early_is_found_shrunk_and_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulation.run.named", lambda _: SMALL)
    monkeypatch.setattr(JobFacts, "is_sealed", property(lambda _: False))
    found = run(Plan(SEED, OPERATIONS, "calm"))
    assert isinstance(found, Failure)
    assert found.message.startswith("SEALED: ")
    assert run(Plan(SEED, found.operations + 1, "calm")) == replace(
        found, plan=Plan(SEED, found.operations + 1, "calm")
    )
    least = smallest(found)
    assert run(least.plan) == least
    assert least.plan.operations <= found.operations
    assert not isinstance(run(Plan(SEED, least.plan.operations - 1, "calm")), Failure)
    assert any("deliver_job" in line for line in least.story)


def constants() -> dict[str, object]:
    """Return the constants of the market's modules, by their full names."""
    parts = ("server", "tools", "protocol", "storage", "rest")
    modules = {name: module for name, module in sys.modules.items() if name.split(".")[0] in parts}
    return {
        f"{place}.{name}": value
        for place, module in modules.items()
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str | int | float | timedelta | tuple)
    }


def test_a_run_leaves_the_constants_of_the_market_as_they_were() -> None:
    run(Plan(SEED, 50))  # imports what a run needs
    before = constants()
    assert before["server.peers.AGAIN"] == timedelta(minutes=15)
    run(Plan(SEED, 50))
    assert constants() == before


def test_a_scenario_names_only_known_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulation.scenarios.FOLDER", tmp_path)
    (tmp_path / "odd.toml").write_text("selers = 3")
    with pytest.raises(ValueError, match="selers"):
        named("odd")
    with pytest.raises(ValueError, match="known: odd"):
        named("other")


@pytest.mark.repeated(3_000, 400)
def test_both_databases_give_the_same_log(repetitions: int, tmp_path: Path) -> None:
    # With faults, PostgreSQL's notification outlives a lost answer and may wake a worker earlier.
    plans = [Plan(SEED, repetitions, "calm", database, tmp_path / database) for database in ("sqlite", "postgres")]
    results = [run(plan) for plan in plans]
    assert (tmp_path / "sqlite").read_bytes() == (tmp_path / "postgres").read_bytes()
    assert all(isinstance(one, Result) for one in results)


def test_a_deadline_one_second_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    given = house()
    windows = given.windows | {Env.TEST: replace(given.windows[Env.TEST], payment_seconds=899)}
    monkeypatch.setattr(machine, "house", lambda: replace(given, windows=windows))
    found = run(Plan(SEED, OPERATIONS, "calm"))
    assert isinstance(found, Failure)
    assert found.message.startswith("DEADLINE: ")
