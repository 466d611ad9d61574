"""Runs of a small market that only some oracles and the model of the contract judge."""

import pytest

from tests.simulation.available import Actions
from tests.simulation.logged import Logged
from tests.simulation.oracles import Oracle
from tests.simulation.run import Failure, Plan, run
from tests.simulation.scenarios import Scenario
from tests.simulation.taint import Taint
from tests.simulation.visits import Visits


def judge_by(patch: pytest.MonkeyPatch, scenario: Scenario, *kinds: type[Oracle]) -> None:
    """Let the next runs follow a scenario, judged by these oracles besides the usual ones."""
    patch.setattr("tests.simulation.run.named", lambda _: scenario)
    patch.setattr("tests.simulation.simulation.MORE", (Actions, Taint, Visits, Logged, *kinds))  # a run needs the first


def failure(plan: Plan) -> str:
    """Make a run that must fail, and return its message."""
    found = run(plan)
    assert isinstance(found, Failure)
    return found.message
