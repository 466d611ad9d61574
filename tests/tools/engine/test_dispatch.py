"""`Market.call`: authorization, rate limits, validation, and the same answer to a repeated call."""

import asyncio
from datetime import timedelta
from typing import Any

import orjson
import pytest
from sqlalchemy import bindparam, select

from storage.query import Query
from storage.store import Store
from storage.tables import AgentRow, KeyRow, StoredResponseRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, KeyStatus
from tests.requirements import covers
from tests.support.market import TestMarket
from tools.listings.pricing import UnitCount

LONG_KEY = "Tm9ib2R5IGVsc2Uga25vd3Mgd"
all_answers = Query(select(StoredResponseRow))
key_of = Query(select(KeyRow).where(KeyRow.agent_id == bindparam("agent_id"), KeyRow.env == bindparam("env")))


async def test_a_revoked_key_stops_at_once_although_it_was_cached(market: TestMarket) -> None:
    agent = await market.register()
    await market.call("get_me", by=agent)

    def revoke(tx: Tx) -> None:
        row = tx.one(key_of, agent_id=agent.id, env="test")
        assert row is not None
        tx.change(row, status=KeyStatus.REVOKED)
        tx.invalidate(f"key:{row.hash}")

    await market.store.write(revoke)
    assert (await market.refusal("get_me", by=agent))["code"] == "unauthenticated"
    assert (await market.call("get_me", by=agent, on="live"))["env"] == "live"


async def test_an_expired_key_and_a_suspended_agent_are_refused(market: TestMarket) -> None:
    agent = await market.register()

    def expire(tx: Tx) -> None:
        row = tx.one(key_of, agent_id=agent.id, env="test")
        owner = tx.get(AgentRow, agent.id)
        assert row is not None
        assert owner is not None
        tx.change(row, expires_at=market.clock.now() + timedelta(seconds=10))
        tx.change(owner, status=AgentStatus.ACTIVE)

    await market.store.write(expire)
    await market.call("get_me", by=agent)
    market.pass_seconds(10)
    assert (await market.refusal("get_me", by=agent))["code"] == "unauthenticated"

    def suspend(tx: Tx) -> None:
        owner = tx.get(AgentRow, agent.id)
        assert owner is not None
        tx.change(owner, status=AgentStatus.SUSPENDED)

    await market.store.write(suspend)
    assert (await market.refusal("get_me", by=agent, on="live"))["code"] == "unauthenticated"


@covers("error.code.invalid_request")
async def test_all_that_is_wrong_is_said_at_once(market: TestMarket) -> None:
    error = await market.refusal("register_agent", nme="Ada", handle="A b", tags=[1], metadata=[])
    assert error["code"] == "invalid_request"
    said = {one["param"]: one for one in error["details"]["violations"]}
    assert set(said) == {"name", "handle", "tags.0", "metadata", "nme"}
    assert said["nme"] == {"param": "nme", "message": "unknown field", "hint": "Did you mean name?"}


async def test_an_unknown_field_names_the_fields_of_its_own_object(market: TestMarket) -> None:
    ada = await market.register()
    error = await market.refusal("create_listing", by=ada, unit_basis={"rule": [], "rules": [{"x": 1}]})
    told = {one["param"]: one.get("hint", "") for one in error["details"]["violations"]}
    assert told["unit_basis.rule"] == "Did you mean rules?"
    assert told["unit_basis.rules.0.x"] == f"Known fields: {', '.join(UnitCount.model_fields)}."


@pytest.mark.parametrize(
    "given", [{"name": True}, {"name": 5}, {"name": ["a"]}, {"name": "x", "metadata": {"a": 2**53}}, {"name": "a\0b"}]
)
async def test_types_are_strict(market: TestMarket, given: dict[str, Any]) -> None:
    error = await market.refusal("register_agent", **given)
    assert error["type"] == "validation_error"


async def test_null_leaves_a_known_field_out_and_excuses_no_unknown_one(market: TestMarket) -> None:
    assert (await market.call("register_agent", name="Ada", handle=None))["agent"]["handle"] == "ada"
    error = await market.refusal("register_agent", name="Ada", nme=None)
    assert (error["code"], error["param"]) == ("invalid_request", "nme")


async def test_mass_assignment_changes_nothing(market: TestMarket) -> None:
    for field in ("id", "status", "first_party", "trust_tier", "wallet_address", "env", "is_admin"):
        error = await market.refusal("register_agent", name="Ada", **{field: 1})
        assert error["param"] == field


@covers("endpoint.idempotency_key")
async def test_a_repeat_gets_the_first_answer_and_does_nothing_twice(market: TestMarket) -> None:
    first = await market.answer("register_agent", {"name": "Ada"}, repeat=LONG_KEY)
    again = await market.answer("register_agent", {"name": "Ada"}, repeat=f'"{LONG_KEY}"')
    assert (again.replayed, again.body, again.status) == (True, first.body, 201)
    assert (await market.refusal("register_agent", name="Ada", handle="ada"))["code"] == "handle_taken"


async def test_twins_get_one_answer(market: TestMarket) -> None:
    calls = [market.answer("register_agent", {"name": "Ada"}, repeat=LONG_KEY) for _ in range(20)]
    answers = await asyncio.gather(*calls)
    assert len({answer.body for answer in answers}) == 1
    assert sum(not answer.replayed for answer in answers) == 1


@covers("error.code.idempotency_key_reused")
async def test_another_call_with_the_same_key_is_refused(market: TestMarket) -> None:
    await market.answer("register_agent", {"name": "Ada"}, repeat=LONG_KEY)
    answer = await market.answer("register_agent", {"name": "Bo"}, repeat=LONG_KEY)
    assert answer.error is not None
    assert (answer.error["code"], answer.error["type"]) == ("idempotency_key_reused", "conflict")


async def test_refusals_are_not_kept_and_answers_are_kept_a_day(market: TestMarket) -> None:
    await market.answer("register_agent", {"name": ""}, repeat=LONG_KEY)
    first = await market.answer("register_agent", {"name": "Ada"}, repeat=LONG_KEY)
    assert first.status == 201
    market.pass_seconds(24 * 3600 + 1)
    later = await market.answer("register_agent", {"name": "Ada"}, repeat=LONG_KEY)
    assert (later.replayed, later.status) == (False, 201)


@pytest.mark.parametrize("key", ["", "short", "x" * 256, "with\nline-break-and-more-text", "ünïcödé-enough-characters"])
@covers("error.code.invalid_idempotency_key")
async def test_bad_idempotency_keys_are_refused(market: TestMarket, key: str) -> None:
    answer = await market.answer("register_agent", {"name": "Ada"}, repeat=key)
    assert answer.error is not None
    assert answer.error["code"] == "invalid_idempotency_key"


async def test_kept_answers_hold_no_secret_in_the_clear(market: TestMarket, store: Store) -> None:
    answer = await market.answer("register_agent", {"name": "Ada"}, repeat=LONG_KEY)
    made = orjson.loads(answer.body)
    kept = await store.read(lambda tx: tx.all(all_answers))
    assert len(kept) == 1
    for secret in (made["api_keys"]["live"], made["keypair"]["secret_key"], LONG_KEY):
        assert secret.encode() not in repr(kept[0]).encode()


async def test_a_window_that_is_used_up_answers_429_with_what_is_left(store: Store) -> None:
    market = TestMarket(store, enforced=True)
    answers = [await market.answer("get_payments_info") for _ in range(601)]
    assert [answer.status for answer in answers[:600]] == [200] * 600
    quota = answers[0].quota
    assert quota is not None
    assert (quota.limit, quota.remaining, quota.window_seconds) == (600, 599, 60)
    last = answers[600]
    assert last.error is not None
    assert (last.status, last.error["code"], last.error["retryable"]) == (429, "rate_limited", True)
    assert (await market.answer("get_payments_info", ip="203.0.113.10")).status == 200
    market.pass_seconds(60)
    assert (await market.answer("get_payments_info")).status == 200


@covers("route.agents.register.limited", "limit.rate.registration")
async def test_a6_registration_is_counted_per_address_in_the_database(store: Store) -> None:
    one, other = (
        TestMarket(store, enforced=True, registrations_per_hour=2),
        TestMarket(store, enforced=True, registrations_per_hour=2),
    )
    other.dice.seed = "other"
    statuses = [(await market.answer("register_agent", {"name": "Ada"})).status for market in (one, other, one, other)]
    assert statuses == [201, 201, 429, 429]
    other_house = [await one.answer("register_agent", {"name": "Bo"}, ip=f"2001:db8:1:1::{n}") for n in range(3)]
    assert [answer.status for answer in other_house] == [201, 201, 429], "a /64 is one address"


async def test_two_different_keys_on_one_call_are_refused(market: TestMarket) -> None:
    ada, bo = await market.register("Ada"), await market.register("Bo")
    answer = await market.answer("get_me", {}, key=ada.keys["test"], argument_key=bo.keys["test"])
    assert answer.error is not None
    assert answer.error["param"] == "api_key"
    same = await market.answer("get_me", {}, key=ada.keys["test"], argument_key=ada.keys["test"])
    assert same.status == 200


async def test_the_clock_may_jump_back_without_mass_expiry_or_negative_ages(market: TestMarket) -> None:
    agent = await market.register()
    market.pass_seconds(-3600)
    assert (await market.call("get_me", by=agent))["id"] == agent.id
    market.pass_seconds(366 * 86_400)
    assert (await market.call("get_me", by=agent))["id"] == agent.id
