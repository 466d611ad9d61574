"""The parts that the queries of all nouns are made of: conditions, pages, and whole queries of one shape."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Integer,
    Select,
    Text,
    bindparam,
    delete,
    func,
    literal,
    or_,
    select,
    tuple_,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import coercions, roles

from storage.query import Query
from storage.rows import JsonText, Row

R = TypeVar("R", bound=Row)
Condition = ColumnElement[bool]
LIMIT: BindParameter[int] = bindparam("limit")


class JsonList(JsonText):
    """A parameter that is bound as a JSON list: any iterable of values but one string."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        if isinstance(value, str):
            raise TypeError("pass the values themselves, not their JSON")  # it would be split into characters
        return super().process_bind_param([*value], dialect)


class in_json_list(ColumnElement[bool]):  # noqa: N801 - reads as the operator it is
    """The operator `in_json_list(JobRow.id, "ids")`; the caller passes ids=[...].

    It is like `in_` with any number of values, but compiled once, because all are in one parameter.
    """

    inherit_cache = True
    type = Boolean()

    def __init__(self, column: Any, parameter: str) -> None:
        self.column = coercions.expect(roles.ExpressionElementRole, column)
        self.values: BindParameter[Any] = bindparam(parameter, type_=JsonList)

    def self_group(self, against: Any = None) -> "in_json_list":
        """Return the element unchanged.

        SQLite has no booleans: otherwise SQLAlchemy writes `(… IN …) = 1`, which does not use the index.
        """
        return self


@compiles(in_json_list, "sqlite")
def _in_sqlite(element: in_json_list, compiler: Any, **kw: Any) -> str:
    column, values = compiler.process(element.column, **kw), compiler.process(element.values, **kw)
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608 - both were compiled, none is input


@compiles(in_json_list, "postgresql")
def _in_postgresql(element: in_json_list, compiler: Any, **kw: Any) -> str:
    column, values = compiler.process(element.column, **kw), compiler.process(element.values, **kw)
    return f"{column} IN (SELECT jsonb_array_elements_text(({values})::jsonb))"


class octets(ColumnElement[int]):  # noqa: N801 - reads as the function it is
    """The length of a text in bytes of UTF-8: `octets(MessageRow.body)`.

    SQLite has octet_length only since 3.43.
    """

    inherit_cache = True
    type = Integer()

    def __init__(self, column: Any) -> None:
        self.column = coercions.expect(roles.ExpressionElementRole, column)


@compiles(octets, "sqlite")
def _length_in_sqlite(element: octets, compiler: Any, **kw: Any) -> str:
    return f"length(CAST({compiler.process(element.column, **kw)} AS BLOB))"


@compiles(octets, "postgresql")
def _length_in_postgresql(element: octets, compiler: Any, **kw: Any) -> str:
    return f"octet_length({compiler.process(element.column, **kw)})"


LARGE_TEXT = 32_768  # bytes


class unless_large(ColumnElement[str]):  # noqa: N801 - reads as the function it is
    """A text for `Tx.all_within`: on PostgreSQL null if it is over LARGE_TEXT bytes.

    PostgreSQL sends all rows of a statement. SQLite reads a row when it is fetched, so there it is the whole text.
    """

    inherit_cache = True
    type = Text()

    def __init__(self, column: Any) -> None:
        self.column = coercions.expect(roles.ExpressionElementRole, column)


@compiles(unless_large, "sqlite")
def _text_in_sqlite(element: unless_large, compiler: Any, **kw: Any) -> str:
    return str(compiler.process(element.column, **kw))


@compiles(unless_large, "postgresql")
def _text_in_postgresql(element: unless_large, compiler: Any, **kw: Any) -> str:
    column = compiler.process(element.column, **kw)
    return f"CASE WHEN octet_length({column}) <= {LARGE_TEXT} THEN {column} END"


def matching(*columns: Any) -> tuple[Condition, ...]:
    """Return the conditions that each column equals the parameter of its name."""
    return tuple(column == bindparam(column.key) for column in columns)


def is_one_of(column: Any, words: Iterable[str]) -> Condition:
    """Return the condition that `column` is one of these constants.

    `in_` would make another statement for every length.
    """
    return or_(*(column == literal(word) for word in words))


def after_id(statement: Any, id_column: Any) -> Any:
    """Limit a SELECT to the page after an id, in the order of ids."""
    return statement.where(id_column > bindparam("after")).order_by(id_column).limit(LIMIT)


def before_id(statement: Any, id_column: Any) -> Any:
    """Limit a SELECT to the page before an id, newest first."""
    return statement.where(id_column < bindparam("before")).order_by(id_column.desc()).limit(LIMIT)


def rows_among(kind: type[R], column: Any, parameter: str = "ids") -> Query[R]:
    """Build the query of the rows with one of these values in `column`."""
    return Query(select(kind).where(in_json_list(column, parameter)))


def newest_rows(kind: Any, *conditions: Condition) -> Query[Any]:
    """Build the query of a page of rows, newest first."""
    return Query(before_id(select(kind).where(*conditions), kind.id))


def first_rows(kind: Any, *conditions: Condition, by: Sequence[Any], locks: bool = False) -> Query[Any]:
    """Build the query of the first rows in an order.

    With `locks` it locks them, and skips rows that another unit of work has locked.
    """
    found = select(kind).where(*conditions).order_by(*by).limit(LIMIT)
    return Query(found.with_for_update(skip_locked=True) if locks else found)


def count(kind: type[Row], *conditions: Condition) -> Query[int]:
    return Query(select(func.count()).select_from(kind.__table__).where(*conditions))


def delete_where(kind: type[Row], *conditions: Condition) -> Query[None]:
    return Query(delete(kind.__table__).where(*conditions))


def deleting(kind: type[Row], moment: Any, *answered: Any) -> Query[Any]:
    """Build a DELETE of at most `limit` rows whose `moment` is before `before`.

    An index on `moment` finds them. The limit keeps the unit of work short. `answered` are the columns that are
    returned for each deleted row.
    """
    table = kind.__table__
    keys = tuple_(*table.primary_key) if len(kind.__key__) > 1 else next(iter(table.primary_key))
    old = select(*table.primary_key).where(moment < bindparam("before")).limit(LIMIT)
    gone = delete(table).where(keys.in_(old))
    return Query(gone.returning(*answered) if answered else gone)


def due_rows(kind: Any, moment: Any, *conditions: Condition) -> Query[Any]:
    """Build the query of a page of rows whose `moment` has come, earliest first; it locks them.

    The page starts after the place (`since`, `after`). Rows that another unit of work has locked are skipped.
    """
    since: BindParameter[Any] = bindparam("since")
    place = (moment >= since, moment <= bindparam("until"), or_(moment > since, kind.id > bindparam("after")))
    return first_rows(kind, *conditions, *place, by=(moment, kind.id), locks=True)


def newest_ids(kind: Any, owner: Any, *conditions: Condition) -> Select[Any]:
    """Select a page of ids by one index, newest first.

    No index covers two owners at once, so all of an agent's rows would have to be sorted.
    """
    mine = owner == bindparam("agent_id"), kind.env == bindparam("env")
    found: Select[Any] = before_id(select(kind.id).where(*mine, *conditions), kind.id)
    return found


def newest_of_sides(kind: Any, sides: Iterable[Any], *conditions: Condition) -> Query[Any]:
    """Build the query of the newest rows in which an agent is on one of these sides."""
    return newest_of(kind, [newest_ids(kind, side, *conditions) for side in sides])


def newest_rows_chosen(kind: Any, *conditions: Condition, by: Any) -> Callable[[bool], Query[Any]]:
    """Build two queries of a page of rows, newest first.

    The function returns the query of all rows or, called with true, of those with one value in the column `by`.
    """
    queries = {False: newest_rows(kind, *conditions), True: newest_rows(kind, *conditions, *matching(by))}
    return queries.__getitem__


def newest_of(kind: Any, pages: Iterable[Select[Any]]) -> Query[Any]:
    """Build the query of the newest rows of several pages of ids."""
    found = or_(*(kind.id.in_(select(page.subquery().c.id)) for page in pages))
    return Query(select(kind).where(found).order_by(kind.id.desc()).limit(LIMIT))
