"""Moves are counted by the faults around them, and a report shows the counts."""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from storage.vocabulary import Actor, JobStatus, PurchaseStatus
from tests.simulation.available import PLACES
from tests.simulation.cheats.ledger import Account
from tests.simulation.coverage import AFTER, BEFORE, FaultTimes
from tests.simulation.history import BY_EVENT, Audited, Histories
from tests.simulation.loop import BEGIN
from tests.simulation.matrix import NONE, REASONS, ROWS, Matrix, name_of
from tests.simulation.purchase_moves import Seen, events_between
from tests.simulation.records import Result, Violation
from tests.simulation.report import page
from tests.simulation.run import Failure, Plan, run
from tools.jobs.lifecycle import MOVES, NOTICES, OPENINGS
from tools.purchases.rules import Event, target_of

BUYER, SELLER = "agt_buyer", "agt_seller"
ACTORS = {Actor.BUYER: BUYER, Actor.SELLER: SELLER}


@pytest.fixture(scope="module")
def result() -> Result:
    made = run(Plan(5, 1_300))
    assert isinstance(made, Result), made
    return made


def audited(kind: str, actor: str | None = None, after: int = 0, **job: Any) -> Audited:
    usual: Mapping[str, Any] = {
        "bounty_id": None, "payment": "on_delivery", "pricing_model": "fixed", "price": 10, "closed_as": None, "resolved_by": None,
    }  # fmt: skip
    return Audited(1, "job_1", kind, actor, BEGIN + timedelta(seconds=after), BUYER, SELLER, **{**usual, **job})


def moves(*rows: Audited, asked: str | None = None) -> list[str]:
    known = Histories()
    return [name_of(move) for row in rows if (move := known.move(row, asked)) is not None]


def test_a_history_of_audit_rows_gives_the_moves_of_the_table() -> None:
    paid_first = {"payment": "upfront", "closed_as": "review_timeout"}
    assert moves(
        audited("created", BUYER, **paid_first),
        audited("accepted", SELLER, **paid_first),
        audited("payment_due", **paid_first),
        audited("expired", **paid_first),
        audited("paid", BUYER, **paid_first),
        audited("delivered", SELLER, 1, **paid_first),
        audited("completed", **paid_first),
    ) == [
        "order: new to open by buyer",
        "accept: open to awaiting_payment by seller",
        "expire: awaiting_payment to expired by clock",
        "pay: expired to in_progress by buyer",
        "deliver: in_progress to delivered by seller",
        "complete: delivered to completed by clock",
    ]


def test_a_delivery_at_the_moment_of_its_acceptance_begins_at_the_open_order() -> None:
    order, accepted = audited("created", BUYER), audited("accepted", SELLER)
    assert moves(order, accepted, audited("delivered", SELLER))[-1] == "deliver: open to delivered by seller"
    assert moves(order, accepted, audited("delivered", SELLER, 1))[-1] == "deliver: in_progress to delivered by seller"


@pytest.mark.parametrize("closed_as", ["seller_failed", "returned", "returned_too_often"])
def test_the_reason_of_an_end_decides_between_moves_of_one_event(closed_as: str) -> None:
    job = {"closed_as": closed_as}
    *_, last = moves(
        audited("created", BUYER, **job), audited("accepted", SELLER, **job), audited("cancelled", SELLER, **job)
    )
    action = next(one.action for one in MOVES if one.source is JobStatus.IN_PROGRESS and one.closes == closed_as)
    assert last == f"{action}: in_progress to cancelled by seller"


def test_the_called_action_decides_between_two_moves_that_end_alike() -> None:
    job = {"closed_as": "seller_declined"}
    rows = audited("created", BUYER, **job), audited("declined", SELLER, **job)
    assert moves(*rows, asked="cancel")[1] == "cancel: open to declined by seller"
    assert moves(*rows, asked="decline")[1] == "decline: open to declined by seller"


@pytest.mark.parametrize(("kind", "actor"), [("delivered", BUYER), ("paid", BUYER), ("completed", None)])
def test_an_audit_row_outside_the_table_is_a_violation(kind: str, actor: str | None) -> None:
    with pytest.raises(Violation, match=kind):
        moves(audited("created", BUYER), audited(kind, actor))


S = PurchaseStatus


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [
        (S.CHECKING, S.CHECKING, []),
        (S.CHECKING, S.WORKING, [Event.ORDER]),
        (S.CHECKING, S.SENT, [Event.ORDER, Event.SUBMIT, Event.SEND]),
        (S.WORKING, S.SETTLING, [Event.SUBMIT]),
        (S.SETTLING, S.WORKING, [Event.TAKE_BACK]),
        (S.SENT, S.SETTLING, [Event.DOUBT]),
        (S.SETTLING, S.REFUSED, [Event.REFUSE]),
        (S.SENT, S.PAID, [Event.PAY]),
        (S.WORKING, S.CLOSED, [Event.GIVE_UP]),
        (S.SENT, S.CLOSED, [Event.WRITE_OFF]),
    ],
)
def test_two_statuses_of_a_purchase_give_the_moves_between_them(before: S, after: S, events: list[Event]) -> None:
    assert [*events_between(before, Seen("pur_1", after, None, BEGIN))] == events
    reached = before
    for event in events:
        found = target_of(reached, event)
        assert found is not None
        reached = found
    assert reached is after


def test_a_deadline_that_nothing_sees_is_found_after_the_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.workers.move_due_jobs", lambda ctx, after: (0, None))
    found = run(Plan(5, 300, "calm"))
    assert isinstance(found, Failure)
    assert "a job" in found.message
    assert "deadline" in found.message


def test_every_move_of_the_jobs_has_one_row() -> None:
    known = {row for row in ROWS if row[0] == "jobs"}
    assert known == {("jobs", name_of(move)) for move in (*OPENINGS, *MOVES, *NOTICES)}
    assert len(known) == len((*OPENINGS, *MOVES, *NOTICES))
    assert sum(map(len, BY_EVENT.values())) == len(known)
    assert len(set(ROWS)) == len(ROWS)


def test_a_fault_is_active_from_shortly_before_it_until_a_minute_later() -> None:
    faults = FaultTimes()
    faults.add("crash", BEGIN)
    near = BEGIN - AFTER, BEGIN, BEGIN + BEFORE
    assert [faults.around(at) for at in near] == [["crash"]] * 3
    far = timedelta(microseconds=1)
    assert [faults.around(at) for at in (near[0] - far, near[-1] + far)] == [[NONE]] * 2


def test_a_hole_is_named_unless_its_reason_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = Matrix(seen={NONE, "crash"})
    impossible, first, *rest = ROWS
    monkeypatch.setattr("tests.simulation.matrix.REASONS", {(impossible, NONE): "it is forbidden"})
    matrix.counts[first, NONE] += 1
    assert matrix.without_reason() == 2 * len(rest) + 2
    assert [row for row, empty, _ in matrix.holes() if empty == ["crash"]] == [impossible, first]
    lines = [*matrix.lines()]
    assert f"  {first[0]} {first[1]}: not under crash" in lines
    assert f"  {impossible[0]} {impossible[1]}: not without a fault, because it is forbidden" in lines
    assert f"  {rest[0][0]} {rest[0][1]}: never" in lines
    matrix.counts[first, NONE] = 0
    matrix.counts[first, "reorg"] = 1
    matrix.seen.add("reorg")
    assert f"  {first[0]} {first[1]}: not without a fault; not under crash" in matrix.lines()


def test_a_run_counts_moves_and_none_that_cannot_happen(result: Result) -> None:
    counts = result.matrix.counts
    assert {"reorg", NONE} <= result.matrix.seen <= {NONE, *result.faults}
    happened = {row for row, _ in counts}
    assert happened <= {*ROWS}
    assert not counts.keys() & REASONS.keys()
    assert {row for row, _ in REASONS} <= {*ROWS}
    assert {table for table, _ in happened} >= {"jobs", "bounties", "proposals"}
    assert counts.total() > 100


def test_a_report_is_one_page_that_loads_nothing_and_shows_the_figures(result: Result) -> None:
    written = page(result, "python -m tests.simulation --seed 5")
    assert not re.search(r"(src|href)=|@import|url\(|<script", written)
    for shown in (result.digest, "--seed 5", "list_jobs", "reorg", "ok", *{row[0] for row in ROWS}):
        assert shown in written
    assert written.count("<tr>") == len(ROWS) + 1 + len(PLACES) // 2 + 1 + len(result.ledger.accounts) + 1


def test_a_report_escapes_every_text_and_shows_a_ledger(result: Result) -> None:
    hostile = "<b>&\"'"
    result.by_code[hostile] = 1
    result.ledger.accounts[hostile] = Account(3, gains=Counter({hostile: 1_000}))
    written = page(result, hostile)
    assert hostile not in written
    assert "1,000" in written
