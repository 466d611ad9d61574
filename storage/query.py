"""Queries: a statement is written once at import, compiled once per database, and run by the driver itself.

`Connection.execute` would look up the compiled text at every call; that takes longer than the statement (see the
benchmarks).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Generic, TypeVar, overload

from sqlalchemy import BindParameter, ColumnElement, Select, Table, bindparam, insert, literal_column, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.selectable import TypedReturnsRows
from sqlalchemy.sql.visitors import replacement_traverse

from storage.rows import Row, as_row

T = TypeVar("T")
Convert = Callable[[Any], Any]
MAX_SHAPES = 16  # of the INSERT of one table
INSERTS: dict[str, Callable[[Table], Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


@dataclass(frozen=True, slots=True)
class Plan:
    """One statement compiled for one database."""

    sql: str
    parameters: tuple[str, ...]
    constants: dict[str, Any]
    on_bind: tuple[tuple[int, Convert], ...]
    on_read: tuple[tuple[int, Convert], ...]
    make: Callable[[Sequence[Any]], Any]

    @property
    def plain(self) -> bool:
        """True if the rows are returned as the driver gives them."""
        return self.make is tuple and not self.on_read

    def bind(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the parameters in the order of the placeholders.

        Raises KeyError with the name of a missing one.
        """
        given = {**self.constants, **values} if self.constants else values
        ordered = [given[name] for name in self.parameters]
        for place, convert in self.on_bind:
            ordered[place] = convert(ordered[place])
        return ordered

    def read(self, columns: Sequence[Any]) -> Any:
        """Convert a result to the row, the single value or the tuple that the statement returns."""
        if self.on_read:
            columns = list(columns)
            for place, convert in self.on_read:
                if columns[place] is not None:  # a call for each null would take as long as the rest
                    columns[place] = convert(columns[place])
        return self.make(columns)


class Query(Generic[T]):
    """A named statement and the type of its results.

    Create it at module level, because each instance is compiled once.
    """

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
    """Build a SELECT of one row by its primary key.

    `lock` holds the row to the end of the unit of work; on SQLite every row is held.
    """
    statement = select(table).where(*(column == bindparam(column.key) for column in table.primary_key))
    return Query(statement.with_for_update() if lock else statement)


@cache
def inserting(table: Table, names: tuple[str, ...]) -> Query[Any]:
    return Query(insert(table).values(_bound(names)))


_shapes = defaultdict[Table, dict[tuple[str, ...], Query[Any]]](dict)


def inserting_values(row: Row) -> Query[Any]:
    """Build an INSERT of the columns of a row that are not NULL.

    The driver converts each parameter, which takes as long as the rest. A table has at most MAX_SHAPES such statements;
    a row that would need another one is inserted with all columns.
    """
    values = row.__dict__
    names = tuple([name for name in row.__names__ if values[name] is not None])
    shapes = _shapes[row.__table__]
    if names not in shapes:
        if len(shapes) >= MAX_SHAPES:
            names = row.__names__
        shapes[names] = inserting(row.__table__, names)
    return shapes[names]


@cache
def adding_once(table: Table, names: tuple[str, ...], dialect: str) -> Query[Any]:
    """Build an INSERT of one row that does nothing if the key exists."""
    return Query(INSERTS[dialect](table).values(_bound(names)).on_conflict_do_nothing())


@cache
def adding_to(table: Table, name: str, dialect: str) -> Query[int]:
    """Build an INSERT of one row, or an addition to the row with its key; it returns the sum.

    `name` is the column that is added to.
    """
    made = INSERTS[dialect](table).values(_bound(column.key for column in table.columns))
    sums = {name: table.c[name] + made.excluded[name]}
    return Query(made.on_conflict_do_update(index_elements=[*table.primary_key], set_=sums).returning(table.c[name]))


@cache
def changing(table: Table, names: tuple[str, ...]) -> Query[Any]:
    """Build an UPDATE of one row that requires the version that was read."""
    version = table.c.version
    guard = [column == bindparam(f"_{column.key}") for column in (*table.primary_key, version)]
    return Query(update(table).where(*guard).values({**_bound(names), "version": version + 1}).returning(*table.c))


def _bound(names: Iterable[str]) -> dict[str, BindParameter[Any]]:
    return {name: bindparam(name) for name in names}


def _compile(statement: Any, dialect: Dialect) -> Plan:
    if "POSTCOMPILE" in str(statement.compile(dialect=dialect)):
        raise TypeError(f"in_() is another statement for every length; write or_(), or `in_json_list()`: {statement}")
    compiled: SQLCompiler = replacement_traverse(statement, {}, partial(_inlined, dialect)).compile(dialect=dialect)
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


def _inlined(dialect: Dialect, element: Any, **_: Any) -> ColumnElement[Any] | None:
    """Return the text of a constant that replaces its parameter; None for all other elements.

    SQLite compiles a statement again for each call if a parameter is compared to a column in the condition of a
    partial index, because the value decides if the index can be used.
    """
    if not isinstance(element, BindParameter) or element.required or not isinstance(element.value, str | int):
        return None
    write = element.type.dialect_impl(dialect).literal_processor(dialect)
    if write is None:
        return None
    text = write(element.value)
    if dialect.paramstyle == "format":  # the processor doubles each %, and so does the compiler
        text = text.replace("%%", "%")
    return literal_column(text, element.type)


def _maker(columns: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
    table = getattr(columns[0], "table", None) if columns else None
    if isinstance(table, Table) and columns == list(table.c) and "row" in table.info:
        return partial(as_row, table.info["row"])
    return (lambda values: values[0]) if len(columns) == 1 else tuple
