"""Rows: a table is declared once as a class; a row is an immutable instance of it.

On the class an attribute is the column (`JobRow.status == "open"`), on an instance it is the value read (`job.status`).
"""

import types
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeVar, Union, dataclass_transform, get_args, get_origin, get_type_hints

import orjson
from sqlalchemy import BigInteger, Boolean, Column, Index, LargeBinary, MetaData, Table, Text, text
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Mapped, MappedColumn, mapped_column
from sqlalchemy.schema import SchemaItem
from sqlalchemy.sql.schema import ScalarElementColumnDefault
from sqlalchemy.types import NullType, TypeDecorator, TypeEngine

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
R = TypeVar("R", bound="Row")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class UtcMicroseconds(TypeDecorator[datetime]):
    """A UTC time, stored as whole microseconds since 1970.

    Both databases sort and compare it in the same way.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else (value - EPOCH) // timedelta(microseconds=1)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[int | None], datetime | None]:
        """Return the function that reads a value; that of the base class makes two calls for each."""
        return _moment


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else EPOCH + timedelta(0, 0, microseconds)


class EnumText(TypeDecorator[StrEnum]):
    """One word of a StrEnum, stored as text."""

    impl = Text
    cache_ok = True

    def __init__(self, words: type[StrEnum]) -> None:
        self.words = words
        super().__init__()

    def process_result_value(self, value: str | None, dialect: Dialect) -> StrEnum | None:
        return None if value is None else self.words(value)


class JsonText(TypeDecorator[Any]):
    """A JSON value, stored as text.

    Do not use it for documents that are hashed, because their text must stay as it is.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else orjson.dumps(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else orjson.loads(value)


# STRICT tables know only INTEGER, REAL, TEXT and BLOB.
@compiles(Boolean, "sqlite")
@compiles(BigInteger, "sqlite")
def _integer(*_: object, **__: object) -> str:
    return "INTEGER"


def partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """Make an index of the rows that fulfil a condition."""
    some = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=some, postgresql_where=some)


SQL_TYPES: dict[type, type[TypeEngine[Any]]] = {
    str: Text, int: BigInteger, bool: Boolean, bytes: LargeBinary, datetime: UtcMicroseconds,
}  # fmt: skip


@dataclass_transform(kw_only_default=True, field_specifiers=(mapped_column,))
class Row:
    """A stored row: immutable and compared by its values. `Tx.change` writes a new version."""

    __table__: ClassVar[Table]
    __names__: ClassVar[tuple[str, ...]]
    __key__: ClassVar[tuple[str, ...]]
    __defaults__: ClassVar[dict[str, object]]

    def __init_subclass__(cls, name: str | None = None, parts: Sequence[SchemaItem] = ()) -> None:
        if name is None:  # only a base class of tables
            return
        hints = {key: hint for key, hint in get_type_hints(cls).items() if get_origin(hint) is Mapped}
        specs = {key: getattr(cls, key, None) for key in hints}
        columns = [_column(key, get_args(hint)[0], specs[key]) for key, hint in hints.items()]
        cls.__table__ = Table(
            name, metadata, *columns, *parts, sqlite_strict=True, sqlite_autoincrement=True, info={"row": cls}
        )
        cls.__names__ = tuple(column.key for column in columns)
        cls.__key__ = tuple(column.key for column in cls.__table__.primary_key)
        optional = {c.key: None for c in columns if c.nullable and specs[c.key]}  # mapped_column hides default=None
        given = {c.key: c.default.arg for c in columns if isinstance(c.default, ScalarElementColumnDefault)}
        cls.__defaults__ = optional | given
        for column in columns:
            setattr(cls, column.key, column)  # an instance's own __dict__ takes precedence over this

    @classmethod
    def __clause_element__(cls) -> Table:
        return cls.__table__

    def __init__(self, **values: object) -> None:
        given = self.__defaults__ | values
        try:
            self.__dict__.update({name: given.pop(name) for name in self.__names__})
        except KeyError as missing:
            raise TypeError(f"{type(self).__name__} needs {missing}") from None
        if given:
            raise TypeError(f"{type(self).__name__} has no {sorted(given)}")

    def with_(self, **changes: object) -> Self:
        """Return a copy with other values in these columns; it is not written."""
        return type(self)(**(self.__dict__ | changes))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} is a value: use tx.change(row, {name}=…)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} is a value")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[name] for name in self.__key__))  # another column may hold a list

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.__dict__.items())})"


class Entity(Row):
    """The base of tables of things with an id. `Tx.change` raises the version."""

    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)


class EntityOfEnv(Entity):
    """The base of tables of things that belong to one environment."""

    env: Mapped[str]


class StateOfAgent(Row):
    """The base of tables with at most one row per agent."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)


class StateOfAgentInEnv(Row):
    """The base of tables with at most one row per agent and environment."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    env: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)


def as_row(kind: type[R], values: Sequence[object]) -> R:
    """Make a row from column values in table order.

    It is not a method, because a column may have any name, even `read`.
    """
    row = object.__new__(kind)
    row.__dict__.update(zip(kind.__names__, values, strict=True))
    return row


def _column(key: str, hint: Any, spec: object) -> Column[Any]:
    """Return the column of one annotated attribute.

    A `mapped_column(…)` beside the annotation adds keys, indexes and defaults.
    """
    optional = get_origin(hint) in (Union, types.UnionType)
    python = next(arg for arg in get_args(hint) if arg is not types.NoneType) if optional else hint
    column: Column[Any] = spec.column._copy() if isinstance(spec, MappedColumn) else Column()  # noqa: SLF001 - bases share specs
    column.key = column.name = key
    column.nullable = optional
    if isinstance(column.type, NullType):
        column.type = EnumText(python) if issubclass(python, StrEnum) else SQL_TYPES[python]()
    return column
