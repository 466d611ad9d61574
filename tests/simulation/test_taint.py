"""A private text or a key that leaves the market by any way is found."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.transaction import Tx
from storage.vocabulary import DisputeStatus
from tests.simulation.available import Actions
from tests.simulation.logged import Logged
from tests.simulation.run import Failure, Plan, run
from tests.simulation.taint import Taint, is_closed
from tests.simulation.visits import Visits
from tools.engine import call_log
from tools.engine.call_log import CallLog

SEED, OPERATIONS = 7, 600
NOW = datetime(2027, 1, 1, tzinfo=UTC)
EMIT, WRITE = Tx.emit, CallLog.write


@pytest.fixture
def unjudged(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let only the oracles of secrets judge, because others may see a fault first."""
    monkeypatch.setattr("tests.simulation.simulation.MORE", (Actions, Taint, Visits, Logged))
    monkeypatch.setattr("tests.simulation.contracted.Contracted.observe", lambda *_: None)
    return monkeypatch


def message_of(patch: pytest.MonkeyPatch, name: str, instead: Any) -> str:
    """Run a market with a leak; return the violation."""
    patch.setattr(name, instead)
    found = run(Plan(SEED, OPERATIONS, "calm"))
    assert isinstance(found, Failure)
    return found.message


def test_an_event_of_another_agent_is_found(unjudged: pytest.MonkeyPatch) -> None:
    def to_all(tx: Tx, to: str, env: str, kind: str, data: str, at: Any) -> None:
        EMIT(tx, "agt_stranger" if kind == "job.declined" else to, env, kind, data, at)

    assert message_of(unjudged, "storage.transaction.Tx.emit", to_all).startswith("the event job.declined")


def test_a_log_line_with_an_answer_is_found(unjudged: pytest.MonkeyPatch) -> None:
    def write(log: CallLog, op: Any, request: Any, caller: Any, response: Any, *more: Any) -> None:
        WRITE(log, op, request, caller, response, *more)
        call_log.log.info("answered", body=response.body)

    assert message_of(unjudged, "tools.engine.call_log.CallLog.write", write).startswith("the log line answered shows")


def test_a_key_in_a_row_is_found(unjudged: pytest.MonkeyPatch) -> None:
    for place in ("tools.engine.authentication", "tools.credentials.logic"):
        unjudged.setattr(f"{place}.key_hash", lambda _, secret: secret)
    found = run(Plan(SEED, 200, "calm"))
    assert isinstance(found, Failure)
    assert found.message.startswith("a row of api_keys shows the secret as_")


@dataclass
class Case:
    """The columns of a case that tell if it is closed."""

    status: DisputeStatus = DisputeStatus.PANEL
    round: int = 2
    verdict_by: datetime | None = NOW


@pytest.mark.parametrize(
    ("case", "outcomes", "closed"),
    [
        (Case(), ["seller", "seller", "buyer", None], True),
        (Case(), ["seller", None, None], True),
        (Case(), ["seller", "buyer", None], False),
        (Case(), [None, None], False),
        (Case(round=1), ["seller", None, None], False),
        (Case(verdict_by=NOW + timedelta(seconds=1)), ["seller", None, None], False),
        (Case(DisputeStatus.ESCALATED, verdict_by=None), ["seller", None, None], False),
        (Case(DisputeStatus.RESOLVED, 1), ["seller", "seller", None], True),
    ],
    ids=str,
)
def test_a_case_is_closed_if_its_last_deadline_decides_it(case: Any, outcomes: list[str | None], closed: bool) -> None:
    assert is_closed(case, outcomes, NOW) is closed
