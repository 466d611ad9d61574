"""An agent owns a public key only once it has signed with it; registering another's key first has no effect."""

import asyncio
from typing import Any

import orjson
from nacl.signing import SigningKey

from storage.tables import AgentRow
from tests.requirements import covers
from tests.support.market import Agent, TestMarket
from tests.support.signed_requests import approach
from tests.support.trade import Trade
from tools.catalogue import CATALOGUE
from tools.engine.idempotency import Response
from tools.kernel.keys import did_of

KEY = SigningKey(b"\x07" * 32)
PUBLIC = KEY.verify_key.encode().hex()
DID = did_of(bytes.fromhex(PUBLIC))


def proof(market: TestMarket, key: SigningKey = KEY, brand: str = "service", late: int = 0) -> dict[str, Any]:
    at = int(market.clock.now().timestamp()) - late
    text = f"{brand}:register:{key.verify_key.encode().hex()}:{at}"
    return {"proof": key.sign(text.encode()).signature.hex(), "signed_at": at}


async def bring(market: TestMarket, name: str, **given: Any) -> Agent:
    made = await market.call("register_agent", name=name, public_key=PUBLIC, **given)
    return Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], bytes(KEY))


async def refused(market: TestMarket, **given: Any) -> Any:
    return await market.refusal("register_agent", name="Late", **({"public_key": PUBLIC} | given))


async def signed(market: TestMarket, agent: Agent, operation: str, **given: Any) -> Response:
    came = approach(
        agent, CATALOGUE[operation], given, market.clock.now().timestamp(), nonce=str(market.dice.random_bytes(8)[0])
    )
    return await market.market.call(CATALOGUE[operation], given, came)


async def proven(market: TestMarket, agent: Agent) -> bool:
    known: bool = (await market.call("get_agent", agent_id=agent.id))["key_proven"]
    return known


@covers("second.possession.unproven", "second.possession.proven")
async def test_a_did_stands_in_documents_once_its_key_is_proven(trade: Trade) -> None:
    market = trade.market
    for given, shown in (({}, None), (proof(market), DID)):
        agent = await bring(market, "Ada", **given)
        assert await proven(market, agent) is bool(given)
        attested = (await market.call("get_attestation", agent_id=agent.id))["attestation"]["agent"]
        assert (attested["did"], attested["public_key"]) == (shown, shown and PUBLIC)
        card = await market.call("get_agent_card", agent_id=agent.id)
        (identity,) = [one["params"] for one in card["capabilities"]["extensions"] if "params" in one]
        assert identity["did"] == shown
        file = await market.call("get_registration_file", agent_id=agent.id)
        assert file["extension"]["did"] == shown
        assert [one["endpoint"] for one in file["services"] if one["name"] == "DID"] == ([shown] if shown else [])
        status = (await market.answer("get_did_document", {"agent_id": agent.id})).status
        assert status == (200 if shown else 404)
        keys = (await market.call("get_agent_keys", agent_id=agent.id))["keys"]
        assert len(keys) == (1 if shown else 0)


@covers("second.possession.receipts")
async def test_a_receipt_names_no_unproven_did(trade: Trade) -> None:
    market = trade.market
    agent = await bring(market, "Sela")
    agent.wallet = trade.evm.person(0)
    await trade.bind(agent)
    buyer = await trade.agent("Bo", 10_000_000)
    job = await trade.job_at("completed", agent, buyer)
    receipt = (await market.call("get_receipt", by=buyer, job_id=job["id"]))["receipt"]
    assert receipt["seller"]["did"] is None
    assert receipt["buyer"]["did"].startswith("did:key:z6Mk")


@covers("second.possession.made")
async def test_a_key_made_here_is_proven(market: TestMarket) -> None:
    assert await proven(market, await market.register())


@covers("second.possession.proof")
async def test_a_proof_that_does_not_hold_registers_nobody(market: TestMarket) -> None:
    other = SigningKey(b"\x08" * 32)
    good = proof(market)
    for given, param in (
        ({"proof": good["proof"]}, "signed_at"),
        ({"signed_at": good["signed_at"]}, "proof"),
        (proof(market, other), "proof"),
        (proof(market, brand="another-market"), "proof"),
        (good | {"signed_at": good["signed_at"] + 1}, "proof"),
        (proof(market, late=301), "signed_at"),
        (proof(market, late=-301), "signed_at"),
    ):
        error = await refused(market, **given)
        assert (error["code"], error["param"]) == ("invalid_request", param), given
    assert (await market.refusal("register_agent", name="Late", **good))["param"] == "public_key"
    await bring(market, "Ada", **proof(market, late=299))


@covers("second.possession.takes", "second.possession.told")
async def test_a_proof_takes_the_key_from_an_agent_that_has_none(market: TestMarket) -> None:
    squatter = await bring(market, "Squatter")
    assert (await refused(market))["code"] == "public_key_in_use"
    owner = await bring(market, "Owner", **proof(market))
    lost = await market.call("get_me", by=squatter)
    assert (lost["id"], lost["key_proven"], lost["public_key"] == PUBLIC) == (squatter.id, False, False)
    for env in ("test", "live"):
        events = (await market.call("list_events", by=squatter, on=env))["data"]
        (told,) = [one["data"] for one in events if one["type"] == "agent.key_rotated"]
        assert (told["old_did"], told["new_did"]) == (DID, did_of(bytes.fromhex(lost["public_key"])))
    assert (await market.call("get_agent", agent_id=owner.id))["did"] == DID
    assert (await signed(market, owner, "update_me", name="Owner still")).status == 200
    assert (await signed(market, squatter, "update_me", name="Not mine")).status == 401, "its id, the lost key"
    for given in ({}, proof(market)):
        assert (await refused(market, **given))["code"] == "public_key_in_use"


async def test_tokens_that_the_lost_key_logged_in_with_end(market: TestMarket) -> None:
    squatter = await bring(market, "Squatter")
    epochs = []
    for given in ({}, proof(market)):
        if given:
            await bring(market, "Owner", **given)
        row = await market.store.read(lambda tx: tx.get(AgentRow, squatter.id))
        assert row is not None
        epochs.append(row.auth_epoch)
    assert epochs[1] == epochs[0] + 1


@covers("second.possession.takes")
async def test_of_many_that_claim_a_key_at_once_one_has_it(market: TestMarket) -> None:
    await bring(market, "Squatter")
    given = {"name": "Owner", "public_key": PUBLIC, **proof(market)}
    answers = await asyncio.gather(*(market.answer("register_agent", given) for _ in range(8)))
    assert sorted(answer.status for answer in answers) == [201, *[409] * 7]
    (won,) = [orjson.loads(answer.body)["agent"] for answer in answers if not answer.refused]
    assert (won["public_key"], won["key_proven"]) == (PUBLIC, True)


@covers("second.possession.deletion")
async def test_who_leaves_frees_a_key_it_never_proved_and_keeps_one_it_did(market: TestMarket) -> None:
    for number in range(2):
        agent = await bring(market, f"Ada {number}")
        await market.call("delete_me", by=agent, confirm=agent.handle)
    agent = await bring(market, "Bo", **proof(market))
    await market.call("delete_me", by=agent, confirm=agent.handle)
    for given in ({}, proof(market)):
        assert (await refused(market, **given))["code"] == "public_key_in_use"


@covers("second.possession.recover")
async def test_a_key_is_proven_by_recovering_with_it_and_ending_every_key(market: TestMarket) -> None:
    agent = await bring(market, "Ada")
    assert (await signed(market, agent, "update_me", name="Ida")).status == 200
    assert (await signed(market, agent, "recover_agent")).status == 200
    assert not await proven(market, agent), "whoever registered it still holds keys"
    assert (await signed(market, agent, "recover_agent", revoke_existing=True)).status == 200
    assert await proven(market, agent)
    assert (await market.answer("get_me", key=agent.keys["test"])).status == 401
    assert (await refused(market, **proof(market)))["code"] == "public_key_in_use"


@covers("second.possession.made")
async def test_a_key_rotated_to_is_proven(market: TestMarket) -> None:
    agent, new = await bring(market, "Ada"), SigningKey(b"\x09" * 32)
    text = f"service:rotate:{agent.id}:{PUBLIC}:{new.verify_key.encode().hex()}"
    given = {"new_public_key": new.verify_key.encode().hex(), "proof": new.sign(text.encode()).signature.hex()}
    assert (await signed(market, agent, "rotate_key", **given)).status == 200
    assert await proven(market, agent)
    assert (await refused(market))["code"] == "public_key_in_use", "it signed with the key it had before"
