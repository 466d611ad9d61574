"""One row of the table of operations: how the arguments of a call become a request."""

from typing import Any, Literal, NamedTuple
from urllib.parse import quote


class Operation(NamedTuple):
    """The HTTP form of one operation of the contract."""

    method: str
    path: str
    in_path: tuple[str, ...] = ()
    in_query: tuple[str, ...] = ()
    in_header: tuple[tuple[str, str], ...] = ()  # the argument, and the header that carries it
    body: Literal["none", "fields", "whole"] = "none"
    login: Literal["none", "optional", "required"] = "required"

    @property
    def repeatable(self) -> bool:
        """Tell whether the market answers a repeated call with its first answer."""
        return ("idempotency_key", "Idempotency-Key") in self.in_header


class Placed(NamedTuple):
    """The arguments of a call at their places in the request."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    json: Any


def place(operation: Operation, arguments: dict[str, Any]) -> Placed:
    """Put each argument into the path, the query, a header or the body."""
    left, path = dict(arguments), operation.path
    for name in operation.in_path:
        if left.get(name) in (None, ""):
            raise TypeError(f"the argument {name} is missing")
        path = path.replace("{" + name + "}", quote(str(left.pop(name)), safe=""))
    headers = {header: str(left.pop(name)) for name, header in operation.in_header if left.get(name) is not None}
    for name, _ in operation.in_header:
        left.pop(name, None)
    query = {name: _text(left.pop(name)) for name in operation.in_query if left.get(name) is not None}
    for name in operation.in_query:
        left.pop(name, None)
    if operation.body == "whole":
        return Placed(path, query, headers, left.get("input"))
    if operation.body == "none":  # a newer market may know arguments that this table does not have
        query |= {name: _text(value) for name, value in left.items() if value is not None}
        return Placed(path, query, headers, None)
    return Placed(path, query, headers, left)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(_text(one) for one in value)
    return str(value)
