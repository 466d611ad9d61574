"""A column compared with a JSON list in one parameter: like `in_` with any number of values, but compiled once."""

from typing import Any

from sqlalchemy import BindParameter, Boolean, ColumnElement, bindparam
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import coercions, roles

from storage.rows import JsonText


class JsonList(JsonText):
    """A parameter that is bound as a JSON list: any iterable of values but one string."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        if isinstance(value, str):
            raise TypeError("pass the values themselves, not their JSON")  # it would be split into characters
        return super().process_bind_param([*value], dialect)


class in_json_list(ColumnElement[bool]):  # noqa: N801 - reads as the operator it is
    """The operator `in_json_list(JobRow.id, "ids")`; the caller passes ids=[...]."""

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
def _sqlite(element: in_json_list, compiler: Any, **kw: Any) -> str:
    column, values = compiler.process(element.column, **kw), compiler.process(element.values, **kw)
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608 - both were compiled, none is input


@compiles(in_json_list, "postgresql")
def _postgresql(element: in_json_list, compiler: Any, **kw: Any) -> str:
    column, values = compiler.process(element.column, **kw), compiler.process(element.values, **kw)
    return f"{column} IN (SELECT jsonb_array_elements_text(({values})::jsonb))"
