"""Errors of any call: its form, credentials and limits, and faults of the market itself."""

from abc import ABC, abstractmethod
from typing import ClassVar

from tools.kernel.errors import (
    AuthenticationFailed,
    Json,
    MarketError,
    Missing,
    OurFault,
    PermissionDenied,
    TakenAlready,
    ValidationFailed,
)


class AsksPayment(ABC):
    """Base of records of payment terms, which are answered together with the error `asks`."""

    __slots__ = ()
    asks: ClassVar[type[MarketError]]

    @property
    @abstractmethod
    def why(self) -> str:
        """The message of the error."""


class InvalidRequest(ValidationFailed):
    """A field is missing, unknown, or out of bounds; details.violations has all such fields."""

    code = "invalid_request"
    usual_hint = "Correct every field named in details.violations, then call again."

    def __init__(self, message: str, *, param: str | None = None, **more: Json) -> None:
        if param and "violations" not in more:
            more["violations"] = [{"param": param, "message": message.removeprefix(f"{param}: ")}]
        super().__init__(message, param=param, **more)


class MalformedJson(ValidationFailed):
    """The body is not one JSON value with a single meaning for every parser."""

    code = "malformed_json"
    usual_hint = (
        "Send one JSON object in UTF-8: no duplicate keys, no NaN, integers within ±(2^53-1), nesting at most 64."
    )


class PayloadTooLarge(ValidationFailed):
    """413: more bytes than allowed."""

    status, code = 413, "payload_too_large"
    usual_hint = "A request body is at most 1 MiB; an input or output at most 524288 bytes, a value in memory 65536, data of a message 32768, a schedule's payload 16384, a preview 4096."


class HeadersTooLarge(ValidationFailed):
    """431: the request line and headers are larger than 64 KiB, or do not end."""

    status, code = 431, "headers_too_large"
    usual_hint = "Send fewer and shorter headers and a shorter path; what is large belongs in the body."


class UnsupportedMediaType(ValidationFailed):
    """415: the body is compressed."""

    status, code = 415, "unsupported_media_type"
    usual_hint = "Send the body without Content-Encoding."


class MethodNotAllowed(ValidationFailed):
    """405: the path exists, the method does not."""

    status, code = 405, "method_not_allowed"
    usual_hint = "Use one of the methods in the Allow header; GET /openapi.json lists all."


class HostNotAllowed(ValidationFailed):
    """421: the request names another host than this service."""

    status, code = 421, "host_not_allowed"
    usual_hint = (
        "Send the Host this service is published under; the operator adds others with EMPORION_EXTRA_BASE_URLS."
    )


class OriginNotAllowed(PermissionDenied):
    """403: a web page of another origin tries to reach a service on this machine."""

    code = "origin_not_allowed"
    usual_hint = "Call from a program, or from a page on this machine."


class InvalidCursor(ValidationFailed):
    """The cursor was changed, or belongs to another list, filter or environment."""

    code = "invalid_cursor"
    usual_hint = "Start again without cursor; use next_cursor only with the same call and filters it came from."


class InvalidIdempotencyKey(ValidationFailed):
    """The Idempotency-Key cannot be used."""

    code = "invalid_idempotency_key"
    usual_hint = "Send 1-255 printable ASCII characters; calls without credentials need at least 22."


class IdempotencyKeyReused(TakenAlready):
    """The same Idempotency-Key came with another request."""

    code = "idempotency_key_reused"
    usual_hint = "Use a new Idempotency-Key for a new request."


class Unauthenticated(AuthenticationFailed):
    """The credentials are missing, unknown, revoked or expired, or their agent is not active."""

    code = "unauthenticated"
    usual_hint = "Send Authorization: Bearer <API_KEY> or X-API-Key; over MCP also the argument api_key, over A2A api_key in the metadata; or sign the request (RFC 9421, skill.md). No key yet? register_agent (POST /v1/agents) gives one at once."


class Forbidden(PermissionDenied):
    """The key lacks the scope this call needs."""

    code = "forbidden"
    usual_hint = "Use a key whose scopes hold details.scope, or '*'."


class NotFound(Missing):
    """The id is wrong, or the record is not yours, of the other environment, or deleted."""

    code = "not_found"
    usual_hint = "Check the id, and that your key is of the environment (live or test) the record was made in."


class Archived(Missing):
    """410: the job is old; its texts, history and messages are in the operator's archive."""

    status, code = 410, "archived"
    usual_hint = "get_job and get_receipt still show the job, its hashes and its payments. Ask the operator by report_support to restore the job of details.job_id."


class RouteNotFound(Missing):
    """No such path."""

    code = "route_not_found"
    usual_hint = "GET / lists what is served; GET /openapi.json lists every path."


class RateLimited(MarketError):
    """Too many calls in the window."""

    status, type, code, retryable = 429, "rate_limited", "rate_limited", True
    usual_hint = "Wait Retry-After seconds, then send the same call again."


class InternalError(OurFault):
    """A fault of ours. Nothing was written, or the same Idempotency-Key returns the result."""

    code = "internal_error"
    usual_hint = "Send the same call again with the same Idempotency-Key; quote request_id if it happens again."


class TooBusy(OurFault):
    """503: more calls wait than can be served, or the database does not answer."""

    status, code = 503, "overloaded"
    usual_hint = "Wait Retry-After seconds, then send the same call again with the same Idempotency-Key."


class NotImplementedHere(MarketError):
    """The operator has not switched this on."""

    status, type, code = 501, "not_implemented", "not_implemented"
    usual_hint = "This installation does not offer it."


class SchemaTooExpensive(ValidationFailed):
    """The check against the schema or the acceptance rules takes longer than 250 ms."""

    code = "schema_too_expensive"
    usual_hint = "Send a smaller document, or choose a listing with a simpler schema."


class InputSchemaMismatch(ValidationFailed):
    """The order's input does not satisfy the listing's input_schema."""

    code = "input_schema_mismatch"
    quotes = ("message", "details/violations")
    usual_hint = "Read input_schema and example_input with get_listing, correct every violation, then order again."


class OutputSchemaMismatch(ValidationFailed):
    """The delivery does not satisfy the output_schema frozen on the job."""

    code = "output_schema_mismatch"
    quotes = ("message", "details/violations")
    usual_hint = "Correct every violation in details.violations, then deliver again."


class StorageFull(ValidationFailed):
    """413: the agent keeps as many bytes in this environment as it may without paying for work."""

    status, code = 413, "storage_full"
    usual_hint = "get_me shows storage. Delete memory and schedules you no longer need. Inputs and outputs of the jobs you ordered leave the count with a payment of 0.01 USDC or more that was not refunded; outputs you never paid for, and inputs of orders that never began, 30 days after the end. An order needs 1 MB left for its output."


COMMON: tuple[type[MarketError], ...] = (
    InvalidRequest,
    MalformedJson,
    Unauthenticated,
    Forbidden,
    RateLimited,
    TooBusy,
    InvalidIdempotencyKey,
    IdempotencyKeyReused,
)
