"""Limits on stored bytes, without a database: what is refused, what a payment frees, what is deleted if unpaid."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from storage.quotas import forget_input, forget_outputs, forgettable_jobs, said_in, texts_of_job
from storage.tables import AgentRow, JobTextRow, RoomRow, ThreadRow
from storage.transaction import Taken
from tools.engine import storage_quotas as room
from tools.engine.errors import StorageFull
from tools.jobs import stored_texts

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LIMIT = 5_000_000


@dataclass
class Unit:
    """A unit of work with rows by kind and key and fixed query results; it records its calls."""

    rows: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    answers: dict[Any, list[Any]] = field(default_factory=dict)
    taken: dict[tuple[str, str], Taken] = field(default_factory=dict)
    counted: list[tuple[str, str, int, bool]] = field(default_factory=list)
    leaving: int = 0
    ran: list[tuple[Any, str]] = field(default_factory=list)
    changed: list[dict[str, Any]] = field(default_factory=list)
    added: list[Any] = field(default_factory=list)
    locked: list[tuple[Any, ...]] = field(default_factory=list)

    def get(self, kind: Any, *key: str, lock: bool = False) -> Any:
        if lock:
            self.locked.append((kind, *key))
        return self.rows.get((kind, *key))

    def all(self, query: Any, **given: Any) -> list[Any]:
        return self.answers.get(query, [])[: given.get("limit")]

    def count_bytes(self, agent_id: str, env: str, by: int, *, asks: bool = False, leaving: int = 0) -> None:
        self.counted.append((agent_id, env, by, asks))
        self.leaving = max(self.leaving, leaving)

    def write_room(self) -> dict[tuple[str, str], Taken]:
        return self.taken

    def run(self, query: Any, *, job_id: str) -> None:
        self.ran.append((query, job_id))

    def change(self, row: Any, **values: Any) -> None:
        self.changed.append(values)

    def add(self, row: Any) -> None:
        self.added.append(row)


def context(unit: Unit) -> Any:
    house = SimpleNamespace(limits=SimpleNamespace(storage_bytes=LIMIT))
    return SimpleNamespace(tx=unit, agent="agt_a", env="test", now=NOW, config=house)


def using(used: int, *, first_party: bool = False) -> Unit:
    rows: dict[tuple[Any, ...], Any] = {(RoomRow, "agt_a", "test"): SimpleNamespace(used=used)}
    return Unit(rows | {(AgentRow, "agt_a"): SimpleNamespace(first_party=first_party)})


JOB: Any = SimpleNamespace(
    id="job_1", buyer_id="agt_b", seller_id="agt_s", env="test", thread_id="thr_1", output="x", revision_count=0, counted=True,
)  # fmt: skip


def test_the_bounds_are_those_decided() -> None:
    assert (room.NEEDED_FOR_OUTPUT, stored_texts.STANDS_FOR_ROOM, stored_texts.BATCH) == (1_048_576, 10_000, 100)
    assert [stored_texts.output_part(revision) for revision in (0, 3)] == ["output/0", "output/3"]


def test_sizes_are_bytes() -> None:
    assert room.size_of() == room.size_of(None, "", b"") == 0
    assert room.size_of("é", b"abc", None, "x") == 6


def test_what_a_caller_takes_may_be_refused() -> None:
    unit = Unit()
    room.count_bytes(context(unit), 7)
    assert unit.counted == [("agt_a", "test", 7, True)]


@pytest.mark.parametrize("leaving", [0, 1_048_576])
@pytest.mark.parametrize(
    ("used", "first_party", "refused"), [(LIMIT, False, False), (LIMIT + 1, False, True), (LIMIT + 1, True, False)]
)
def test_one_byte_beyond_the_limit_is_refused_but_to_the_operators_agents(
    used: int, first_party: bool, refused: bool, leaving: int
) -> None:
    unit = using(0, first_party=first_party)
    unit.taken = {("agt_a", "test"): Taken(used - leaving, 300, leaving)}
    if not refused:
        room.refuse_overfull(context(unit))
        return
    with pytest.raises(StorageFull) as full:
        room.refuse_overfull(context(unit))
    before = LIMIT - 299 - leaving
    assert full.value.details == {"used": before, "limit": LIMIT}
    assert full.value.message == f"this needs {300 + leaving} bytes more; you use {before} of {LIMIT} on test"


def test_an_order_needs_room_for_its_output_too() -> None:
    unit = Unit()
    room.take_order(context(unit), 7)
    assert (unit.counted, unit.leaving) == ([("agt_a", "test", 7, True)], 1_048_576)


@pytest.mark.parametrize(
    ("used", "first_party", "fits"),
    [(LIMIT - 1_048_576, False, True), (LIMIT - 1_048_575, False, False), (LIMIT - 1_048_575, True, True)],
)
def test_a_seller_needs_a_megabyte_to_accept(used: int, first_party: bool, fits: bool) -> None:
    ctx = context(using(used, first_party=first_party))
    assert room.has_room_to_accept(ctx, "agt_a") is fits
    if fits:
        room.need_room_to_accept(ctx)
        return
    with pytest.raises(StorageFull) as full:
        room.need_room_to_accept(ctx)
    assert full.value.details == {"used": used, "limit": LIMIT}
    assert full.value.message == f"less than 1048576 bytes are left: {used} of {LIMIT} are used"


def test_an_agent_without_a_row_uses_nothing_and_a_stranger_is_not_the_operators() -> None:
    unit: Any = Unit()
    assert room.used_by(unit, "agt_a", "test") == 0
    assert room.used_by(using(9), "agt_a", "test") == 9  # type: ignore[arg-type]
    unit.rows = {(RoomRow, "agt_a", "test"): SimpleNamespace(used=LIMIT)}
    assert room.has_room_to_accept(context(unit), "agt_a") is False


TEXTS = [("input", 10), ("output/0", 200), ("output/1", 3_000)]


@pytest.mark.parametrize(("counted", "sign"), [(False, -1), (True, 1)])
def test_a_payment_frees_the_texts_and_messages_of_the_job_and_a_refund_counts_them_again(
    counted: bool, sign: int
) -> None:
    unit = Unit(answers={texts_of_job: TEXTS, said_in: [("agt_b", 40), ("agt_s", 50)]})
    stored_texts.move_texts(unit, JOB, counted=counted)
    assert [one[:3] for one in unit.counted] == [
        ("agt_b", "test", sign * 10),
        ("agt_b", "test", sign * 200),
        ("agt_b", "test", sign * 3_000),
        ("agt_b", "test", sign * 40),
        ("agt_s", "test", sign * 50),
    ]
    assert {one[3] for one in unit.counted} == {False}
    assert unit.locked == [(ThreadRow, "thr_1")]


@pytest.mark.parametrize(
    ("output", "counted", "freed", "query"),
    [
        ("x", True, [("agt_b", -200), ("agt_b", -3_000)], forget_outputs),
        (None, True, [("agt_b", -10)], forget_input),
        ("x", False, [], forget_outputs),
        (None, False, [], forget_input),
    ],
)
def test_what_nobody_paid_for_is_deleted_and_leaves_the_count(
    output: str | None, counted: bool, freed: list[Any], query: Any
) -> None:
    row = SimpleNamespace(**vars(JOB) | {"output": output, "counted": counted})
    unit = Unit(answers={forgettable_jobs: [row], texts_of_job: TEXTS})
    assert stored_texts.forget_unpaid(context(unit)) == 1
    assert [(agent, by) for agent, _, by, _ in unit.counted] == freed
    assert unit.ran == [(query, "job_1")]
    assert unit.changed == [{"forget_at": None, "forgotten_at": NOW}]


def test_a_batch_is_a_hundred_jobs() -> None:
    unit = Unit(answers={forgettable_jobs: [JOB] * 150})
    assert stored_texts.forget_unpaid(context(unit)) == 100


def text(value: str) -> Any:
    return SimpleNamespace(text=value)


def test_texts_are_kept_and_read_by_their_part() -> None:
    unit: Any = Unit({(JobTextRow, "job_1", "input"): text("i"), (JobTextRow, "job_1", "output/0"): text("o")})
    texts = stored_texts.JobTexts(unit)
    assert (texts.input_of(JOB), texts.output_of(JOB)) == ("i", "o")
    assert (stored_texts.output_at(unit, "job_1", 0), stored_texts.output_at(unit, "job_1", 1)) == ("o", None)
    unwritten = SimpleNamespace(**vars(JOB) | {"output": None})
    assert texts.output_of(unwritten) is None
    revising = SimpleNamespace(**vars(JOB) | {"revision_count": 1})
    assert texts.output_of(revising) == "o", "while a revision is under way, the one before"
    unit.rows[JobTextRow, "job_1", "output/1"] = text("new")
    assert texts.output_of(revising) == "new"
    gone = SimpleNamespace(**vars(JOB) | {"id": "job_2"})
    assert (texts.input_of(gone), texts.output_of(gone)) == (None, None)
    stored_texts.keep_text(unit, "job_3", "input", SimpleNamespace(text=b"{}"))  # type: ignore[arg-type]
    assert [(one.job_id, one.part, one.text) for one in unit.added] == [("job_3", "input", "{}")]
