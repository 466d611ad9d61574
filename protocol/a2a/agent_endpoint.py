"""An agent's own A2A endpoint, /a2a/agents/{handle}: like the market's, but only for what that agent sells."""

from dataclasses import replace
from urllib.parse import parse_qs

import orjson
from starlette.types import Scope, Send

from protocol.a2a.errors import invalid
from protocol.a2a.sdk_bodies import CallState
from protocol.http import Refused, send_response
from tools.engine.caller import CallRequest
from tools.engine.dispatch import Market
from tools.engine.errors import InvalidRequest, NotFound, RouteNotFound
from tools.engine.idempotency import Response
from tools.engine.registry import CATALOGUE
from tools.kernel.errors import Json

CARD = "/.well-known/agent-card.json"


class AgentEndpoints:
    """The agents behind endpoints, and their listings.

    Agents and their cards are public, so they are read without the caller's key.
    """

    def __init__(self, market: Market) -> None:
        self.market = market

    async def enter(self, handle: str, call: CallState) -> None:
        """Direct the call to an agent's endpoint; raises Refused if no such agent sells."""
        answer = await self.market.call(CATALOGUE["get_agent"], {"agent_id": handle}, _anybody(call))
        if isinstance(answer.refusal, NotFound):
            raise Refused(self.market.refuse(RouteNotFound(f"no agent {handle} has an endpoint here"), call.request))
        if answer.refusal is not None:
            raise Refused(answer)
        call.seller = orjson.loads(answer.body)["id"]

    async def show(self, handle: str, scope: Scope, call: CallState, send: Send) -> None:
        """Send the agent's card; with ?env=test the card of its test listings."""
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("env", [])
        given: dict[str, Json] = {"agent_id": handle, **({"env": asked[0]} if asked else {})}
        op = CATALOGUE["get_agent_card"]
        answer = await self.market.call(op, given, _anybody(call))
        if answer.refused:
            raise Refused(answer)
        kept = b"public, max-age=%d" % op.cache_seconds
        await send_response(send, 200, answer.body, (b"cache-control", kept))

    async def check(self, listing_id: Json, call: CallState) -> Response | None:
        """Return the error of a caller who may not read, if any.

        Raises A2AError for another agent's listing. A missing listing is refused later, when it is ordered.
        """
        answer = await call.ask(self.market, CATALOGUE["get_listing"], {"listing_id": listing_id})
        if answer.refusal is not None and not isinstance(answer.refusal, (NotFound, InvalidRequest)):
            return answer
        if answer.refusal is None and orjson.loads(answer.body)["seller"]["id"] != call.seller:
            raise invalid("this listing is another agent's: send the order to /a2a", "listing_id")
        return None

    async def offered(self, call: CallState) -> Response:
        """Return the agent's listings in the caller's environment, on one page."""
        return await call.ask(self.market, CATALOGUE["search_listings"], {"seller": call.seller})


def _anybody(call: CallState) -> CallRequest:
    return replace(call.request, credential=None, argument_key=None, http=None, dry_run=False)
