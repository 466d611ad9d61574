"""Clauses of the contract about API keys: the record, arguments, expiry, revocation, permission to create keys."""

import asyncio
from datetime import timedelta
from typing import Any

import orjson
import pytest

from storage.postgres import PostgresStore
from storage.tables import AgentRow, KeyRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, KeyStatus
from tests.conftest import Opening
from tests.requirements import covers, named
from tests.requirements.probes import stored, write_row
from tests.support.market import Agent, TestMarket, bare
from tools.credentials.logic import USELESS_KEPT
from tools.kernel.ids import is_id
from tools.kernel.records import stamp

REPEAT = "Tm9ib2R5IGVsc2Uga25vd3Mgd"


async def keys_of(market: TestMarket, agent: Agent, on: str = "live") -> list[Any]:
    data: list[Any] = (await market.call("list_api_keys", by=agent, on=on))["data"]
    return data


async def opens(market: TestMarket, key: str) -> bool:
    return (await market.answer("get_me", key=key)).status == 200


@covers("api_key.field.*", "api_key.create.*", "open.keys")
async def test_a_key_shows_what_was_asked_for_and_its_secret_once(market: TestMarket) -> None:
    agent = await market.register()
    market.pass_seconds(1)
    now = market.clock.now()
    asked = {"env": "live", "name": "nightly reader", "scopes": ["read", "message"], "expires_in_days": 30}
    made = await market.call("create_api_key", by=agent, on="live", **asked)
    secret = made.pop("key")
    assert bare(made) == {
        "object": "api_key",
        "id": made["id"],
        "env": "live",
        "prefix": secret[:12],
        "name": "nightly reader",
        "scopes": ["read", "message"],
        "status": "active",
        "last_used_at": None,
        "expires_at": stamp(now + timedelta(days=30)),
        "created_at": stamp(now),
    }
    assert set(bare(made)) == named("api_key.field")
    assert set(asked) == named("api_key.create")
    assert is_id("key_", made["id"])
    assert len(secret) == len("as_live_") + 40
    assert (await keys_of(market, agent))[0] == bare(made)
    assert secret not in await stored(market.store)
    assert orjson.loads((await market.answer("get_me", key=secret)).body)["env"] == "live"
    await market.workers.write_touches()
    assert (await keys_of(market, agent))[0]["last_used_at"] == stamp(now)


@covers("api_key.field.scopes", "api_key.create.env")
async def test_left_out_a_key_has_no_name_no_end_and_every_scope(market: TestMarket) -> None:
    agent = await market.register()
    made = await market.call("create_api_key", by=agent, env="test")
    assert (made["name"], made["expires_at"], made["scopes"]) == (None, None, ["*"])
    error = await market.refusal("create_api_key", by=agent)
    assert (error["param"], error["message"]) == ("env", "env: required")


@pytest.mark.parametrize(
    "given",
    [
        {"env": "moon"},
        {"name": "x" * 81},
        {"name": ""},
        {"name": "two\nlines"},
        {"expires_in_days": 0},
        {"expires_in_days": 3651},
        {"expires_in_days": 1.5},
        {"scopes": []},
        {"scopes": ["write"]},
        {"scopes": ["read", "admin"]},
        {"scopes": "read"},
    ],
    ids=str,
)
@covers("limit.api_key.name", "limit.api_key.expires_in_days")
async def test_what_passes_the_bounds_makes_no_key(market: TestMarket, given: dict[str, Any]) -> None:
    agent = await market.register()
    error = await market.refusal("create_api_key", by=agent, **({"env": "test"} | given))
    assert (error["code"], error["param"].split(".")[0]) == ("invalid_request", next(iter(given)))
    assert len(await keys_of(market, agent)) == 2


@covers("limit.api_key.name", "limit.api_key.expires_in_days")
async def test_the_bounds_themselves_are_taken(market: TestMarket) -> None:
    agent = await market.register()
    for given in ({"name": "x" * 80}, {"expires_in_days": 1}, {"expires_in_days": 3650}):
        await market.call("create_api_key", by=agent, env="test", **given)
    made = await market.call("create_api_key", by=agent, env="test", scopes=["read", "buy", "read"])
    assert made["scopes"] == ["read", "buy"]


async def test_keys_of_both_environments_are_listed_newest_first_page_by_page(market: TestMarket) -> None:
    ada, bo = await market.register("Ada"), await market.register("Bo")
    for number in range(3):
        market.pass_seconds(1)
        await market.call("create_api_key", by=ada, env="test", name=f"key {number}")
    first = await market.call("list_api_keys", by=ada, on="live", limit=2)
    assert ([one["name"] for one in first["data"]], first["has_more"]) == (["key 2", "key 1"], True)
    rest = await market.call("list_api_keys", by=ada, on="live", limit=3, cursor=first["next_cursor"])
    assert ([one["name"] for one in rest["data"]], rest["next_cursor"]) == (["key 0", None, None], None)
    assert {one["env"] for one in rest["data"][1:]} == {"live", "test"}
    assert len(await keys_of(market, bo)) == 2
    stolen = await market.refusal("list_api_keys", by=bo, on="live", limit=2, cursor=first["next_cursor"])
    assert stolen["code"] == "invalid_cursor"


async def test_a_revoked_key_stops_at_once_and_revoking_it_again_changes_nothing(market: TestMarket) -> None:
    agent = await market.register()
    made = await market.call("create_api_key", by=agent, env="test")
    assert await opens(market, made["key"])
    revoked = await market.call("revoke_api_key", by=agent, key_id=made["id"])
    del made["key"]
    assert revoked == bare(made) | {"status": "revoked", "last_used_at": revoked["last_used_at"]}
    again = await market.call("revoke_api_key", by=agent, key_id=made["id"])
    assert again == revoked
    assert len(await keys_of(market, agent)) == 3


@covers("error.code.last_key")
async def test_the_only_usable_key_stays(market: TestMarket) -> None:
    """Expired or revoked keys do not count as usable."""
    agent = await market.register()
    short = await market.call("create_api_key", by=agent, env="test", expires_in_days=1)
    live = next(one for one in await keys_of(market, agent) if one["env"] == "live")
    test = next(one for one in await keys_of(market, agent) if one["env"] == "test" and one["id"] != short["id"])
    await market.call("revoke_api_key", by=agent, on="live", key_id=live["id"])
    market.pass_seconds(86_400)
    assert not await opens(market, short["key"])
    error = await market.refusal("revoke_api_key", by=agent, key_id=test["id"])
    assert (error["code"], error["type"], "create_api_key" in error["hint"]) == ("last_key", "conflict", True)
    ended = await market.call("revoke_api_key", by=agent, key_id=short["id"])
    assert ended["status"] == "revoked", "what has expired may go"
    other = await market.call("create_api_key", by=agent, env="test")
    await market.call("revoke_api_key", by=agent, key_id=test["id"])
    assert (await opens(market, other["key"]), await opens(market, agent.keys["test"])) == (True, False)


async def test_of_the_last_two_keys_revoked_twenty_times_at_once_one_stays(market: TestMarket) -> None:
    agent = await market.register()
    ids = [one["id"] for one in await keys_of(market, agent)]
    calls = [
        market.answer("revoke_api_key", {"key_id": ids[number % 2]}, key=agent.keys[("live", "test")[number // 2 % 2]])
        for number in range(20)
    ]
    answers = await asyncio.gather(*calls)
    assert {answer.status for answer in answers} <= {200, 401, 403, 409}  # 403: a test key revokes no live key
    assert sum(await asyncio.gather(*(opens(market, key) for key in agent.keys.values()))) == 1


async def test_another_agents_key_is_not_found(market: TestMarket) -> None:
    ada, bo = await market.register("Ada"), await market.register("Bo")
    theirs = (await keys_of(market, bo))[0]["id"]
    for key_id in (theirs, "key_1", "x"):
        assert (await market.refusal("revoke_api_key", by=ada, key_id=key_id))["code"] == "not_found"
    assert all([await opens(market, key) for key in bo.keys.values()])


async def test_a_key_makes_none_that_may_do_more_than_itself(market: TestMarket) -> None:
    agent = await market.register()
    few = (await market.call("create_api_key", by=agent, env="test", scopes=["admin:self", "read"]))["key"]
    for scopes, missing in ((["*"], "*"), (["read", "buy"], "buy")):
        answer = await market.answer("create_api_key", {"env": "live", "scopes": scopes}, key=few)
        assert answer.error is not None
        assert (answer.status, answer.error["code"], answer.error["details"]["scope"]) == (403, "forbidden", missing)
    made = orjson.loads((await market.answer("create_api_key", {"env": "test"}, key=few)).body)
    assert made["scopes"] == ["admin:self", "read"], "left out: those of the key itself"
    fewer = orjson.loads((await market.answer("create_api_key", {"env": "test", "scopes": ["read"]}, key=few)).body)
    assert (await market.answer("create_api_key", {"env": "test"}, key=fewer["key"])).status == 403


@covers("error.more.key_limit")
async def test_an_agent_has_so_many_usable_keys_and_those_nobody_can_use_do_not_pile_up(market: TestMarket) -> None:
    agent = await market.register()
    for _ in range(99):
        await market.call("create_api_key", by=agent, env="test", expires_in_days=1)
    error = await market.refusal("create_api_key", by=agent, env="test")
    await market.call("create_api_key", by=agent, on="live", env="live")
    assert (error["code"], error["type"], error["details"]["limit"]) == ("key_limit", "conflict", 100)
    market.pass_seconds(86_400)
    first = await market.call("create_api_key", by=agent, env="test")
    await market.call("revoke_api_key", by=agent, key_id=first["id"])

    def revoked_before(tx: Tx) -> None:
        """Insert as many revoked keys as accumulate over years."""
        row = tx.get(KeyRow, first["id"])
        assert row is not None
        for number in range(USELESS_KEPT):
            values = row.__dict__ | {"id": f"key_{number:026}", "hash": f"{number}", "status": KeyStatus.REVOKED}
            tx.add(KeyRow(**values))

    await market.store.write(revoked_before)
    market.pass_seconds(1)
    await market.call("create_api_key", by=agent, env="test")
    found, cursor = list[Any](), None
    while page := await market.call("list_api_keys", by=agent, on="live", limit=100, cursor=cursor):
        found += page["data"]
        if (cursor := page["next_cursor"]) is None:
            break
    assert len(found) == USELESS_KEPT + 4
    assert first["id"] in {one["id"] for one in found}, "the newest are kept"


async def test_a_repeat_shows_the_same_secret_and_keeps_it_sealed(market: TestMarket) -> None:
    agent = await market.register()
    first = await market.answer("create_api_key", {"env": "test"}, key=agent.keys["test"], repeat=REPEAT)
    again = await market.answer("create_api_key", {"env": "test"}, key=agent.keys["test"], repeat=REPEAT)
    assert (first.status, again.body, again.replayed) == (201, first.body, True)
    assert orjson.loads(first.body)["key"] not in await stored(market.store)
    assert len(await keys_of(market, agent)) == 3


async def test_a_repeat_gives_no_key_the_secret_of_one_that_may_more(market: TestMarket) -> None:
    agent = await market.register()
    given = {"env": "test", "scopes": ["admin:self"]}
    few = (await market.call("create_api_key", by=agent, **given))["key"]
    first = await market.answer("create_api_key", {"env": "test"}, key=agent.keys["test"], repeat="1")
    again = await market.answer("create_api_key", {"env": "test"}, key=few, repeat="1")
    assert orjson.loads(first.body)["scopes"] == ["*"]
    assert (again.status, again.error and again.error["code"]) == (409, "idempotency_key_reused")
    assert orjson.loads(first.body)["key"] not in again.body.decode()
    other = await market.answer("create_api_key", {"env": "test"}, key=agent.keys["test"], repeat="1")
    assert (other.replayed, other.body) == (True, first.body)


async def test_no_key_outlives_the_one_it_is_made_with(market: TestMarket) -> None:
    agent = await market.register()
    short = await market.call("create_api_key", by=agent, env="test", scopes=["admin:self"], expires_in_days=2)
    market.pass_seconds(3600)
    day = stamp(market.clock.now() + timedelta(days=1))
    for asked, end in (
        ({}, short["expires_at"]),
        ({"expires_in_days": 30}, short["expires_at"]),
        ({"expires_in_days": 1}, day),
    ):
        answer = await market.answer("create_api_key", {"env": "test"} | asked, key=short["key"])
        assert orjson.loads(answer.body)["expires_at"] == end
    assert (await market.call("create_api_key", by=agent, env="test"))["expires_at"] is None


async def test_the_repeat_of_a_call_that_ended_its_own_key_is_answered_and_nothing_else_is(market: TestMarket) -> None:
    agent = await market.register()
    own = next(one for one in await keys_of(market, agent) if one["env"] == "test")
    key, given = agent.keys["test"], {"key_id": own["id"]}
    first = await market.answer("revoke_api_key", given, key=key, repeat=REPEAT)
    again = await market.answer("revoke_api_key", given, key=key, repeat=REPEAT)
    assert (first.status, again.status, again.body, again.replayed) == (200, 200, first.body, True)
    others = [
        market.answer("revoke_api_key", given, key=key),
        market.answer("revoke_api_key", given, key=key, repeat=REPEAT + "x"),
        market.answer("revoke_api_key", {"key_id": "key_1"}, key=key, repeat=REPEAT),
        market.answer("get_me", key=key, repeat=REPEAT),
        market.answer("revoke_api_key", given, key="as_test_" + "a" * 40, repeat=REPEAT),
        market.answer("create_api_key", {"env": "test"}, key=key, repeat=REPEAT),
    ]
    assert [answer.status for answer in await asyncio.gather(*others)] == [401] * 6


async def two_processes(opening: Opening, url: str) -> tuple[TestMarket, TestMarket, Agent, Any]:
    """Return two processes that have both cached a key, its agent and its record.

    The clocks of both are stopped.
    """
    one, other = TestMarket(opening(url)), TestMarket(opening(url))
    other.dice.seed = "other"
    agent = await one.register()
    own = next(key for key in await keys_of(one, agent) if key["env"] == "test")
    for market in (one, other):
        assert await opens(market, agent.keys["test"])
    return one, other, agent, own


async def test_a_key_revoked_in_one_process_stops_in_another(postgres_url: str, opening: Opening) -> None:
    one, other, agent, own = await two_processes(opening, postgres_url)
    dropped = asyncio.Event()
    other.store.droppers.append(lambda names: dropped.set() if any(name.startswith("key:") for name in names) else None)
    await one.call("revoke_api_key", by=agent, on="live", key_id=own["id"])
    await asyncio.wait_for(dropped.wait(), 5)
    assert not await opens(other, agent.keys["test"])


async def test_a_revoked_key_is_believed_for_a_second_at_most_and_makes_no_key_meanwhile(
    postgres_url: str, opening: Opening
) -> None:
    """The other process gets no notification, because its listening connection is lost."""
    one, other, agent, own = await two_processes(opening, postgres_url)
    assert isinstance(other.store, PostgresStore)
    other.store.hearing.cancel()
    await asyncio.wait([other.store.hearing])
    assert await opens(other, agent.keys["test"])
    await one.call("revoke_api_key", by=agent, on="live", key_id=own["id"])
    for name, given in (
        ("create_api_key", {"env": "test"}),
        ("update_me", {"name": "Eve"}),
        ("delete_me", {"confirm": agent.handle}),
        ("revoke_api_key", {"key_id": own["id"]}),
    ):
        assert (await other.refusal(name, by=agent, **given))["code"] == "unauthenticated", name
    other.pass_seconds(1.001)
    assert not await opens(other, agent.keys["test"])
    assert len(await keys_of(one, agent)) == 2


async def test_an_agent_that_is_not_active_makes_no_key_with_one_that_was_let_in(market: TestMarket) -> None:
    agent = await market.register()
    assert await opens(market, agent.keys["test"])
    await write_row(market, AgentRow, agent.id, status=AgentStatus.SUSPENDED)  # the caches were not invalidated
    assert (await market.refusal("create_api_key", by=agent, env="test"))["code"] == "unauthenticated"
