"""The root of the catalogue: one class per code, one shape on every surface."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

Json = Any  # a JSON value


class MarketError(Exception):
    """A refusal an agent can act on.

    `message` says what is wrong, `hint` the next call, `param` the offending field, `details` what a program needs.
    """

    status: ClassVar[int]
    type: ClassVar[str]
    code: ClassVar[str]
    retryable: ClassVar[bool] = False
    usual_hint: ClassVar[str] = ""
    quotes: ClassVar[tuple[str, ...]] = ()  # where it may hold text of other agents, such as a name in their schema

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        param: str | None = None,
        next_steps: tuple[Json, ...] = (),
        **details: Json,
    ) -> None:
        super().__init__(message)
        self.message, self.param, self.details, self.next_steps = message, param, details, next_steps
        self.hint = hint or self.usual_hint
        self.beside: tuple[MarketError, ...] = ()  # what else stands in the way of the call

    @property
    def retry_after_seconds(self) -> int | None:
        """Whole seconds to wait before the same call, or None."""
        seconds = self.details.get("retry_after_seconds")
        return seconds if isinstance(seconds, int) else None

    def record(self, request_id: str, docs_url: str) -> dict[str, Json]:
        """The error object of the contract, plus `retryable` and, where they help, `next_steps`.

        Where more stands in the way, `details.failing` names all of it, each with what mends it.
        """
        failing = {"failing": [one.said() for one in (self, *self.beside)]} if self.beside else {}
        return {
            "type": self.type,
            **self.said(**self.details, **failing),
            "docs": f"{docs_url}#{self.code}",
            "request_id": request_id,
            "retryable": self.retryable,
        }

    def said(self, **details: Json) -> dict[str, Json]:
        optional = {"hint": self.hint, "param": self.param, "details": details, "next_steps": list(self.next_steps)}
        return {"code": self.code, "message": self.message} | {name: one for name, one in optional.items() if one}


class ValidationFailed(MarketError):
    """400: the request itself is wrong; sending it again unchanged cannot work."""

    status, type = 400, "validation_error"


class AuthenticationFailed(MarketError):
    status, type = 401, "authentication_error"


class PaymentProblem(MarketError):
    status, type = 402, "payment_error"


class PermissionDenied(MarketError):
    status, type = 403, "permission_error"


class Missing(MarketError):
    status, type = 404, "not_found"


class TakenAlready(MarketError):
    """409: something else already holds the name, the place or the key."""

    status, type = 409, "conflict"


class WrongState(MarketError):
    """409: the thing is not in a state that allows this."""

    status, type = 409, "state_error"


class OurFault(MarketError):
    status, type, retryable = 500, "internal_error", True


class Faults:
    """Checks that are made together, so that all that fails is told at once: `with faults.noted(): check()`, then `refuse()`."""

    def __init__(self) -> None:
        self.found: list[MarketError] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        try:
            yield
        except MarketError as error:
            self.found.append(error)

    def refuse(self) -> None:
        """Raise the first, with the others beside it."""
        if self.found:
            first, *rest = self.found
            first.beside = (*first.beside, *rest)
            raise first
