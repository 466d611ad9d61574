"""Errors as types. An error of the market has its code, hint, details, next_steps and request_id."""

import re
from typing import Any

MAX_CODE = 100
MAX_TEXT = 2000
# Control characters, line separators, directions of text and halves of surrogate pairs.
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SECRETS = re.compile(r"as_(?:live|test)_[0-9A-Za-z]{8,}|oat_[\w.-]{8,}|whsec_\S+|(?<=Bearer )\S+")


def redacted(text: str) -> str:
    """Remove API keys, access tokens and webhook secrets from a text."""
    return SECRETS.sub("[secret]", text)


def printable(text: str) -> str:
    """Escape the characters of a text that could command a terminal or forge a line of a log."""
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class EmporionError(Exception):
    """Base class of all errors that this package raises on purpose."""

    def __str__(self) -> str:
        return printable(super().__str__())  # many errors quote texts of others


class MarketError(EmporionError):
    """The market refused a call."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        error = body.get("error")
        if not isinstance(error, dict):  # the login of OAuth answers with a text
            error = {"code": error, "message": body.get("error_description")}
        self.status, self.body = status, body
        self.code = (_text(error.get("code") or "unknown", MAX_CODE) or "unknown")[:MAX_CODE]
        self.hint: str | None = _text(error.get("hint"))
        self.param: str | None = _text(error.get("param"))
        details, steps = error.get("details"), error.get("next_steps")
        self.details: dict[str, Any] = details if isinstance(details, dict) else {}
        self.next_steps: list[dict[str, Any]] = steps if isinstance(steps, list) else []
        self.request_id: str | None = _text(error.get("request_id"))
        self.retryable = error.get("retryable") is True
        said = [f"{self.code}:", _sentence(_text(error.get("message")) or f"HTTP {status}"), _sentence(self.hint or "")]
        if self.request_id:
            said.append(f"[{self.request_id}]")
        super().__init__(redacted(" ".join(one for one in said if one)))


def _sentence(text: str) -> str:
    """End a text with a full stop, because the market's messages have none."""
    return text if not text or text[-1] in ".!?" else f"{text}."


def _text(value: Any, most: int = MAX_TEXT) -> str | None:
    return None if value is None else printable(str(value)[:most])


class InvalidRequest(MarketError):
    """400: the call itself is wrong; `details["violations"]` names every field."""


class NotSignedIn(MarketError):
    """401: the key is missing, wrong or revoked."""


class PaymentDue(MarketError):
    """402: `body` has the terms of the payment."""


class NotAllowed(MarketError):
    """403: this key may not make the call."""


class NotFound(MarketError):
    """404: there is no such record, or it is not yours."""


class Conflict(MarketError):
    """409: the record is in another state."""


class TooMany(MarketError):
    """429: too many calls, also after the retries."""


class MarketDown(EmporionError):
    """The market did not answer, or answered 5xx, also after the retries.

    The call may have taken effect. The same call again is safe.
    """


class UnexpectedAnswer(EmporionError):
    """The market, a facilitator or a node answered something that the contract does not allow."""


class TooDear(EmporionError):
    """The price is above max_price. Nothing was signed."""


class LimitReached(EmporionError):
    """The spending limit does not allow this purchase. Nothing was signed."""


class WrongTerms(EmporionError):
    """The payment terms differ from the order, the network or the wallet. Nothing was signed."""


class NotFunded(EmporionError):
    """The wallet holds less USDC than the payment needs. Nothing was signed."""


class PaymentStuck(EmporionError):
    """A signed payment can neither be proven nor be replaced safely: look at the wallet."""


class StillWaiting(EmporionError):
    """The time given to buy() is over. The same buy() continues the purchase."""


class InProgress(EmporionError):
    """Another buy() that runs now works on this purchase."""


class NotDelivered(EmporionError):
    """The order ended without a delivery. A payment in advance is owed back: see `job`."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.reason = _text(job.get("cancel_reason")) or "no reason given"
        owed = " A refund is due." if job.get("refund_due") else ""
        super().__init__(redacted(f"{_text(job.get('id'))} is {_text(job.get('status'))}: {self.reason}{owed}"))


class HomeDamaged(EmporionError):
    """The keys or the journal in the home folder cannot be read. Nothing was changed."""


class WrongSignature(EmporionError):
    """A webhook's signature does not match, or it is too old."""


class Decline(EmporionError):
    """The input cannot be worked: a seller's function raises it, and the buyer reads the text.

    It is raised too if the input fits the schema and not the function's types. Any other error of a function is a
    fault of the seller.
    """

    def __str__(self) -> str:
        return Exception.__str__(self)  # the buyer reads the text as the seller wrote it


BY_STATUS: dict[int, type[MarketError]] = {
    400: InvalidRequest,
    401: NotSignedIn,
    402: PaymentDue,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    429: TooMany,
}
