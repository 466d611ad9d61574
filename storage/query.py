"""Queries: a statement written once at import, compiled once per database, run by the driver itself.

`Connection.execute` would find the compiled text again at every call; that costs more than the statement (see the bench).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Generic, TypeVar, overload

from sqlalchemy import Select, Table, bindparam, delete, insert, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.selectable import TypedReturnsRows

from storage.rows import Row, as_row

T = TypeVar("T")
Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """One statement in one database's words."""

    sql: str
    parameters: tuple[str, ...]
    constants: dict[str, Any]
    on_bind: tuple[tuple[int, Convert], ...]
    on_read: tuple[tuple[int, Convert], ...]
    make: Callable[[Sequence[Any]], Any]

    @property
    def plain(self) -> bool:
        """Whether the rows are answered as the driver gives them."""
        return self.make is tuple and not self.on_read

    def bind(self, values: Mapping[str, Any]) -> list[Any]:
        """The parameters in the order of the placeholders; KeyError names one that was not given."""
        given = {**self.constants, **values}
        ordered = [given[name] for name in self.parameters]
        for place, convert in self.on_bind:
            ordered[place] = convert(ordered[place])
        return ordered

    def read(self, columns: Sequence[Any]) -> Any:
        """The row, the single value or the tuple this statement answers with."""
        if self.on_read:
            columns = list(columns)
            for place, convert in self.on_read:
                columns[place] = convert(columns[place])
        return self.make(columns)


class Query(Generic[T]):
    """A named statement and the type of what it answers. Make it at module level: each compiles once."""

    @overload
    def __init__(self, statement: TypedReturnsRows[T]) -> None: ...
    @overload
    def __init__(self: "Query[None]", statement: UpdateBase) -> None: ...
    @overload
    def __init__(self: "Query[Any]", statement: Select[*tuple[Any, ...]]) -> None: ...
    def __init__(self, statement: Any) -> None:
        self.statement = statement
        self.plans: dict[str, Plan] = {}

    def plan(self, dialect: Dialect) -> Plan:
        found = self.plans.get(dialect.name)
        if found is None:
            found = self.plans[dialect.name] = _compile(self.statement, dialect)
        return found


@cache
def by_key(table: Table, lock: bool) -> Query[Any]:
    """SELECT one row by its primary key; `lock` holds it to the end of the unit (SQLite: always so)."""
    statement = select(table).where(*(column == bindparam(column.key) for column in table.primary_key))
    return Query(statement.with_for_update() if lock else statement)


@cache
def inserting(table: Table, names: tuple[str, ...]) -> Query[Any]:
    return Query(insert(table).values({name: bindparam(name) for name in names}))


@cache
def adding_once(table: Table, names: tuple[str, ...], dialect: str) -> Query[Any]:
    """INSERT one row, or nothing where its key is taken."""
    values: dict[str, Any] = {name: bindparam(name) for name in names}
    if dialect == "sqlite":
        return Query(sqlite.insert(table).values(values).on_conflict_do_nothing())
    return Query(postgresql.insert(table).values(values).on_conflict_do_nothing())


@cache
def changing(table: Table, names: tuple[str, ...]) -> Query[Any]:
    """UPDATE one row if its version is still the one that was read."""
    version = table.c.version
    guard = [column == bindparam(f"_{column.key}") for column in (*table.primary_key, version)]
    values: dict[str, Any] = {name: bindparam(name) for name in names}
    return Query(update(table).where(*guard).values(values | {"version": version + 1}).returning(*table.c))


def deleting(kind: type[Row], moment: Any) -> "Query[Any]":
    """DELETE at most `limit` rows whose moment lies before `before`: an index on it finds them, and no unit grows long."""
    table = kind.__table__
    keys = tuple_(*table.primary_key) if len(kind.__key__) > 1 else next(iter(table.primary_key))
    old = select(*table.primary_key).where(moment < bindparam("before")).limit(bindparam("limit"))
    return Query(delete(table).where(keys.in_(old)))


def _compile(statement: Any, dialect: Dialect) -> Plan:
    compiled: SQLCompiler = statement.compile(dialect=dialect)
    if "POSTCOMPILE" in compiled.string:
        raise TypeError(
            f"in_() is another statement for every length; write or_(), or `among` a JSON array: {statement}"
        )
    names = tuple(compiled.positiontup or ())
    types = {name: bind.type.dialect_impl(dialect) for bind, name in compiled.bind_names.items()}
    columns = list(statement.exported_columns)
    readers = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
    return Plan(
        sql=compiled.string,
        parameters=names,
        constants={name: bind.value for bind, name in compiled.bind_names.items() if not bind.required},
        on_bind=tuple((i, f) for i, name in enumerate(names) if (f := types[name].bind_processor(dialect))),
        on_read=tuple((i, f) for i, f in enumerate(readers) if f),
        make=_maker(columns),
    )


def _maker(columns: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
    table = getattr(columns[0], "table", None) if columns else None
    if isinstance(table, Table) and columns == list(table.c) and "row" in table.info:
        return partial(as_row, table.info["row"])
    return (lambda values: values[0]) if len(columns) == 1 else tuple
