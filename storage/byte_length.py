"""The length of a text in bytes of UTF-8, on both databases."""

from typing import Any

from sqlalchemy import ColumnElement, Integer
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import coercions, roles


class octets(ColumnElement[int]):  # noqa: N801 - reads as the function it is
    """The function `octets(MessageRow.body)`. SQLite has octet_length only since 3.43."""

    inherit_cache = True
    type = Integer()

    def __init__(self, column: Any) -> None:
        self.column = coercions.expect(roles.ExpressionElementRole, column)


@compiles(octets, "sqlite")
def _sqlite(element: octets, compiler: Any, **kw: Any) -> str:
    return f"length(CAST({compiler.process(element.column, **kw)} AS BLOB))"


@compiles(octets, "postgresql")
def _postgresql(element: octets, compiler: Any, **kw: Any) -> str:
    return f"octet_length({compiler.process(element.column, **kw)})"
