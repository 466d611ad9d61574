"""A test key cannot change what an agent is known by on live."""

from importlib import import_module
from typing import Any

import orjson
import pytest
from sqlalchemy import text

from protocol.reserved_arguments import KEY_ADVICE
from storage.tables import AgentRow, DomainRow, JobRow, KeyRow, ListingRow, WalletRow
from storage.transaction import Tx
from storage.vocabulary import KeyStatus
from tests.requirements import covers
from tests.requirements.probes import forget_wallet, write_row
from tests.support.bounties import NEED
from tests.support.market import Agent, TestMarket
from tests.support.signed_requests import approach
from tests.support.trade import PRICE, Trade
from tools.catalogue import CATALOGUE
from tools.engine.context import CallRequest, Surface

CHANGES: dict[str, dict[str, Any]] = {
    "update_me": {"name": "Eve"},
    "add_domain": {"domain": "agent.eve.com"},
    "verify_domain": {"domain": "agent.ada.com"},
    "remove_domain": {"domain": "agent.ada.com"},
    "set_evaluator": {"enabled": True},
    "link_erc8004": {"agent_id": "22"},
    "unlink_erc8004": {},
}


async def go_live(market: TestMarket, agent: Agent) -> None:
    """Use the live key once, before a worker has stored that call's time."""
    await market.call("get_me", by=agent, on="live")


async def migrate_older(market: TestMarket) -> None:
    """Set live_since as migration 0041 does for agents that were on live before it."""
    fill = text(import_module("storage.migrations.versions.0041_live_since").FILL)
    with market.store.database.engine.begin() as connection:
        connection.execute(fill)


async def claim(market: TestMarket, agent: Agent) -> None:
    row = DomainRow(agent_id=agent.id, domain="agent.ada.com", created_at=market.clock.now())
    await market.store.write(lambda tx: tx.add(row))


async def forbidden(market: TestMarket, agent: Agent, operation: str, key: str | None = None, **given: Any) -> None:
    answer = await market.answer(operation, given, key=key or agent.keys["test"])
    assert answer.error is not None, (operation, answer.body)
    assert (answer.status, answer.error["code"]) == (403, "forbidden"), operation
    assert answer.error["details"] == {"scope": "live_key"}, operation


async def signed(market: TestMarket, agent: Agent, operation: str, **given: Any) -> int:
    came = approach(agent, CATALOGUE[operation], given, market.clock.now().timestamp())
    return (await market.market.call(CATALOGUE[operation], given, came)).status


@covers("second.test_key.lists", "second.test_key.makes", "second.test_key.revokes", "second.test_key.signed")
async def test_a_test_key_manages_test_keys_only(market: TestMarket) -> None:
    agent = await market.register()
    shown = (await market.call("list_api_keys", by=agent, on="live"))["data"]
    live = next(one["id"] for one in shown if one["env"] == "live")
    assert {one["env"] for one in (await market.call("list_api_keys", by=agent))["data"]} == {"test"}
    await forbidden(market, agent, "create_api_key", env="live")
    await forbidden(market, agent, "revoke_api_key", key_id=live)
    assert (await market.answer("get_me", key=agent.keys["live"])).status == 200
    made = await market.call("create_api_key", by=agent, env="test")
    await forbidden(market, agent, "create_api_key", key=made["key"], env="live")
    for env in ("live", "test"):
        of_live = await market.call("create_api_key", by=agent, on="live", env=env)
        assert (await market.call("revoke_api_key", by=agent, on="live", key_id=of_live["id"]))["status"] == "revoked"
        assert await signed(market, agent, "create_api_key", env=env) == 201
    assert await signed(market, agent, "revoke_api_key", key_id=live) == 200


async def test_a_test_key_pages_through_test_keys_alone(market: TestMarket) -> None:
    agent = await market.register()
    for number in range(3):
        market.pass_seconds(1)
        await market.call("create_api_key", by=agent, on="live", env="live", name=f"live {number}")
    page = await market.call("list_api_keys", by=agent, limit=1)
    assert ([one["env"] for one in page["data"]], page["has_more"]) == (["test"], False)


@covers("second.test_key.changes", "second.test_key.signed")
@pytest.mark.parametrize("operation", CHANGES)
async def test_of_an_agent_on_live_a_test_key_changes_nothing_it_is_known_by(
    market: TestMarket, operation: str
) -> None:
    agent = await market.register()
    await claim(market, agent)
    await go_live(market, agent)
    before = [await market.call(name, by=agent) for name in ("get_me", "list_domains", "get_evaluator")]
    await forbidden(market, agent, operation, **CHANGES[operation])
    assert [await market.call(name, by=agent) for name in ("get_me", "list_domains", "get_evaluator")] == before


@covers("second.test_key.changes", "second.test_key.signed")
async def test_what_a_test_key_cannot_a_live_key_and_a_signature_can(market: TestMarket) -> None:
    agent = await market.register()
    await go_live(market, agent)
    for number, given in enumerate(
        ({"name": "Ida"}, {"handle": "ida-of-live"}, {"endpoints": {"webhook_url": "https://a.example/hook"}})
    ):
        await forbidden(market, agent, "update_me", **given)
        if number == 0:
            assert await signed(market, agent, "update_me", **given) == 200
        else:
            await market.call("update_me", by=agent, on="live", **given)
    await market.call("update_me", by=agent, description="Still mine to say.", tags=["a"])
    await market.call("update_me", by=agent, name="Ida")  # this changes nothing
    await market.call("add_domain", by=agent, on="live", domain="agent.ada.com")
    assert (await market.call("set_evaluator", by=agent, on="live", enabled=True))["enabled"] is True
    await forbidden(market, agent, "delete_me", confirm="ida-of-live")
    assert await signed(market, agent, "delete_me", confirm="ida-of-live") == 200


@covers("second.test_key.live")
@pytest.mark.parametrize("thing", ["wallet", "listing", "order", "sale", "used key", "revoked key"])
async def test_an_agent_is_on_live_with_any_of_these(trade: Trade, thing: str) -> None:
    market = trade.market
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    agent = buyer if thing == "order" else seller
    assert (await market.call("update_me", by=agent, name="Free to change"))["name"] == "Free to change"

    def move(tx: Tx) -> None:
        now = market.clock.now()
        row: Any
        if thing == "wallet":
            tx.add(WalletRow(agent_id=agent.id, env="live", address="0x" + "1" * 40, bound_at=now))
        elif thing == "listing":
            row = tx.get(ListingRow, job["listing_id"], lock=True)
            tx.change(row, env="live")
        else:
            row = tx.get(JobRow, job["id"], lock=True)
            tx.change(row, env="live")

    if thing.endswith("key"):
        shown = (await market.call("list_api_keys", by=agent, on="live"))["data"]
        live = next(one["id"] for one in shown if one["env"] == "live")
        if thing == "revoked key":
            await write_row(market, KeyRow, live, status=KeyStatus.REVOKED)
    else:
        await market.store.write(move)
        await migrate_older(market)
    await forbidden(market, agent, "update_me", name="Eve")
    await forbidden(market, agent, "delete_me", confirm=agent.handle)


async def renamed(market: TestMarket, agent: Agent, name: str = "Eve") -> int:
    return (await market.answer("update_me", {"name": name}, key=agent.keys["test"])).status


async def test_a_signed_request_on_live_counts_and_one_on_test_does_not(market: TestMarket) -> None:
    agent = await market.register()
    op = CATALOGUE["get_me"]
    for env, status in (("test", 200), ("live", 403)):
        came = approach(agent, op, {}, market.clock.now().timestamp(), env=env)
        assert (await market.market.call(op, {}, came)).status == 200
        assert await renamed(market, agent, f"Eve of {env}") == status, env


@pytest.mark.parametrize("refused", [False, True])
async def test_a_first_call_on_live_holds_in_another_process_at_once(market: TestMarket, refused: bool) -> None:
    """The database has it before the call is answered, even if the call itself is refused."""
    agent = await market.register()
    other = TestMarket(market.store)
    given = {"job_id": "job_of_nobody"} if refused else {}
    await other.answer("get_job" if refused else "get_me", given, key=agent.keys["live"])
    await forbidden(market, agent, "update_me", name="Eve")


async def test_the_first_call_on_live_is_written_once(market: TestMarket) -> None:
    agent = await market.register()
    began = market.clock.now()
    for _ in range(3):
        await market.call("get_me", by=agent, on="live")
        market.pass_seconds(1)
    row = await market.store.read(lambda tx: tx.get(AgentRow, agent.id))
    assert row is not None
    assert row.live_since == began


async def done_on_live(trade: Trade, buyer: Agent, seller: Agent, thing: str) -> None:
    market = trade.market
    if thing == "message":
        await market.call("start_thread", by=seller, on="live", to=buyer.handle, body="Hello.")
        return
    posted = await market.call("create_bounty", by=buyer, on="live", **NEED)
    if thing == "proposal":
        wallet = WalletRow(agent_id=seller.id, env="live", address="0x" + "1" * 40, bound_at=market.clock.now())
        await market.store.write(lambda tx: tx.add(wallet))
        await market.call("propose_on_bounty", by=seller, on="live", bounty_id=posted["id"], price=PRICE)
        await forget_wallet(market, seller)


@pytest.mark.parametrize("thing", ["bounty", "proposal", "message"])
async def test_what_an_agent_did_on_live_before_calls_were_noted_counts(trade: Trade, thing: str) -> None:
    market = trade.market
    buyer, seller = await trade.agent("Bo"), await trade.agent("Sela")
    doer = buyer if thing == "bounty" else seller
    await done_on_live(trade, buyer, seller, thing)
    await write_row(market, AgentRow, buyer.id, live_since=None)
    await write_row(market, AgentRow, seller.id, live_since=None)
    await migrate_older(market)
    await forbidden(market, doer, "update_me", name="Eve")
    if thing == "message":
        assert await renamed(market, buyer) == 200, "a message that was received is none of its own"


async def test_an_agent_of_test_alone_does_all_of_it_with_its_test_key(market: TestMarket) -> None:
    agent = await market.register()
    await market.call("update_me", by=agent, name="Ida", handle="ida-of-test")
    await market.call("add_domain", by=agent, domain="agent.ada.com")
    await market.call("set_evaluator", by=agent, enabled=True)
    assert (await market.call("delete_me", by=agent, confirm="ida-of-test"))["id"] == agent.id


async def test_keys_of_test_push_no_used_key_of_live_out(market: TestMarket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.credentials.logic.USELESS_KEPT", 2)
    agent = await market.register()
    used = await market.call("create_api_key", by=agent, on="live", env="live")
    await market.answer("get_me", key=used["key"])
    await market.workers.write_touches()
    await market.call("revoke_api_key", by=agent, on="live", key_id=used["id"])
    for _ in range(5):
        market.pass_seconds(1)
        made = await market.call("create_api_key", by=agent, env="test")
        await market.call("revoke_api_key", by=agent, key_id=made["id"])
    await market.call("create_api_key", by=agent, env="test")
    shown = [one["id"] for one in (await market.call("list_api_keys", by=agent, on="live"))["data"]]
    assert used["id"] in shown


async def test_an_idempotency_key_gives_a_test_key_no_live_key(market: TestMarket) -> None:
    """A transcript that leaks the test key also contains another call's Idempotency-Key."""
    agent = await market.register()
    given = {"env": "live"}
    first = await market.answer("create_api_key", given, key=agent.keys["live"], repeat="1")
    again = await market.answer("create_api_key", given, key=agent.keys["test"], repeat="1")
    assert first.status == 201
    assert again.refused
    assert orjson.loads(first.body)["key"] not in again.body.decode()


async def test_a_dry_run_is_refused_alike(market: TestMarket) -> None:
    agent = await market.register()
    await go_live(market, agent)
    came = CallRequest(Surface.REST, "203.0.113.9", "req_test", credential=agent.keys["test"], dry_run=True)
    for operation, given in (("create_api_key", {"env": "live"}), ("delete_me", {"confirm": agent.handle})):
        assert (await market.market.call(CATALOGUE[operation], given, came)).status == 403


@covers("second.test_key.advice")
def test_the_advice_to_models_says_what_a_test_key_cannot_do() -> None:
    for word in ("test key", "name", "handle", "endpoints", "domains", "evaluator seat", "ERC-8004", "delete"):
        assert word in KEY_ADVICE
