"""Clauses of the contract about the root key: its owner, and no other, gets new API keys or sets another root key."""

import asyncio
from dataclasses import replace
from typing import Any

import orjson
import pytest
from eth_account import Account
from nacl.signing import SigningKey

from storage.tables import AgentRow
from storage.vocabulary import AgentStatus
from tests.requirements import covers
from tests.requirements.probes import stored, write_row
from tests.support.market import PEPPER, Agent, TestMarket
from tests.support.signed_requests import approach
from tests.support.trade import binding
from tests.tools.credentials.test_operations import keys_of, opens
from tools.catalogue import CATALOGUE
from tools.engine.idempotency import Response
from tools.kernel.keys import did_of, key_hash, public_key_of, rotation_message

NEW = SigningKey(b"\x21" * 32)
REPEAT = "one-idempotency-key-for-this"
SIGNED = ("recover_agent", "rotate_key")


async def sign(market: TestMarket, agent: Agent, operation: str, repeat: str | None = None, **given: Any) -> Response:
    """Make a signed call with a nonce of its own."""
    op, now = CATALOGUE[operation], market.clock.now().timestamp()
    came = approach(agent, op, given, now, nonce=market.dice.random_bytes(8).hex())
    return await market.market.call(op, dict(given), came, repeat)


def rotation(agent: Agent, new: SigningKey = NEW, old: str = "", by: SigningKey | None = None) -> dict[str, str]:
    """Return the arguments that change an agent's key."""
    told = bytes(new.verify_key).hex()
    text = f"service:rotate:{agent.id}:{old or public_key_of(agent.seed).hex()}:{told}"
    return {"new_public_key": told, "proof": (by or new).sign(text.encode()).signature.hex()}


def record(answer: Response) -> Any:
    assert not answer.refused, answer.body
    return orjson.loads(answer.body)


def error(answer: Response) -> Any:
    assert answer.refused, answer.body
    return orjson.loads(answer.body)["error"]


async def events(market: TestMarket, agent: Agent, kind: str, *, key: str) -> list[Any]:
    page = record(await market.answer("list_events", {"types": [kind]}, key=key))
    return [one["data"] for one in page["data"]]


@covers("route.agents.recover", "auth.4.recover", "event.kind.agent.keys_recovered", "agent.recovered.*")
@covers("agent.recovered.api_keys.*")
async def test_who_lost_its_keys_gets_new_ones_and_keeps_the_old_unless_it_says_so(market: TestMarket) -> None:
    ada = await market.register()
    me = await market.call("get_agent", agent_id=ada.id)
    said = record(await sign(market, ada, "recover_agent"))
    keys = said.pop("api_keys")
    assert [step["tool"] for step in said.pop("next_steps")] == ["get_me"]
    assert said == {"object": "agent.recovered", "agent": me, "revoked_previous": False}
    assert {env: key[:8] for env, key in keys.items()} == {"live": "as_live_", "test": "as_test_"}
    for env in ("live", "test"):
        assert record(await market.answer("get_me", key=keys[env]))["env"] == env
        assert record(await market.answer("get_me", key=ada.keys[env]))["env"] == env
        (told,) = await events(market, ada, "agent.keys_recovered", key=keys[env])
        assert told["revoked_previous"] is False
    assert len(await keys_of(market, ada)) == 4
    text = await stored(market.store)
    assert not any(key in text for key in keys.values())
    assert all(key_hash(PEPPER, key) in text for key in keys.values())


@covers("agent.recovered.revoked_previous")
async def test_with_revoke_existing_every_key_from_before_ends_at_once(market: TestMarket) -> None:
    ada = await market.register()
    third = (await market.call("create_api_key", by=ada, env="test", scopes=["read"]))["key"]
    epoch = await epoch_of(market, ada)
    said = record(await sign(market, ada, "recover_agent", revoke_existing=True))
    assert said["revoked_previous"] is True
    assert [step["tool"] for step in said["next_steps"]] == ["list_webhooks", "get_me"]
    assert [await opens(market, key) for key in (*ada.keys.values(), third)] == [False] * 3
    assert [await opens(market, key) for key in said["api_keys"].values()] == [True] * 2
    assert await epoch_of(market, ada) == epoch + 1
    again = record(await sign(market, ada, "recover_agent", revoke_existing=True))
    assert [await opens(market, key) for key in said["api_keys"].values()] == [False] * 2
    assert [await opens(market, key) for key in again["api_keys"].values()] == [True] * 2


async def epoch_of(market: TestMarket, agent: Agent) -> int:
    row = await market.store.read(lambda tx: tx.get(AgentRow, agent.id))
    assert row is not None
    return row.auth_epoch


async def test_a_recovery_whose_answer_was_lost_is_repeated_and_says_the_same_secrets(market: TestMarket) -> None:
    ada = await market.register()
    first = await sign(market, ada, "recover_agent", REPEAT, revoke_existing=True)
    again = await sign(market, ada, "recover_agent", REPEAT, revoke_existing=True)
    assert (again.replayed, again.body) == (True, first.body)
    assert [await opens(market, key) for key in record(first)["api_keys"].values()] == [True] * 2
    text = await stored(market.store)
    assert not any(key in text for key in record(first)["api_keys"].values()), "it is kept sealed"


async def test_a_rotation_whose_answer_was_lost_is_repeated_with_the_new_key(market: TestMarket) -> None:
    ada = await market.register()
    given = rotation(ada)
    first = await sign(market, ada, "rotate_key", REPEAT, **given)
    assert (await sign(market, ada, "rotate_key", REPEAT, **given)).status == 401
    now = Agent(ada.id, ada.handle, ada.keys, bytes(NEW))
    again = await sign(market, now, "rotate_key", REPEAT, **given)
    assert (again.replayed, again.body) == (True, first.body)
    assert "signed with the new key" in CATALOGUE["rotate_key"].description


@covers("limit.rate.value.recover")
async def test_five_recoveries_an_hour_whatever_the_process(market: TestMarket) -> None:
    other = TestMarket(market.store, enforced=True)
    market = TestMarket(market.store, enforced=True)
    market.dice.seed, other.dice.seed = "one", "other"
    ada, bo = await market.register("Ada"), await market.register("Bo")
    said = [await sign(one, ada, "recover_agent") for one in (market, other, market, other, market, other)]
    assert [answer.status for answer in said] == [200] * 5 + [429]
    assert error(said[-1])["details"]["retry_after_seconds"] == 3600
    assert (await sign(market, bo, "recover_agent")).status == 200
    forged = Agent(ada.id, ada.handle, {}, bo.seed)
    market.pass_seconds(3601)
    for _ in range(6):
        assert (await sign(market, forged, "recover_agent")).status == 401
    assert (await sign(market, ada, "recover_agent")).status == 200, "who is not let in takes nobody's share"


@pytest.mark.parametrize("operation", SIGNED)
@covers("endpoint.auth.signed", "route.agents.recover.no_key", "route.agents.rotate_key.no_key", "auth.4.rotate_key")
async def test_a1_a_key_alone_does_nothing_to_the_root_key_and_beside_a_signature_is_not_read(
    market: TestMarket, operation: str
) -> None:
    ada, bo = await market.register("Ada"), await market.register("Bo")
    op = CATALOGUE[operation]
    given = rotation(ada) if operation == "rotate_key" else {}
    before = await stored(market.store)
    for key in (ada.keys["live"], ada.keys["test"], bo.keys["test"], "nonsense", None):
        said = error(await market.answer(operation, given, key=key))
        assert (said["type"], said["code"], "details" in said) == ("authentication_error", "unauthenticated", False)
        assert "Signature-Input" in said["hint"]
    assert await stored(market.store) == before
    beside = replace(approach(ada, op, given, market.clock.now().timestamp()), credential=bo.keys["test"])
    said = record(await market.market.call(op, dict(given), beside))
    assert said.get("agent", said)["id"] == ada.id


async def test_a_useless_key_beside_a_signature_does_not_matter_where_only_a_signature_counts(
    market: TestMarket,
) -> None:
    ada = await market.register()
    op, now = CATALOGUE["recover_agent"], market.clock.now().timestamp()
    for number, key in enumerate(("nonsense", "as_test_" + "0" * 40)):
        came = replace(approach(ada, op, {}, now, nonce=f"n{number}"), credential=key)
        assert (await market.market.call(op, {}, came)).status == 200


@pytest.mark.parametrize("status", [AgentStatus.SUSPENDED, AgentStatus.DELETED])
async def test_nobody_recovers_an_agent_that_is_not_active_and_after_its_return_it_does(
    market: TestMarket, status: AgentStatus
) -> None:
    ada = await market.register()
    if status is AgentStatus.DELETED:
        await market.call("delete_me", by=ada, confirm=ada.handle)
    else:
        await write_row(market, AgentRow, ada.id, status=status)
    for operation in SIGNED:
        said = error(await sign(market, ada, operation, **(rotation(ada) if operation == "rotate_key" else {})))
        assert (said["code"], said["details"]["code"]) == ("unauthenticated", "invalid_signature")
    await write_row(market, AgentRow, ada.id, status=AgentStatus.ACTIVE)
    if status is AgentStatus.DELETED:
        assert not await opens(market, ada.keys["test"]), "its keys stay revoked"
    said = record(await sign(market, ada, "recover_agent"))
    assert [await opens(market, key) for key in said["api_keys"].values()] == [True] * 2


async def test_an_agent_that_left_by_a_signed_request_hears_its_answer_again(market: TestMarket) -> None:
    ada = await market.register()
    first = await sign(market, ada, "delete_me", REPEAT, confirm=ada.handle)
    assert record(first)["object"] == "agent.deleted"
    again = await sign(market, ada, "delete_me", REPEAT, confirm=ada.handle)
    assert (again.status, again.body, again.replayed) == (200, first.body, True)
    assert (await sign(market, ada, "delete_me", confirm=ada.handle)).status == 401
    op, given = CATALOGUE["delete_me"], {"confirm": ada.handle}
    came = approach(ada, op, given, market.clock.now().timestamp(), nonce="once")
    said = [await market.market.call(op, dict(given), came, REPEAT) for _ in range(2)]
    assert [answer.status for answer in said] == [200, 401], "and a signature is worth one answer here too"


@covers("route.agents.rotate_key", "open.rotate_key", "event.kind.agent.key_rotated", "auth.6.rotation")
async def test_another_root_key_takes_the_place_of_the_old(market: TestMarket) -> None:
    ada = await market.register()
    before, epoch = await market.call("get_agent", agent_id=ada.id), await epoch_of(market, ada)
    given, new = rotation(ada), bytes(NEW.verify_key)
    assert rotation_message("service", ada.id, before["public_key"], new.hex()) == (
        f"service:rotate:{ada.id}:{before['public_key']}:{new.hex()}"
    )
    after = record(await sign(market, ada, "rotate_key", **given))
    assert after == before | {"public_key": new.hex(), "did": did_of(new)}
    assert await market.call("get_agent", agent_id=ada.id) == after
    assert await epoch_of(market, ada) == epoch + 1
    for env in ("live", "test"):
        (told,) = await events(market, ada, "agent.key_rotated", key=ada.keys[env])
        assert (told["old_did"], told["new_did"]) == (before["did"], after["did"])
    for operation in ("get_me", "recover_agent", "put_memory"):
        said = error(await sign(market, ada, operation, **({"key": "a", "value": 1} if "put" in operation else {})))
        assert said["details"]["code"] == "invalid_signature"
    renewed = Agent(ada.id, ada.handle, ada.keys, bytes(NEW))
    assert record(await sign(market, renewed, "get_me"))["did"] == after["did"]
    assert await opens(market, ada.keys["test"]), "API keys are not the root key's"


async def test_a_key_may_be_given_as_a_did(market: TestMarket) -> None:
    ada = await market.register()
    given = rotation(ada) | {"new_public_key": did_of(bytes(NEW.verify_key))}
    assert record(await sign(market, ada, "rotate_key", **given))["did"] == given["new_public_key"]


async def test_the_same_key_changes_nothing(market: TestMarket) -> None:
    ada = await market.register()
    before, epoch = await market.call("get_agent", agent_id=ada.id), await epoch_of(market, ada)
    same = {"new_public_key": before["public_key"], "proof": "00" * 64}
    assert record(await sign(market, ada, "rotate_key", **same)) == before
    assert await epoch_of(market, ada) == epoch
    assert await events(market, ada, "agent.key_rotated", key=ada.keys["test"]) == []


async def test_a_proof_by_another_key_or_of_another_change_is_refused_with_the_text_to_sign(market: TestMarket) -> None:
    ada, bo = await market.register("Ada"), await market.register("Bo")
    good = rotation(ada)
    text = f"service:rotate:{ada.id}:{public_key_of(ada.seed).hex()}:{good['new_public_key']}"
    wrong = (
        rotation(ada, by=SigningKey(ada.seed)),
        rotation(bo),
        rotation(ada, old="00" * 32),
        rotation(ada, SigningKey(b"\x22" * 32)) | {"new_public_key": good["new_public_key"]},
        good | {"proof": "0" * 128},
    )
    for given in wrong:
        said = error(await sign(market, ada, "rotate_key", **given))
        assert (said["code"], said["param"], said["details"]["text"]) == ("invalid_request", "proof", text)
    assert (await market.call("get_agent", agent_id=ada.id))["public_key"] == public_key_of(ada.seed).hex()


@pytest.mark.parametrize("key", ["00" * 32, "01" + "00" * 31, "ff" * 32, "did:key:z6Mk", "11" * 31, "did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc"])  # fmt: skip
async def test_a_key_that_is_weak_or_none_is_refused(market: TestMarket, key: str) -> None:
    ada = await market.register()
    said = error(await sign(market, ada, "rotate_key", new_public_key=key, proof="00" * 64))
    assert (said["code"], said["param"]) == ("invalid_request", "new_public_key")


async def test_a_key_any_agent_has_or_had_is_nobody_elses(market: TestMarket) -> None:
    """A did identifies one agent permanently, also if it has left or changed its key."""
    ada, bo, gone = [await market.register(name) for name in ("Ada", "Bo", "Gone")]
    await market.call("delete_me", by=gone, confirm=gone.handle)
    record(await sign(market, bo, "rotate_key", **rotation(bo, SigningKey(b"\x31" * 32))))
    for taken in (bo.seed, gone.seed, b"\x31" * 32):
        said = error(await sign(market, ada, "rotate_key", **rotation(ada, SigningKey(taken))))
        assert (said["type"], said["code"], said["param"]) == ("conflict", "public_key_in_use", "new_public_key")
        said = error(await market.answer("register_agent", {"name": "Eve", "public_key": public_key_of(taken).hex()}))
        assert said["code"] == "public_key_in_use"
    back = Agent(bo.id, bo.handle, bo.keys, b"\x31" * 32)
    said = error(await sign(market, back, "rotate_key", **rotation(back, SigningKey(bo.seed))))
    assert said["code"] == "public_key_in_use", "what was given up, perhaps because it leaked, does not come back"


async def test_two_agents_that_want_one_key_at_once_are_not_both_given_it(market: TestMarket) -> None:
    ada, bo = await market.register("Ada"), await market.register("Bo")
    said = await asyncio.gather(*(sign(market, one, "rotate_key", **rotation(one)) for one in (ada, bo)))
    assert sorted(answer.status for answer in said) == [200, 409]


async def test_of_two_changes_at_once_one_is_refused_for_its_key_is_no_longer_the_agents(market: TestMarket) -> None:
    ada = await market.register()
    wanted = [SigningKey(bytes([seed]) * 32) for seed in (0x41, 0x42)]
    said = await asyncio.gather(*(sign(market, ada, "rotate_key", **rotation(ada, one)) for one in wanted))
    assert sorted(answer.status for answer in said) == [200, 401]


async def test_a_changed_key_proves_the_next_change_of_a_wallet(market: TestMarket) -> None:
    ada = await market.register()
    ada.wallet = Account.from_key("0x" + "51" * 32)
    await market.call("set_wallet_address", by=ada, address=ada.wallet.address, signature=binding(ada))
    record(await sign(market, ada, "rotate_key", **rotation(ada)))
    ada.wallet = Account.from_key("0x" + "52" * 32)
    text = f"service:wallet:{ada.id}:{ada.wallet.address.lower()}"
    claim = {"address": ada.wallet.address, "signature": binding(ada)}
    old, new = [SigningKey(seed).sign(text.encode()).signature.hex() for seed in (ada.seed, bytes(NEW))]
    assert (await market.refusal("set_wallet_address", by=ada, **claim, proof=old))["param"] == "proof"
    assert (await market.call("set_wallet_address", by=ada, **claim, proof=new))["wallet_address"] == ada.wallet.address


async def test_nobody_is_called_by_the_word_of_a_path(market: TestMarket) -> None:
    assert (await market.refusal("register_agent", name="Eve", handle="recover"))["code"] == "handle_taken"
