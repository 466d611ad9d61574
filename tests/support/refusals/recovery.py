"""Errors of operations that need a signed request."""

from typing import Any

import orjson
from nacl.signing import SigningKey

from tests.support.market import Agent
from tests.support.refusals import limited, produces
from tests.support.signed_requests import approach
from tests.support.trade import Trade
from tools.catalogue import CATALOGUE
from tools.kernel.keys import public_key_of


async def refused(trade: Trade, agent: Agent, operation: str, **given: Any) -> Any:
    market = trade.market
    came = approach(agent, CATALOGUE[operation], given, market.clock.now().timestamp())
    answer = await market.market.call(CATALOGUE[operation], given, came)
    assert answer.refused, answer.body
    return orjson.loads(answer.body)["error"]


@produces("recover_agent", "key_limit")
async def _(trade: Trade) -> Any:
    agent = await trade.market.register()
    return await refused(limited(trade, usable_keys=1), agent, "recover_agent")


@produces("rotate_key", "public_key_in_use")
async def _(trade: Trade) -> Any:
    agent, other = await trade.market.register("Ada"), await trade.market.register("Bo")
    old, new = [public_key_of(one.seed).hex() for one in (agent, other)]
    proof = SigningKey(other.seed).sign(f"service:rotate:{agent.id}:{old}:{new}".encode()).signature.hex()
    return await refused(trade, agent, "rotate_key", new_public_key=new, proof=proof)
