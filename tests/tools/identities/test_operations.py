"""Clauses of the contract about ERC-8004: a token of a real registry is linked, refused, checked and unlinked."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from eth_abi.abi import encode
from nacl.signing import SigningKey

from server.adapters.chain import JsonRpcChain
from storage.tables import IdentityRow
from storage.vocabulary import Env
from tests.requirements import covers
from tests.support.faulty_node import FaultyNode, result
from tests.support.market import Agent, TestMarket
from tests.support.proofs import DAY, ReadContext, Registry, own_file, world_with
from tests.support.refusals import chain_down
from tests.support.trade import Trade, binding
from tools.chain.erc8004 import OWNER_OF, TOKEN_URI
from tools.kernel.records import stamp

REGISTRY = "eip155:84532:0x8004A818BFB912233c491871b3d84c89A494BD9e"


@pytest.fixture
def registry(trade: Trade) -> Registry:
    return Registry(trade.evm)


@pytest.fixture
def outside(trade: Trade) -> ReadContext:
    return ReadContext(trade.market)


@pytest.fixture
async def ada(trade: Trade) -> Agent:
    return await trade.agent("Ada")


async def linked(trade: Trade, registry: Registry, agent: Agent) -> str:
    token = registry.register(agent.wallet, own_file(agent))
    await trade.market.call("link_erc8004", by=agent, agent_id=token)
    return token


async def shown(market: TestMarket, agent: Agent) -> Any:
    return (await market.call("get_agent", agent_id=agent.id))["erc8004"]


@covers("invariant.3.identity_registry")
@covers("route.agents.erc8004.link", "agent.erc8004.owner_verified", "event.kind.agent.erc8004_linked")
async def test_a_token_that_names_the_agent_is_linked(
    trade: Trade, registry: Registry, ada: Agent, outside: ReadContext
) -> None:
    token = registry.register(ada.wallet, own_file(ada))
    me = await trade.market.call("link_erc8004", by=ada, agent_id=token)
    link = {
        "agent_id": token,
        "chain_id": 84532,
        "registry": REGISTRY,
        "owner_verified": True,
        "verified_at": stamp(trade.market.clock.now()),
    }
    assert me["erc8004"] == link
    assert me == await trade.market.call("get_me", by=ada)
    assert await shown(trade.market, ada) == link
    (told,) = await outside.events(ada, "agent.erc8004_linked")
    expected = {name: link[name] for name in ("agent_id", "chain_id", "registry", "owner_verified")}
    assert {name: told[name] for name in expected} == expected
    file = await trade.market.call("get_registration_file", agent_id=ada.id)
    assert file["registrations"] == [{"agentId": int(token), "agentRegistry": REGISTRY}]


async def test_a_number_is_a_number_or_its_digits(trade: Trade, registry: Registry, ada: Agent) -> None:
    token = registry.register(ada.wallet, own_file(ada))
    for given in (int(token), float(token), token):
        assert (await trade.market.call("link_erc8004", by=ada, agent_id=given))["erc8004"]["agent_id"] == token


@pytest.mark.parametrize(
    "given", ["", "-1", -1, "1.0", 1.5, "0x1", "01", " 1", "1\n", "٣", True, None, [1], "9" * 78, str(2**256), "1" * 79]
)
async def test_what_is_no_number_of_a_token_is_refused(trade: Trade, ada: Agent, given: Any) -> None:
    error = await trade.market.refusal("link_erc8004", by=ada, agent_id=given)
    assert (error["code"], error["param"]) == ("invalid_request", "agent_id")


@covers("error.more.erc8004_uri_mismatch")
async def test_a_token_that_names_another_file_is_refused_with_both_uris(
    trade: Trade, registry: Registry, ada: Agent
) -> None:
    bo = await trade.agent("Bo")
    for uri in ("", own_file(bo), own_file(ada) + "/", own_file(ada).upper(), "data:application/json," + "x" * 3000):
        token = registry.register(ada.wallet, uri)
        error = await trade.market.refusal("link_erc8004", by=ada, agent_id=token)
        assert error["code"] == "erc8004_uri_mismatch"
        assert error["details"] == {
            "agent_id": token,
            "expected_uri": own_file(ada),
            "token_uri": uri[:2048],
            "owner": ada.wallet.address,
        }
    assert await shown(trade.market, ada) is None
    registry.rename(ada.wallet, token, own_file(ada))
    await trade.market.call("link_erc8004", by=ada, agent_id=token)


async def test_a_token_of_somebody_else_is_linked_but_not_owned(trade: Trade, registry: Registry, ada: Agent) -> None:
    token = registry.register(trade.evm.person(), own_file(ada))
    me = await trade.market.call("link_erc8004", by=ada, agent_id=token)
    assert me["erc8004"]["owner_verified"] is False
    bare = await trade.market.register("Bare")
    token = registry.register(ada.wallet, own_file(bare))
    me = await trade.market.call("link_erc8004", by=bare, agent_id=token)
    assert me["erc8004"]["owner_verified"] is False, "no wallet is bound"


async def test_a_change_of_wallet_is_a_change_of_owner(trade: Trade, registry: Registry, ada: Agent) -> None:
    await linked(trade, registry, ada)
    old = ada.wallet
    for wallet, owned in ((trade.evm.person(), False), (old, True)):
        ada.wallet = wallet
        text = f"service:wallet:{ada.id}:{wallet.address.lower()}".encode()
        proof = SigningKey(ada.seed).sign(text).signature.hex()
        me = await trade.bind(ada, proof=proof)
        assert me["erc8004"]["owner_verified"] is owned
        assert (await shown(trade.market, ada))["owner_verified"] is owned


async def test_linking_again_reads_again_and_says_nothing_new(
    trade: Trade, registry: Registry, ada: Agent, outside: ReadContext
) -> None:
    token = await linked(trade, registry, ada)
    registry.transfer(ada.wallet, trade.evm.person(), token)
    trade.market.pass_seconds(60)
    me = await trade.market.call("link_erc8004", by=ada, agent_id=token)
    assert (me["erc8004"]["owner_verified"], me["erc8004"]["verified_at"]) == (False, stamp(trade.market.clock.now()))
    assert len(await outside.events(ada, "agent.erc8004_linked")) == 1
    other = await linked(trade, registry, ada)
    assert (await shown(trade.market, ada))["agent_id"] == other
    assert [one["agent_id"] for one in await outside.events(ada, "agent.erc8004_linked")] == [other, token][::-1]


async def test_a_token_belongs_to_the_agent_it_names_last(trade: Trade, registry: Registry, ada: Agent) -> None:
    token = await linked(trade, registry, ada)
    bo = await trade.agent("Bo")
    registry.rename(ada.wallet, token, own_file(bo))
    await trade.market.call("link_erc8004", by=bo, agent_id=token)
    assert (await shown(trade.market, bo))["agent_id"] == token
    assert await shown(trade.market, ada) is None


async def test_an_unlinked_profile_shows_no_token(trade: Trade, registry: Registry, ada: Agent) -> None:
    await linked(trade, registry, ada)
    me = await trade.market.call("unlink_erc8004", by=ada)
    assert me["erc8004"] is None
    assert await trade.market.call("unlink_erc8004", by=ada) == me
    await linked(trade, registry, ada)
    await trade.market.call("delete_me", by=ada, confirm=ada.handle)
    assert await trade.market.store.read(lambda tx: tx.get(IdentityRow, ada.id)) is None


async def test_a_linked_token_is_read_again_every_day(
    trade: Trade, registry: Registry, ada: Agent, outside: ReadContext
) -> None:
    token = await linked(trade, registry, ada)
    assert await outside.after(DAY - 1) == 0
    registry.transfer(ada.wallet, trade.evm.person(), token)
    assert await outside.after(1) == 1
    link = await shown(trade.market, ada)
    assert (link["owner_verified"], link["verified_at"]) == (False, stamp(trade.market.clock.now()))
    assert await outside.after(0) == 0


async def test_a_token_that_names_its_agent_no_longer_is_unlinked_within_a_day(
    trade: Trade, registry: Registry, ada: Agent, outside: ReadContext
) -> None:
    token = await linked(trade, registry, ada)
    registry.rename(ada.wallet, token, "https://elsewhere.example/")
    assert await outside.after(DAY) == 1
    assert await shown(trade.market, ada) is None
    assert await outside.after(DAY) == 0


async def test_m6_a_chain_that_says_nothing_unlinks_nobody(
    trade: Trade, registry: Registry, ada: Agent, outside: ReadContext
) -> None:
    await linked(trade, registry, ada)
    link = await shown(trade.market, ada)
    async with chain_down(trade):
        assert await outside.after(DAY) == 1
    assert await shown(trade.market, ada) == link
    assert await outside.after(3599) == 0
    assert await outside.after(1) == 1, "it is asked again in an hour"
    assert (await shown(trade.market, ada))["verified_at"] == stamp(trade.market.clock.now())


NONSENSE = {
    "no contract": {OWNER_OF: "0x"},
    "a short address": {OWNER_OF: "0x1234"},
    "no address": {OWNER_OF: "0x" + "f" * 64},
    "nobody": {OWNER_OF: "0x" + "0" * 64},
    "no string": {TOKEN_URI: "0x"},
    "a string of another length": {TOKEN_URI: "0x" + f"{32:064x}" + "f" * 64},
    "a pointer elsewhere": {TOKEN_URI: "0x" + "f" * 128},
    "no bytes": {TOKEN_URI: "<html>"},
    "a number": {TOKEN_URI: 7},
    "two megabytes": {TOKEN_URI: "0x" + encode(["string"], ["x" * 1_100_000]).hex()},
}


@pytest.fixture
async def node(trade: Trade) -> AsyncIterator[FaultyNode]:
    """A node that can give false answers, and that the market reads."""
    async with FaultyNode(trade.evm.url) as made:
        reader = JsonRpcChain(made.url, trade.evm.chain_id, monotonic=trade.market.clock.monotonic)
        with world_with(trade.market, chains={Env.TEST: reader}):
            yield made
        await reader.close()


@pytest.mark.parametrize("lie", NONSENSE)
async def test_m6_nonsense_of_a_node_is_no_answer_and_changes_nothing(
    trade: Trade, registry: Registry, ada: Agent, node: FaultyNode, lie: str
) -> None:
    token = registry.register(ada.wallet, own_file(ada))
    ((selector, answer),) = NONSENSE[lie].items()
    calls = [OWNER_OF, TOKEN_URI]

    def lied(true: Any) -> Any:
        return answer if calls.pop(0) == selector else true

    node.fault("eth_call", result(lied), 2)
    error = await trade.market.refusal("link_erc8004", by=ada, agent_id=token)
    assert (error["code"], error["type"]) == ("chain_unavailable", "payment_error")
    assert error["details"] == {"retry_after_seconds": 5}
    assert await shown(trade.market, ada) is None
    node.heal()
    assert (await trade.market.call("link_erc8004", by=ada, agent_id=token))["erc8004"]["agent_id"] == token


@covers("error.more.erc8004_live_link_exists")
async def test_a_test_key_touches_no_live_link_and_a_live_key_replaces_a_test_link(
    trade: Trade, registry: Registry
) -> None:
    """The test chain also serves as the live chain here, with the same registry address."""
    market = trade.market
    networks = market.market.config.networks
    same = replace(networks[Env.LIVE], identity_registry=networks[Env.TEST].identity_registry)
    market.market.services.config = replace(market.market.config, networks={**networks, Env.LIVE: same})
    chain = market.market.world.chains[Env.TEST]
    ada = await market.register("Ada")
    ada.wallet = trade.evm.person()
    bound = {"address": ada.wallet.address, "signature": binding(ada)}
    token, other = (registry.register(ada.wallet, own_file(ada)) for _ in range(2))
    with world_with(market, chains={Env.TEST: chain, Env.LIVE: chain}):
        await market.call("link_erc8004", by=ada, agent_id=token)
        assert (await shown(market, ada))["owner_verified"] is False, "no wallet is bound on test"
        await market.call("set_wallet_address", by=ada, on="live", **bound)
        me = await market.call("link_erc8004", by=ada, on="live", agent_id=other)
        assert (me["erc8004"]["chain_id"], me["erc8004"]["owner_verified"]) == (8453, True)
        for operation, given in (("link_erc8004", {"agent_id": token}), ("unlink_erc8004", {})):
            error = await market.refusal(operation, by=ada, **given)
            assert (error["code"], error["details"]) == ("forbidden", {"scope": "live_key"})
        assert await shown(market, ada) == me["erc8004"]
        await market.call("set_wallet_address", by=ada, **bound)
        assert await shown(market, ada) == me["erc8004"], "the wallet of the other environment is another's"
        assert (await market.call("unlink_erc8004", by=ada, on="live"))["erc8004"] is None


async def test_without_a_node_the_chain_is_unavailable(trade: Trade, ada: Agent) -> None:
    error = await trade.market.refusal("link_erc8004", by=ada, on="live", agent_id=1)
    assert (error["code"], error["details"]) == ("chain_unavailable", {"retry_after_seconds": 5})


async def test_a_token_nobody_registered_is_not_found_and_the_uri_to_register_is_told(trade: Trade, ada: Agent) -> None:
    error = await trade.market.refusal("link_erc8004", by=ada, agent_id=2**53 - 1)
    assert (error["code"], error["details"]) == ("not_found", {"expected_uri": own_file(ada)})
