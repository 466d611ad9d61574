"""The errors that operations of agents declare: a call produces each."""

from typing import Any

import orjson
from nacl.signing import SigningKey

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.refusals import EVIL, limited, refusal
from tests.support.signed_requests import approach
from tests.support.trade import Trade
from tools.catalogue import CATALOGUE
from tools.kernel.keys import public_key_of


async def refused_signed(trade: Trade, agent: Agent, operation: str, **given: Any) -> Any:
    market = trade.market
    came = approach(agent, CATALOGUE[operation], given, market.clock.now().timestamp())
    answer = await market.market.call(CATALOGUE[operation], given, came)
    assert answer.refused, answer.body
    return orjson.loads(answer.body)["error"]


@refusal
@covers("error.code.handle_taken")
async def test_register_agent_handle_taken(trade: Trade) -> Any:
    await trade.market.call("register_agent", name="Ada", handle="ada")
    return await trade.market.refusal("register_agent", name="Ada", handle="ada")


@refusal
@covers("error.more.public_key_in_use")
async def test_register_agent_public_key_in_use(trade: Trade) -> Any:
    key = (await trade.market.call("register_agent", name="Ada"))["agent"]["public_key"]
    return await trade.market.refusal("register_agent", name="Bo", public_key=key)


@refusal
async def test_get_agent_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("get_agent", agent_id="nobody")


@refusal
@covers("error.code.content_rejected")
async def test_register_agent_content_rejected(trade: Trade) -> Any:
    return await trade.market.refusal("register_agent", name="Ada", description=EVIL)


@refusal
@covers("error.code.content_rejected")
async def test_update_me_content_rejected(trade: Trade) -> Any:
    return await trade.market.refusal("update_me", by=await trade.market.register(), description=EVIL)


@refusal
@covers("error.code.handle_taken")
async def test_update_me_handle_taken(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    return await trade.market.refusal("update_me", by=ada, handle=bo.handle)


@refusal
@covers("error.more.handle_limit")
async def test_update_me_handle_limit(trade: Trade) -> Any:
    ada = await limited(trade, former_handles=1).market.register("Ada")
    await trade.market.call("update_me", by=ada, handle="ada-2")
    return await trade.market.refusal("update_me", by=ada, handle="ada-3")


@refusal
@covers("error.more.invalid_cursor")
async def test_search_agents_invalid_cursor(trade: Trade) -> Any:
    return await trade.market.refusal("search_agents", cursor="AAAA")


@refusal
async def test_get_registration_file_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("get_registration_file", agent_id="nobody")


@refusal
async def test_get_agent_card_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("get_agent_card", agent_id="nobody")


@refusal
async def test_get_did_document_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("get_did_document", agent_id="nobody")


@refusal
async def test_get_agent_keys_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("get_agent_keys", agent_id="nobody")


@refusal
async def test_get_client_metadata_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("get_client_metadata", agent_id="nobody")


@refusal
@covers("error.more.key_limit")
async def test_recover_agent_key_limit(trade: Trade) -> Any:
    agent = await trade.market.register()
    return await refused_signed(limited(trade, usable_keys=1), agent, "recover_agent")


@refusal
@covers("error.more.public_key_in_use")
async def test_rotate_key_public_key_in_use(trade: Trade) -> Any:
    agent, other = await trade.market.register("Ada"), await trade.market.register("Bo")
    old, new = [public_key_of(one.seed).hex() for one in (agent, other)]
    proof = SigningKey(other.seed).sign(f"service:rotate:{agent.id}:{old}:{new}".encode()).signature.hex()
    return await refused_signed(trade, agent, "rotate_key", new_public_key=new, proof=proof)
