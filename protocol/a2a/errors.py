"""Errors of A2A: the market's errors as errors of the protocol, and faults that only the log may show."""

from collections.abc import Awaitable
from typing import TypeVar

import structlog
from a2a.server.context import ServerCallContext
from a2a.utils.errors import A2AError, InternalError, InvalidParamsError, InvalidRequestError, TaskNotFoundError

from protocol.a2a.sdk_bodies import CallState
from tools.engine.errors import InvalidCursor, InvalidRequest, NotFound
from tools.kernel.errors import MarketError

log = structlog.get_logger("emporion.a2a")
T = TypeVar("T")
MAX_ID_LENGTH = 256
NEEDS_KEY = "Tasks are jobs, shown to their parties: send your key as X-API-Key, or as api_key in a message's metadata."


def reached(context: ServerCallContext) -> CallState:
    call: CallState = context.state["call"]
    call.reached = True
    return call


def invalid(message: str, param: str, hint: str = "") -> A2AError:
    return InvalidParamsError(message=message, data={"param": param, **({"hint": hint} if hint else {})})


def short_id(text: str, param: str) -> str:
    """Return an id that the client chose; raises InvalidParamsError above MAX_ID_LENGTH."""
    if len(text) > MAX_ID_LENGTH:
        raise invalid(f"{param} is longer than {MAX_ID_LENGTH} characters", param)
    return text


async def guarded(call: CallState, work: Awaitable[T]) -> T:
    """Await our own code and turn a fault into InternalError.

    The SDK would send the fault's message to the caller; it is logged instead.
    """
    try:
        return await work
    except (A2AError, MarketError):
        raise
    except Exception:
        log.exception("fault", request_id=call.request.request_id)
        raise InternalError(message="something went wrong on our side") from None


def not_shown(error: MarketError) -> A2AError:
    """Return the A2A error of a refused task; missing and foreign tasks look the same."""
    if isinstance(error, (NotFound, InvalidRequest)):
        return TaskNotFoundError()
    return market_error(error)


def market_error(error: MarketError) -> A2AError:
    """Return InvalidRequestError with the market's code and hint, for errors A2A does not have."""
    if isinstance(error, InvalidCursor):
        return invalid("there is no such page", "pageToken", error.hint)
    wait = {} if error.retry_after_seconds is None else {"retryAfterSeconds": error.retry_after_seconds}
    return InvalidRequestError(message=error.message, data={"code": error.code, "hint": error.hint, **wait})
