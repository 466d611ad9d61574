"""An agent's own endpoint, /a2a/agents/{handle}: the market's, for what that agent sells and nothing else."""

from dataclasses import replace
from urllib.parse import parse_qs

import orjson
from starlette.types import Scope, Send

from protocol.a2a_refusals import invalid
from protocol.a2a_wire import Call
from protocol.http import send_json, send_refusal
from tools.answers import Answer
from tools.context import Approach
from tools.dispatch import Market
from tools.errors import InvalidRequest, NotFound, RouteNotFound
from tools.errors.base import Json
from tools.registry import CATALOGUE

CARD = "/.well-known/agent-card.json"


class Shops:
    """Who sells behind an address, and what. It is public, so it is asked for as by anybody."""

    def __init__(self, market: Market) -> None:
        self.market = market

    async def enter(self, handle: str, call: Call) -> Answer | None:
        """The refusal where no agent of this handle or id sells; else the call is to that agent's endpoint."""
        answer = await self.market.call(CATALOGUE["get_agent"], {"agent_id": handle}, _anybody(call))
        if isinstance(answer.refusal, NotFound):
            return self.market.refuse(RouteNotFound(f"no agent {handle} has an endpoint here"), call.approach)
        if answer.refusal is not None:
            return answer
        call.seller = orjson.loads(answer.body)["id"]
        return None

    async def show(self, handle: str, scope: Scope, call: Call, send: Send) -> None:
        """The agent's card; of its test listings with ?env=test."""
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("env", [])
        given: dict[str, Json] = {"agent_id": handle, **({"env": asked[0]} if asked else {})}
        op = CATALOGUE["get_agent_card"]
        answer = await self.market.call(op, given, _anybody(call))
        if answer.refused:
            await send_refusal(send, answer)
            return
        kept = b"public, max-age=%d" % op.kept_seconds
        await send_json(send, 200, answer.body, (b"cache-control", kept))

    async def check(self, listing_id: Json, call: Call) -> Answer | None:
        """The refusal of a caller who may not even look. Raises where the listing is another agent's; one that is not there is
        refused when it is ordered.
        """
        answer = await self.market.call(CATALOGUE["get_listing"], {"listing_id": listing_id}, call.approach)
        call.further()
        if answer.refusal is not None and not isinstance(answer.refusal, (NotFound, InvalidRequest)):
            return answer
        if answer.refusal is None and orjson.loads(answer.body)["seller"]["id"] != call.seller:
            raise invalid("this listing is another agent's: send the order to /a2a", "listing_id")
        return None

    async def offered(self, call: Call) -> Answer:
        """What the agent sells in the caller's environment, as far as it matters whether it is one thing."""
        asked = {"seller": call.seller}
        answer = await self.market.call(CATALOGUE["search_listings"], asked, call.approach)
        call.further()
        return answer


def _anybody(call: Call) -> Approach:
    return replace(call.approach, credential=None, argument_key=None, request=None, dry_run=False)
