"""Base classes of all errors: one class per code, one shape on every surface."""

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
    quotes: ClassVar[tuple[str, ...]] = ()  # members that may hold text of other agents, such as a name in their schema

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
        self.other_failures: tuple[MarketError, ...] = ()  # the other errors of the same call

    @property
    def retry_after_seconds(self) -> int | None:
        """Whole seconds to wait before the same call, or None."""
        seconds = self.details.get("retry_after_seconds")
        return seconds if isinstance(seconds, int) else None

    def record(self, request_id: str, docs_url: str) -> dict[str, Json]:
        """Return the error object of the contract, plus `retryable` and, if they help, `next_steps`.

        If the call has several errors, `details.failing` lists them all, each with its hint.
        """
        failing = {"failing": [one.fields() for one in (self, *self.other_failures)]} if self.other_failures else {}
        return {
            "type": self.type,
            **self.fields(**self.details, **failing),
            "docs": f"{docs_url}#{self.code}",
            "request_id": request_id,
            "retryable": self.retryable,
        }

    def fields(self, **details: Json) -> dict[str, Json]:
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
    """409: the state of the record does not allow this."""

    status, type = 409, "state_error"


class OurFault(MarketError):
    status, type, retryable = 500, "internal_error", True


class ErrorCollector:
    """The errors of checks that are made together, so that the caller gets all of them at once.

    Use it as `with faults.catch(): check()` for each check, then `raise_all()`.
    """

    def __init__(self) -> None:
        self.found: list[MarketError] = []

    @contextmanager
    def catch(self) -> Iterator[None]:
        try:
            yield
        except MarketError as error:
            self.found.append(error)

    def raise_all(self) -> None:
        """Raise the first error, with the others in its `other_failures`."""
        if self.found:
            first, *rest = self.found
            first.other_failures = (*first.other_failures, *rest)
            raise first
