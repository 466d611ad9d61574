"""Observers of calls, such as metrics and traces: Market tells them what begins, ends and is refused."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from storage.vocabulary import Env
from tools.engine.caller import CallRequest
from tools.engine.idempotency import Response
from tools.engine.registry import Operation

T = TypeVar("T")


class Observer:
    """An observer that does nothing; subclasses override what they observe."""

    def call(self, op: Operation, request: CallRequest) -> AbstractContextManager[Callable[[Response], None]]:
        """Observe a call: it runs inside the context, whose value is called with its response."""
        return nullcontext(lambda _: None)

    def stream(self, op: Operation, request: CallRequest, refused: Response | None) -> None:
        """Observe a stream that was opened, or refused."""

    async def chain_call(self, env: Env, method: str, asked: Awaitable[T]) -> T:
        """Observe a call of the chain of `env`: await its result and return it."""
        return await asked

    def refusal(self, request: CallRequest, refused: Response) -> None:
        """Observe the refusal of a request that calls no operation."""
