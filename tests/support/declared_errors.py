"""An observer that fails a test if an operation refuses a call with an error that it does not declare."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from tools.engine.caller import CallRequest
from tools.engine.errors import COMMON, InternalError
from tools.engine.idempotency import Response
from tools.engine.observers import Observer
from tools.engine.registry import Operation


class DeclaredErrors(Observer):
    """Raise AssertionError for an undeclared error; faults of the market need no declaration."""

    @contextmanager
    def call(self, op: Operation, request: CallRequest) -> Iterator[Callable[[Response], None]]:
        yield partial(_check, op)

    def stream(self, op: Operation, request: CallRequest, refused: Response | None) -> None:
        if refused is not None:
            _check(op, refused)


def _check(op: Operation, response: Response) -> None:
    error = response.refusal
    if error is not None and not isinstance(error, (*op.errors, *COMMON, InternalError)):
        raise AssertionError(f"{op.name} does not declare {type(error).__name__}") from error
