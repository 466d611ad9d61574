"""A text that was acknowledged and is gone, or is another, is found; what overlapping calls may leave is accepted."""

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from storage.tables import AgentRow, MessageRow, ThreadRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus
from tests.simulation.kept import Kept
from tests.simulation.records import Observation, Result, Violation
from tests.simulation.run import Plan, run
from tests.simulation.scenarios import Scenario
from tests.simulation.small_market import failure, judge_by
from tests.simulation.wires import Answer, Call
from tools.engine.context import TxContext
from tools.jobs import logic as jobs
from tools.messages import logic as messages
from tools.messages.logic import Words

SMALL = Scenario(sellers=1, buyers=1, evaluators=0, clients=0, traders=3)
PLAN = Plan(4, 250)
AT = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture
def market(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let a small market be judged by the oracle of kept texts and the contract's model alone."""
    monkeypatch.setattr("tests.simulation.simulation.ORACLES", ())
    judge_by(monkeypatch, SMALL, Kept)
    return monkeypatch


def test_a_market_that_keeps_its_texts_passes(market: pytest.MonkeyPatch) -> None:
    oracles, judge = list[Kept](), Kept._judge

    def noted(oracle: Kept, tx: Tx) -> None:
        oracles.append(oracle)
        judge(oracle, tx)

    market.setattr(Kept, "_judge", noted)
    assert isinstance(run(PLAN), Result)
    (oracle,) = oracles
    assert oracle.messages
    assert oracle.notes


def test_a_message_that_is_lost_is_found(market: pytest.MonkeyPatch) -> None:
    add = Tx.add
    market.setattr(Tx, "add", lambda tx, row: row if isinstance(row, MessageRow) else add(tx, row))
    assert "is gone" in failure(PLAN)


def test_a_message_that_is_cut_is_found(market: pytest.MonkeyPatch) -> None:
    post = messages._post

    def cut(ctx: TxContext, thread: ThreadRow, words: Words, *given: Any, **more: Any) -> Any:
        return post(ctx, thread, replace(words, body=words.body[:5]), *given, **more)

    market.setattr(messages, "_post", cut)
    assert "is other" in failure(PLAN)


def test_a_note_that_is_not_posted_is_found(market: pytest.MonkeyPatch) -> None:
    market.setattr(jobs, "write_note", lambda *_: None)
    assert "the note of" in failure(PLAN)


class Market:
    """A run as far as the oracle of kept texts asks it, with one note of one agent."""

    def __init__(self) -> None:
        self.made, self.value, self.status = 0, None, AgentStatus.ACTIVE
        self.machines = [SimpleNamespace(clock=self)]

    def latest(self) -> datetime:
        return AT + timedelta(seconds=60)

    async def read(self, read: Any) -> None:
        read(self)

    def all(self, query: Any) -> list[Any]:
        if self.value is None:
            return []
        common = {"id": "msg_1", "thread_id": "thr_1", "sender_id": "agt_1", "body": "", "data": None}
        return [SimpleNamespace(agent_id="agt_1", env="test", key="k", value=self.value, **common)]

    def get(self, kind: type[AgentRow], agent_id: str) -> Any:
        return SimpleNamespace(status=self.status)


def wrote(number: int, status: int = 200, operation: str = "put_memory", **given: Any) -> Observation:
    call = Call(number, operation, {"key": "k", **given}, "as_test_1")
    return Observation(call, "agt_1", Answer(status, {}), AT, AT)


FIRST, SECOND = wrote(1, value=1), wrote(2, value=2)
REFUSED, REMOVED = wrote(2, 429, value=2), wrote(2, operation="delete_memory")
REPEATED = replace(REFUSED, tries=2)  # an earlier attempt may have had its effect
SHORT, LONG = wrote(2, value=2, ttl_seconds=60), wrote(2, value=2, ttl_seconds=61)


@pytest.mark.parametrize(
    ("writes", "overlap", "allowed"),
    [
        ([FIRST], False, ("1",)),
        ([FIRST, SECOND], False, ("2",)),
        ([FIRST, SECOND], True, ("1", "2")),
        ([SECOND, FIRST], True, ("1", "2")),
        ([FIRST, REFUSED], False, ("1",)),
        ([FIRST, REPEATED], False, ("1", "2")),
        ([FIRST, REPEATED, wrote(3, value=3)], False, ("2", "3")),
        ([FIRST, REMOVED], False, (None,)),
        ([FIRST, REMOVED], True, ("1", None)),
        ([FIRST, SHORT], False, ("2", None)),
        ([FIRST, LONG], False, ("2",)),
    ],
)
@pytest.mark.parametrize("value", ["1", "2", "3", None])
async def test_a_key_has_the_value_of_a_last_write(
    writes: list[Observation], overlap: bool, allowed: tuple[str | None, ...], value: str | None
) -> None:
    market: Any = Market()
    oracle = Kept(market)
    for seen in writes:
        market.made = len(writes) if overlap else seen.call.number
        oracle.observe(seen)
    market.value = value
    with nullcontext() if value in allowed else pytest.raises(Violation, match="the memory"):
        await oracle.at_end()


async def test_a_deleted_agent_need_not_keep_its_memory() -> None:
    market: Any = Market()
    oracle = Kept(market)
    oracle.observe(FIRST)
    with pytest.raises(Violation, match="the memory"):
        await oracle.at_end()
    market.status = AgentStatus.DELETED
    await oracle.at_end()


async def test_the_memory_of_each_agent_and_environment_is_its_own() -> None:
    market: Any = Market()
    oracle = Kept(market)
    market.value = "1"
    oracle.observe(FIRST)
    oracle.observe(replace(FIRST, agent="agt_2"))
    with pytest.raises(Violation, match="agt_2"):
        await oracle.at_end()
