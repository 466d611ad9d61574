"""Rows and queries as values, tested without a database."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import combinations

import pytest
from sqlalchemy import bindparam, literal, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.engine import Dialect

from storage.query import MAX_SHAPES, Query, inserting_values
from storage.rows import UtcMicroseconds, as_row
from storage.store import Store
from storage.tables import AgentRow, JobRow, KeyRow, SettingsRow, ThreadRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus
from tests.support.storage_orders import NOW, job


def test_a_row_refuses_assignment() -> None:
    placed = job("job_1")
    with pytest.raises(AttributeError, match=r"use tx\.change"):
        setattr(placed, "title", "x")  # noqa: B010 - mypy refuses the plain form
    with pytest.raises(AttributeError, match="a JobRow is a value"):
        del placed.title
    assert placed == job("job_1")


def test_a_row_needs_every_column_without_a_default_and_no_other() -> None:
    with pytest.raises(TypeError, match="SettingsRow needs 'value'"):
        SettingsRow(name="a")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"SettingsRow has no \['colour'\]"):
        SettingsRow(name="a", value="b", colour="c")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="JobRow needs 'listing_id'"):
        JobRow(id="job_1", env="test")  # type: ignore[call-arg]


def test_defaults_are_those_of_the_declaration() -> None:
    key = KeyRow(id="key_1", agent_id="agt_1", env="test", hash="h", prefix="p", name=None, scopes=[], created_at=NOW)
    assert (key.version, key.status, key.last_used_at, key.expires_at) == (1, "active", None, None)


def test_rows_are_equal_by_their_values() -> None:
    assert job("job_1") == job("job_1")
    assert job("job_1") != job("job_2")
    assert SettingsRow(name="a", value="b") != ThreadRow(
        id="a", env="b", kind="", job_id=None, a="", b="", created_at=NOW
    )
    assert len({job("job_1"), job("job_1"), job("job_2")}) == 2
    assert repr(SettingsRow(name="a", value="b")) == "SettingsRow(name='a', value='b')"


def test_a_row_is_made_of_exactly_its_columns() -> None:
    assert as_row(SettingsRow, ["a", "b"]) == SettingsRow(name="a", value="b")
    with pytest.raises(ValueError):
        as_row(SettingsRow, ["a"])


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 11, 21, 4, 0, 0, 123457, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ],
)
def test_a_moment_keeps_its_microsecond(moment: datetime) -> None:
    kept = UtcMicroseconds().process_bind_param(moment, sqlite.dialect())
    assert UtcMicroseconds().result_processor(sqlite.dialect(), None)(kept) == moment


def test_a_moment_of_another_zone_is_the_same_moment_and_one_without_a_zone_is_refused() -> None:
    abroad = NOW.astimezone(timezone(timedelta(hours=9)))
    assert UtcMicroseconds().process_bind_param(abroad, sqlite.dialect()) == UtcMicroseconds().process_bind_param(
        NOW, sqlite.dialect()
    )
    with pytest.raises(TypeError, match="naive"):
        UtcMicroseconds().process_bind_param(NOW.replace(tzinfo=None), sqlite.dialect())


def test_a_query_is_compiled_once_for_each_database() -> None:
    query = Query(select(SettingsRow).where(SettingsRow.name == bindparam("name")))
    plan = query.plan(sqlite.dialect())
    assert query.plan(sqlite.dialect()) is plan
    assert query.plan(postgresql.dialect()) is not plan
    assert plan.bind({"name": "a"}) == ["a"]
    assert plan.read(("a", "b")) == SettingsRow(name="a", value="b")


def test_a_parameter_that_is_not_given_is_an_error() -> None:
    plan = Query(select(SettingsRow).where(SettingsRow.name == bindparam("name"))).plan(sqlite.dialect())
    with pytest.raises(KeyError, match="name"):
        plan.bind({"nmae": "a"})


def test_a_list_of_any_length_is_refused_when_the_query_is_compiled() -> None:
    query = Query(select(SettingsRow).where(SettingsRow.name.in_(["a", "b"])))
    with pytest.raises(TypeError, match="another statement for every length"):
        query.plan(sqlite.dialect())


@pytest.mark.parametrize(
    "dialect", [sqlite.dialect(), psycopg.dialect(paramstyle="format")], ids=["question mark", "format"]
)
def test_a_constant_is_written_into_the_statement(dialect: Dialect) -> None:
    # With a parameter SQLite would compile the statement again for each call, because a partial index names its column.
    given = JobRow.status == literal("it's 100% ?"), JobRow.units == literal(7), JobRow.id == bindparam("id")
    plan = Query(select(JobRow.id).where(*given)).plan(dialect)
    assert plan.parameters == ("id",)
    assert "status = 'it''s 100% ?'" in plan.sql.replace("%%", "%")
    assert "units = 7" in plan.sql


def test_a_locked_row_is_locked_on_postgres_and_free_on_sqlite() -> None:
    locked = Query(select(SettingsRow).with_for_update())
    assert locked.plan(postgresql.dialect()).sql.endswith("FOR UPDATE")
    assert "FOR UPDATE" not in locked.plan(sqlite.dialect()).sql


async def test_rows_with_any_choice_of_nulls_come_back_by_a_bounded_number_of_statements(store: Store) -> None:
    optional = {"max_price": 7, "message_id": "m", "context_id": "c", "pay_to": "0x1", "worker": "w"}
    chosen = [dict(some) for size in range(6) for some in combinations(optional.items(), size)]
    rows = [job(f"job_{number}").with_(**values) for number, values in enumerate(chosen)]
    assert len({inserting_values(row) for row in rows}) <= MAX_SHAPES + 1 < len(rows)
    await store.write(lambda tx: [tx.add(row) for row in rows])
    assert await store.read(lambda tx: [tx.get(JobRow, row.id) for row in rows]) == rows


async def test_words_numbers_bytes_and_times_come_back_as_what_they_are(store: Store) -> None:
    agent = AgentRow(
        id="agt_1", handle="h", name="ÅÄÖ \U0001f600", description=None, capabilities=[], tags=[], public_key="k",
        endpoints={}, framework=None, metadata_json=None, referred_by=None, first_party=True, created_at=NOW,
        auth_epoch=2**63 - 1, status=AgentStatus.SUSPENDED,
    )  # fmt: skip
    await store.write(lambda tx: tx.add(agent))
    found = await store.read(lambda tx: tx.get(AgentRow, "agt_1"))
    assert found == agent
    assert (type(found.status), found.first_party, found.evaluator) == (AgentStatus, True, False)


async def test_texts_are_ordered_alike_on_both_databases(store: Store) -> None:
    names = ["a", "B", "_", "10", "9", "ä", "z", "Z", "a_b", "ab", "😀", "|"]
    in_order = Query(select(SettingsRow.name).order_by(SettingsRow.name))

    def fill(tx: Tx) -> None:
        for name in names:
            tx.add(SettingsRow(name=name, value=""))

    await store.write(fill)
    assert await store.read(lambda tx: tx.all(in_order)) == sorted(names)


async def test_run_answers_how_many_rows_it_touched(store: Store) -> None:
    await store.write(lambda tx: [tx.add(SettingsRow(name=name, value="old")) for name in ("a", "b", "c")])
    renew = Query(update(SettingsRow).where(SettingsRow.name > bindparam("after")).values(value=bindparam("new")))
    assert await store.write(lambda tx: tx.run(renew, after="a", new="new")) == 2
    assert await store.read(lambda tx: [tx.get(SettingsRow, name).value for name in ("a", "b")]) == ["old", "new"]  # type: ignore[union-attr]
