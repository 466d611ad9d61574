"""Transactions on both databases: isolation, rollback, and conflicts over the same row."""

import asyncio
from datetime import timedelta
from functools import partial
from hashlib import sha256

import pytest
from sqlalchemy import bindparam, select, update

from storage.query import Query
from storage.store import Store
from storage.tables import DocumentRow, JobEventRow, JobRow, StoredResponseRow
from storage.transaction import Conflict, Tx
from tests.support.storage_orders import (
    NOW,
    NotOpen,
    accept,
    add_one,
    all_jobs,
    count_jobs,
    count_threads,
    events,
    get_job,
    job,
    job_ids,
    kinds,
    place,
    the_job,
)

waiting = (
    select(JobRow.id).where(JobRow.status == "open", JobRow.accept_by <= bindparam("now"))
    .order_by(JobRow.accept_by).limit(bindparam("limit")).with_for_update(skip_locked=True)
)  # fmt: skip
claim: Query[JobRow] = Query(
    update(JobRow)
    .where(JobRow.id.in_(waiting))
    .values(status="claimed", version=JobRow.version + 1)
    .returning(JobRow.__table__)
)
job_history = Query(select(JobEventRow).where(JobEventRow.job_id == bindparam("job_id")).order_by(JobEventRow.id))
LATER = NOW + timedelta(days=2)


async def test_a_row_comes_back_as_it_was_written(store: Store) -> None:
    written = await store.write(lambda tx: place(tx, "job_1", '{"text":"grüße 😀"}'))
    assert await the_job(store, "job_1") == written == job("job_1", document='{"text":"grüße 😀"}')


async def test_a_missing_row_is_none(store: Store) -> None:
    assert await store.read(lambda tx: tx.get(JobRow, "job_none")) is None
    assert await store.write(lambda tx: tx.get(JobRow, "job_none", lock=True)) is None


async def test_an_opened_store_can_be_read_before_it_is_written(store: Store) -> None:
    assert await store.read(lambda tx: tx.one(count_jobs)) == 0
    assert await store.scan(lambda tx: tx.one(count_jobs)) == 0


async def test_each_reads_any_number_of_rows_and_other_statements_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.transaction.ROWS_AT_ONCE", 2)
    ids = [f"job_{number}" for number in range(5)]
    for one in ids:
        await store.write(partial(place, job_id=one))
    found = await store.scan(lambda tx: [(row.id, tx.one(count_jobs)) for row in tx.each(all_jobs)])
    assert sorted(found) == [(one, 5) for one in ids]
    again = await store.scan(lambda tx: [[row.id for row in tx.each(all_jobs)] for _ in range(2)])
    assert [sorted(one) for one in again] == [ids, ids]


async def test_a_change_answers_the_row_as_it_now_stands(store: Store) -> None:
    before = await store.write(partial(place, job_id="job_1"))
    after = await store.write(lambda tx: tx.change(before, status="in_progress", output=None, panel_seed=b"\x01"))
    assert after == await the_job(store, "job_1")
    assert (after.status, after.panel_seed, after.version) == ("in_progress", b"\x01", 2)


async def test_a_change_of_an_old_version_is_a_conflict_and_changes_nothing(store: Store) -> None:
    old = await store.write(partial(place, job_id="job_1"))
    new = await store.write(lambda tx: tx.change(old, units=2))
    with pytest.raises(Conflict, match="moved on"):
        await store.write(lambda tx: tx.change(old, units=7))
    assert await the_job(store, "job_1") == new


async def test_a_key_taken_is_a_conflict(store: Store) -> None:
    placed = await store.write(partial(place, job_id="job_1"))
    with pytest.raises(Conflict):
        await store.write(lambda tx: tx.add(placed))
    assert await store.read(lambda tx: tx.one(count_jobs)) == 1


async def test_the_same_document_added_by_many_is_kept_once(store: Store) -> None:
    document = DocumentRow(hash=sha256(b"{}").hexdigest(), text="{}")
    assert (
        await asyncio.gather(*(store.write(lambda tx: tx.insert_if_absent(document)) for _ in range(30))) == [None] * 30
    )
    assert await store.read(lambda tx: tx.all(Query(select(DocumentRow)))) == [document]


async def test_appended_rows_are_numbered_by_the_database(store: Store) -> None:
    def append(tx: Tx) -> None:
        for kind in ("created", "accepted"):
            tx.append(JobEventRow, job_id="job_1", type=kind, actor_id=None, data=None, created_at=NOW)

    await store.write(append)
    assert await store.read(lambda tx: tx.all(job_history, job_id="job_1")) == [
        JobEventRow(id=1, job_id="job_1", type="created", actor_id=None, data=None, created_at=NOW),
        JobEventRow(id=2, job_id="job_1", type="accepted", actor_id=None, data=None, created_at=NOW),
    ]


async def test_a_failing_unit_undoes_itself_alone(store: Store) -> None:
    def fail(tx: Tx) -> None:
        tx.invalidate(place(tx).id)
        raise ValueError("no")

    answers = await asyncio.gather(*(store.write(place if i % 2 else fail) for i in range(40)), return_exceptions=True)
    assert kinds(answers) == {ValueError: 20, JobRow: 20}
    assert await job_ids(store) == {answer.id for answer in answers if isinstance(answer, JobRow)}
    assert await store.read(lambda tx: tx.one(count_threads)) == 20
    assert len(await events(store)) == 40


async def test_a_statement_that_fails_undoes_its_unit_alone(store: Store) -> None:
    wrong = Query(update(JobRow).values(version=bindparam("nothing")))

    def fail(tx: Tx) -> None:
        place(tx)
        tx.run(wrong, nothing=None)

    answers = await asyncio.gather(*(store.write(place if i % 2 else fail) for i in range(10)), return_exceptions=True)
    assert sum(isinstance(answer, JobRow) for answer in answers) == 5 == await store.read(lambda tx: tx.one(count_jobs))


async def test_a_conflict_runs_the_unit_again_and_it_sees_why(store: Store) -> None:
    placed = await store.write(partial(place, job_id="job_1"))
    runs: list[JobRow | None] = []

    def once(tx: Tx) -> str:
        runs.append(tx.get(JobRow, "job_1"))
        if len(runs) == 1:
            raise Conflict("look again")
        return "second"

    assert await store.write(once) == "second"
    assert runs == [placed, placed]


async def test_m11_one_bad_row_in_a_batch_stops_nobody_behind_it(store: Store) -> None:
    def step(tx: Tx) -> list[str]:
        failed = []
        for number in range(5):
            with tx.alone() as outcome:
                placed = place(tx, f"job_{number}")
                if number == 2:
                    raise ValueError(placed.id)
            if outcome.error:
                failed.append(str(outcome.error))
        return failed

    assert await store.write(step) == ["job_2"]
    assert await job_ids(store) == {"job_0", "job_1", "job_3", "job_4"}
    assert len(await events(store)) == 8


async def test_a_row_that_moved_on_inside_a_batch_runs_the_whole_unit_again(store: Store) -> None:
    taken = await store.write(partial(place, job_id="job_1"))
    runs: list[int] = []

    def step(tx: Tx) -> None:
        runs.append(1)
        with tx.alone():
            tx.add(taken if len(runs) == 1 else job("job_2"))

    await store.write(step)
    assert await job_ids(store) == {"job_1", "job_2"}
    assert len(runs) == 2


async def test_two_hundred_locked_additions_lose_nothing(store: Store) -> None:
    await store.write(partial(place, job_id="job_1"))
    assert await asyncio.gather(*(store.write(partial(add_one, job_id="job_1")) for _ in range(200))) == [None] * 200
    final = await the_job(store, "job_1")
    assert (final.units, final.version) == (201, 201)


async def test_m12_two_hundred_unlocked_additions_lose_nothing_they_did_not_refuse(store: Store) -> None:
    await store.write(partial(place, job_id="job_1"))
    calls = [store.write(partial(add_one, job_id="job_1", lock=False)) for _ in range(200)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(answer) for answer in answers} <= {type(None), Conflict}
    final = await the_job(store, "job_1")
    assert (final.units, final.version) == (1 + answers.count(None), 1 + answers.count(None))


async def test_units_that_meet_on_a_few_rows_do_not_block_each_other(store: Store) -> None:
    """Batches that wait for each other's rows would deadlock.

    Each deadlock costs seconds and refusals.
    """
    ids = [f"job_{number}" for number in range(4)]
    for job_id in ids:
        await store.write(partial(place, job_id=job_id))
    drawn = [ids[digit % 4] for digit in sha256(b"drawn").digest() * 13][:400]
    calls = [store.write(partial(add_one, job_id=job_id)) for job_id in drawn]
    assert await asyncio.wait_for(asyncio.gather(*calls), 20) == [None] * 400
    assert {job_id: (await the_job(store, job_id)).units - 1 for job_id in ids} == {i: drawn.count(i) for i in ids}


async def test_units_that_take_two_rows_in_opposite_order_all_succeed(store: Store) -> None:
    for job_id in ("job_a", "job_b"):
        await store.write(partial(place, job_id=job_id))

    def both(tx: Tx, first: str, second: str) -> None:
        add_one(tx, first)
        add_one(tx, second)

    pairs = [("job_a", "job_b"), ("job_b", "job_a")] * 40
    calls = [store.write(partial(both, first=first, second=second)) for first, second in pairs]
    assert await asyncio.wait_for(asyncio.gather(*calls), 20) == [None] * 80
    assert [(await the_job(store, job_id)).units for job_id in ("job_a", "job_b")] == [81, 81]


async def test_m12_of_twenty_acceptances_one_wins(store: Store) -> None:
    await store.write(partial(place, job_id="job_1"))
    calls = [store.write(partial(accept, job_id="job_1")) for _ in range(20)]
    assert kinds(await asyncio.gather(*calls, return_exceptions=True)) == {NotOpen: 19, JobRow: 1}
    assert [event.kind for event in await events(store)].count("job.accepted") == 1


async def test_m18_twins_with_one_idempotency_key_get_one_answer(store: Store) -> None:
    def order(tx: Tx) -> bytes:
        stored = tx.get(StoredResponseRow, "agt_buyer", "test", "key_1")
        if stored:
            return stored.body
        body = place(tx).id.encode()
        tx.add(StoredResponseRow(owner="agt_buyer", env="test", key_hash="key_1", operation="order", fingerprint="f",
                         status=201, sealed=False, body=body, created_at=NOW))  # fmt: skip
        return body

    answers = await asyncio.gather(*(store.write(order) for _ in range(60)))
    assert [answer.decode() for answer in answers] == list(await job_ids(store)) * 60
    assert len(await events(store)) == 2


async def test_a_reader_sees_what_was_acknowledged(store: Store) -> None:
    async def write_and_look() -> None:
        for _ in range(25):
            written = await store.write(place)
            assert await the_job(store, written.id) == written
            assert await store.scan(partial(get_job, job_id=written.id)) == written

    await asyncio.gather(*(write_and_look() for _ in range(8)))


async def test_a_read_of_several_statements_sees_one_moment(store: Store) -> None:
    """Every transaction adds one job and one thread, so each read must count as many of both."""
    seen: list[tuple[int | None, int | None]] = [(0, 0)]

    async def write() -> None:
        for _ in range(40):
            await store.write(place)
            await asyncio.sleep(0.001)  # as on a slow disk, so that there is time for reads

    async def read() -> None:
        while seen[-1] != (320, 320):
            seen.append(await store.scan(lambda tx: (tx.one(count_jobs), tx.one(count_threads))))
            seen.append(await store.read(lambda tx: (tx.one(count_jobs), tx.one(count_threads))))
            await asyncio.sleep(0)  # a fast read on SQLite does not yield to others

    await asyncio.gather(*(write() for _ in range(8)), read(), read())
    assert [jobs for jobs, threads in seen if jobs != threads] == []
    assert len(set(seen)) > 10, "little was written while it was read"


async def test_o5_a_poller_beside_eight_writers_sees_every_event_in_order(store: Store) -> None:
    seen: list[int] = []
    woken = asyncio.Event()
    store.listeners.append(lambda told: woken.set())

    async def write() -> None:
        for _ in range(50):
            await store.write(place)

    async def poll() -> None:
        while len(seen) < 800:
            await asyncio.wait_for(woken.wait(), 10)
            woken.clear()
            seen.extend(event.id for event in await events(store, since=seen[-1] if seen else 0))

    await asyncio.gather(poll(), *(write() for _ in range(8)))
    assert seen == list(range(1, 801))


async def test_o5_events_of_one_unit_keep_the_order_they_were_said_in(store: Store) -> None:
    def speak(tx: Tx) -> None:
        for number in range(20):
            tx.emit("agt_1", "test", f"kind.{number}", "{}", NOW)

    await asyncio.gather(*(store.write(speak) for _ in range(10)))
    said = [event.kind for event in await events(store)]
    assert said == [f"kind.{number}" for number in range(20)] * 10


async def test_a9_what_is_due_is_claimed_once(store: Store) -> None:
    def fill(tx: Tx) -> None:
        for number in range(200):
            tx.add(job(f"job_{number}"))

    await store.write(fill)
    claims = [store.write(lambda tx: tx.all(claim, now=LATER, limit=10)) for _ in range(30)]
    taken = [row.id for rows in await asyncio.gather(*claims) for row in rows]
    assert sorted(taken) == sorted(f"job_{number}" for number in range(200))
    assert {row.status for row in await store.read(lambda tx: tx.all(all_jobs))} == {"claimed"}


async def test_a_unit_whose_caller_has_gone_is_done_all_the_same(store: Store) -> None:
    gone = asyncio.ensure_future(store.write(partial(place, job_id="job_1")))
    await asyncio.sleep(0)
    gone.cancel()
    await store.write(partial(place, job_id="job_2"))
    assert await job_ids(store) == {"job_1", "job_2"}
    assert store.waiting == 0
