"""The oracles of leases, keys, deadlines, panels and the log: each accepts what the contract allows and nothing else."""

from collections.abc import Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
import structlog

from storage.tables import SeatRow
from storage.vocabulary import SeatStatus
from tests.simulation.deadlines import Step, _check
from tests.simulation.keys import RevokedKeys
from tests.simulation.leases import Leases
from tests.simulation.logged import Logged
from tests.simulation.panels import Member, _relations, judge_second_draw
from tests.simulation.records import Observation, Violation
from tests.simulation.story import story
from tests.simulation.wires import Answer, Call

NOTHING: Any = None  # these oracles ask their simulation nothing here
AT = datetime(2027, 1, 1, tzinfo=UTC)
JOB = "job_" + "0" * 26


def after(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def seen(at: float, operation: str, status: int, body: Any, key: str = "as_test_1", **given: Any) -> Observation:
    call = Call(1, operation, given, key)
    return Observation(call, "agt_1", Answer(status, body), after(at), after(at + 0.1))


def taken(at: float, worker: str, until: float) -> Observation:
    body = {"worker": worker, "lease_until": after(until).isoformat()}
    return seen(at, "accept_job", 200, body, job_id=JOB, worker=worker)


@pytest.mark.parametrize(("at", "worker", "allowed"), [(60, "w2", False), (60, "w1", True), (130, "w2", True)])
def test_a_lease_keeps_other_workers_out_for_its_time(at: float, worker: str, allowed: bool) -> None:
    oracle = Leases(NOTHING)
    oracle.observe(taken(0, "w1", 120))
    with nullcontext() if allowed else pytest.raises(Violation, match="which w1 has"):
        oracle.observe(taken(at, worker, at + 120))


@pytest.mark.parametrize(("holder", "until", "allowed"), [("w1", 120, True), ("w2", 120, False), ("w1", 10, False)])
def test_a_refusal_names_another_worker_whose_lease_runs(holder: str, until: float, allowed: bool) -> None:
    details = {"worker": holder, "lease_until": after(until).isoformat()}
    refused = {"error": {"code": "taken", "details": details}}
    with nullcontext() if allowed else pytest.raises(Violation, match="may not take"):
        Leases(NOTHING).observe(seen(60, "accept_job", 409, refused, job_id=JOB, worker="w2"))


@pytest.mark.parametrize(("at", "status", "allowed"), [(10.5, 200, True), (12, 401, True), (12, 200, False)])
def test_a_revoked_key_opens_nothing_after_a_second(at: float, status: int, allowed: bool) -> None:
    oracle, body = RevokedKeys(NOTHING), {"error": {"code": "unauthenticated"}} if status == 401 else {}
    oracle.observe(seen(0, "create_api_key", 201, {"id": "key_2", "key": "as_test_2"}))
    oracle.observe(seen(10, "revoke_api_key", 200, {}, key_id="key_2"))
    with nullcontext() if allowed else pytest.raises(Violation, match="revoked by"):
        oracle.observe(seen(at, "get_me", status, body, key="as_test_2"))


STEP = Step(1, JOB, "expired", '{"by": "clock"}', AT, after(1), after(2), after(3), after(4))


@pytest.mark.parametrize(
    ("step", "due"),
    [
        (STEP, after(2)),
        (STEP._replace(pay_by=None), after(1)),
        (STEP._replace(type="completed"), after(4)),
        (STEP._replace(type="cancelled"), after(3_603)),
        (STEP._replace(type="cancelled", data='{"by": "platform"}'), None),
        (STEP._replace(type="delivery_overdue", data=f'{{"deliver_by": "{after(5).isoformat()}"}}'), after(3_605)),
    ],
)
def test_a_step_of_the_clock_has_its_deadline(step: Step, due: datetime | None) -> None:
    assert step.due == due
    _check(due, after(4_000), "late enough")
    if due is not None:
        with pytest.raises(Violation, match="before its time"):
            _check(due, due - timedelta(seconds=1), "too early")


def member(name: str, sales: Mapping[str, int], earlier: Mapping[str, int] | None = None, **more: Any) -> Member:
    given = {"wallets": frozenset({f"0x{name}"}), "referrer": None, "by_operator": False} | more
    return Member(name, sales=sales, earlier=sales if earlier is None else earlier, **given)


JUDGE = member("judge", {"0xx": 100, "0xother": 11})


@pytest.mark.parametrize(
    ("other", "party", "related"),
    [
        (member("other", {}, wallets=frozenset({"0xjudge"})), False, True),
        (member("other", {}, referrer="judge"), True, True),
        (member("other", {}), False, False),
        (member("other", {"0xjudge": 1, "0xy": 8}), True, True),
        (member("other", {"0xjudge": 1, "0xy": 9}), False, False),
        (member("pays", {}, wallets=frozenset({"0xother"})), False, False),
        (member("pays", {}, wallets=frozenset({"0xother", "0xx"})), False, True),
        (member("other", {"0xx": 2, "0xy": 1}), False, True),
        (member("other", {"0xx": 2, "0xy": 1}, {}), True, False),
    ],
)
def test_relations_are_those_of_the_contract(other: Member, party: bool, related: bool) -> None:
    assert bool([*_relations(JUDGE, other, party=party)]) is related


def seat(status: SeatStatus, number: int = 1, voted: float | None = None, deadline: float = 600) -> SeatRow:
    times = {
        "drawn_at": after(300),
        "deadline_at": after(deadline),
        "voted_at": None if voted is None else after(voted),
    }
    return SeatRow(dispute_id="dsp_1", agent_id="agt_1", env="test", round=number, status=status, **times)


@pytest.mark.parametrize(
    ("first", "allowed"),
    [
        (seat(SeatStatus.VOID), True),
        (seat(SeatStatus.VOTED, voted=290), True),
        (seat(SeatStatus.VOTED, voted=301), False),
        (seat(SeatStatus.MISSED, deadline=300), True),
        (seat(SeatStatus.MISSED, deadline=301), False),
        (seat(SeatStatus.PENDING), False),
    ],
)
def test_no_seat_of_the_first_round_waits_when_seats_are_drawn_again(first: SeatRow, allowed: bool) -> None:
    with nullcontext() if allowed else pytest.raises(Violation, match="could vote"):
        judge_second_draw("dsp_1", [first, seat(SeatStatus.PENDING, number=2)], clocks_differ=0.0)


@pytest.mark.parametrize(("deadline", "allowed"), [(480, True), (481, False)])
def test_clocks_that_differ_may_draw_seats_again_early(deadline: float, allowed: bool) -> None:
    seats = [seat(SeatStatus.MISSED, deadline=deadline), seat(SeatStatus.PENDING, number=2)]
    with nullcontext() if allowed else pytest.raises(Violation, match="could vote"):
        judge_second_draw("dsp_1", seats, clocks_differ=180.0)


def test_an_error_in_the_log_is_a_violation_and_a_warning_is_none() -> None:
    oracle, log = Logged(NOTHING), structlog.get_logger("tests")
    with oracle.listening():
        log.warning("the database is gone")
        oracle.observe(taken(0, "w1", 120))
        log.error("a row failed", id=JOB)
    with pytest.raises(Violation, match="a row failed"):
        oracle.observe(taken(0, "w1", 120))
    log.error("another run's")
    assert len(oracle.errors) == 1


def test_a_story_names_the_agents_and_what_they_did() -> None:
    agent = "agt_" + "1" * 26
    at = AT.isoformat()
    lines = [
        {"at": at, "kind": "call", "number": 1, "agent": agent, "operation": "pay_job", "wire": "mcp", "given": {"job_id": JOB}},
        {"at": at, "kind": "answer", "number": 1, "status": 409, "code": "not_paid", "state": None, "id": JOB},
        {"at": at, "kind": "fault", "fault": "reorg", "depth": 2},
        {"at": at, "kind": "abandoned", "cheat": "reuses hashes", "why": "no terms"},
    ]  # fmt: skip
    shown = [*story([orjson.dumps(one) for one in lines], f"{JOB} is lost", {agent: "buyer-1"})]
    first = shown[1 : shown.index("The end of the run:")]
    assert first[0] == "About the violation:"
    assert f'#1 buyer-1 calls pay_job over mcp with {{"job_id":"{JOB}"}}.' in first[1]
    assert "#1 buyer-1's pay_job is answered with 409, not_paid." in first[2]
    assert "A fault: reorg {'depth': 2}." in first[3]
    assert 'The cheat "reuses hashes" gives up: no terms.' in shown[-1]


def test_a_story_counts_a_flood_of_calls() -> None:
    common = {"at": AT.isoformat(), "kind": "call", "agent": None, "operation": "pay_job", "wire": "door"}
    flood = [orjson.dumps(common | {"number": number, "given": {"job_id": JOB}}) for number in range(40)]
    shown = [*story(flood, f"{JOB} is lost", {})]
    assert len(shown) < 20
    assert sum("There are 34 more lines about a stranger's pay_job." in line for line in shown) == 1
