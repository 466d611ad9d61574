"""Requests that call no operation, such as tools/list, documents and pages: they are identified and counted too."""

from storage.transaction import StorageError
from tools.engine.authentication import NO_KEY, identify
from tools.engine.caller import Caller, CallRequest, anonymous
from tools.engine.dispatch import Market
from tools.engine.errors import Unauthenticated
from tools.engine.idempotency import Response, busy
from tools.engine.rate_limits import ALLOWANCES, Rate, RateLimitStatus, exceeded_error
from tools.engine.request_signatures import consume_alone, reject_replayed
from tools.kernel.errors import MarketError

READ_FOR_ALL = 16_384  # bytes; smaller bodies are read before authentication, in about a millisecond


async def identify_viewer(market: Market, request: CallRequest) -> Caller:
    """Return the caller of a page that is no operation but is shown to some callers only."""
    caller = await identify(request, market.services)
    await consume_alone(caller, market.services)
    return caller


async def require_credential(market: Market, request: CallRequest) -> Response | None:
    """Return the refusal of an unauthenticated caller; None for an authenticated one."""
    try:
        caller = await identify(request, market.services)
        await reject_replayed(caller, market.services)
        if caller.agent_id is None:
            raise Unauthenticated(NO_KEY)
    except MarketError as error:
        return market.observed_refusal(request, market.refuse_anonymous(error, request))
    except StorageError as error:
        return market.observed_refusal(request, market.refuse(busy(error), request))
    return None


async def count_protocol_request(market: Market, request: CallRequest) -> Response | None:
    """Count a request that calls no operation; return a 429 response or None."""
    if not market.config.limits.enforced:
        return None
    rate, caller = Rate.PROTOCOL_REQUESTS, await _known(market, request)
    quota = await market.services.rate_limits.of_caller(rate, ALLOWANCES[rate], caller)
    return market.observed_refusal(request, _beyond(market, quota, request))


def count_document(market: Market, request: CallRequest) -> Response | None:
    """Count a request for a document against its address; return a 429 response or None."""
    if not market.config.limits.enforced:
        return None
    return _beyond(market, market.services.rate_limits.of_address(Rate.PROTOCOL_REQUESTS, request.ip), request)


async def refuse_unread_body(market: Market, request: CallRequest, body_bytes: int) -> Response | None:
    """Refuse a large body unread if the caller is unknown and its address over the rate limit."""
    if body_bytes <= READ_FOR_ALL or not market.config.limits.enforced:
        return None
    rate = market.services.rate_limits.spent_by(request.ip)
    if rate is None or (await _known(market, request)).agent_id:
        return None
    quota = market.services.rate_limits.of_address(rate, request.ip)
    return market.observed_refusal(request, _beyond(market, quota, request))


def _beyond(market: Market, quota: RateLimitStatus, request: CallRequest) -> Response | None:
    """Return the refusal of a request over its rate limit; None within the limit."""
    error = exceeded_error(quota)
    return None if error is None else market.refuse(error, request, quota)


async def _known(market: Market, request: CallRequest) -> Caller:
    """Identify a caller by a valid credential; without one it counts as anonymous."""
    try:
        return await identify(request, market.services)
    except (MarketError, StorageError):
        return anonymous(request)
