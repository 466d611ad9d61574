"""Finding 9: an attacker registers another's public key, which makes the key unusable for its owner."""

import asyncio
import secrets  # noqa: TID251 - an attacker has dice of its own
import time
from typing import Any

import pytest
from nacl.signing import SigningKey

from tests.end_to_end.attacks.world import Arena, Market


def present() -> int:
    return int(time.time())  # noqa: TID251 - an attacker has a clock of its own


def made_key() -> tuple[SigningKey, str]:
    key = SigningKey(secrets.token_bytes(32))
    return key, key.verify_key.encode().hex()


def proof(market: Market, key: SigningKey, at: int | None = None, brand: str | None = None) -> dict[str, Any]:
    at = present() if at is None else at
    text = f"{brand or market.brand}:register:{key.verify_key.encode().hex()}:{at}"
    return {"proof": key.sign(text.encode()).signature.hex(), "signed_at": at}


async def enter(market: Market, name: str, **given: Any) -> Any:
    return await market.post("/v1/agents", None, {"name": name, **given})


@pytest.mark.finding(9)
async def test_a_squatters_documents_do_not_carry_the_owners_did(arena: Arena) -> None:
    market = await arena.market(rate_limits="off")
    _, public = made_key()
    squatter = (await enter(market, "Squatter", public_key=public)).expect(201)
    agent, did = squatter["agent"]["id"], squatter["keypair"]["did"]
    attested = (await market.get(f"/v1/agents/{agent}/reputation/attestation")).expect()
    assert did not in str(attested)
    assert public not in str(attested)
    for name in ("agent-card.json", "erc8004.json", "did.json", "jwks.json"):
        assert did not in (await market.get(f"/agents/{agent}/{name}")).text, name


@pytest.mark.finding(9)
async def test_the_owner_gets_its_key_back(arena: Arena) -> None:
    market = await arena.market(rate_limits="off")
    key, public = made_key()
    squatter = (await enter(market, "Squatter", public_key=public)).expect(201)
    owner = (await enter(market, "Owner", public_key=public, **proof(market, key))).expect(201)
    assert (await market.get(f"/v1/agents/{owner['agent']['id']}")).expect()["public_key"] == public
    assert (await market.get(f"/v1/agents/{squatter['agent']['id']}")).expect()["public_key"] != public
    assert (await market.get("/v1/agents/me", squatter["api_keys"]["test"])).status == 200
    assert (await enter(market, "Squatter again", public_key=public)).status == 409


@pytest.mark.finding(9)
async def test_a_squatter_that_leaves_burns_no_key(arena: Arena) -> None:
    market = await arena.market(rate_limits="off")
    key, public = made_key()
    squatter = (await enter(market, "Squatter", public_key=public)).expect(201)
    gone = {"confirm": squatter["agent"]["handle"]}
    (await market.send("DELETE", "/v1/agents/me", squatter["api_keys"]["live"], gone)).expect()
    assert (await enter(market, "Owner", public_key=public, **proof(market, key))).status == 201


@pytest.mark.finding(9)
async def test_of_a_squatter_and_owners_that_race_one_owner_has_the_key(arena: Arena) -> None:
    market = await arena.market(rate_limits="off", postgres=True, processes=2)
    for _ in range(3):
        key, public = made_key()
        shown = proof(market, key)
        calls = [enter(market, f"Squatter {n}", public_key=public) for n in range(6)]
        calls += [enter(market, f"Owner {n}", public_key=public, **shown) for n in range(6)]
        answers = await asyncio.gather(*calls)
        assert {one.status for one in answers} <= {201, 409}
        won = [one.record["agent"] for one in answers[6:] if one.status == 201]
        assert len(won) == 1
        assert (await market.get(f"/v1/agents/{won[0]['id']}")).expect()["public_key"] == public


async def test_no_proof_but_the_keys_own_takes_it(arena: Arena) -> None:
    market = await arena.market(rate_limits="off")
    key, public = made_key()
    other, _ = made_key()
    holder = (await enter(market, "Holder", public_key=public)).expect(201)
    now = present()
    wrong = [
        {},
        {"proof": "00" * 64, "signed_at": now},
        proof(market, other),
        proof(market, key, brand="another-market"),
        proof(market, key, at=now - 400),
        proof(market, key) | {"signed_at": now + 5},
    ]
    for given in wrong:
        assert (await enter(market, "Thief", public_key=public, **given)).status in (400, 409), given
    assert (await market.get(f"/v1/agents/{holder['agent']['id']}")).expect()["public_key"] == public


async def test_a_proof_seen_by_others_takes_nothing_from_the_one_that_used_it(arena: Arena) -> None:
    market = await arena.market(rate_limits="off")
    key, public = made_key()
    seen = proof(market, key)
    owner = (await enter(market, "Owner", public_key=public, **seen)).expect(201)
    assert (await enter(market, "Thief", public_key=public, **seen)).status == 409
    gone = {"confirm": owner["agent"]["handle"]}
    (await market.send("DELETE", "/v1/agents/me", owner["api_keys"]["live"], gone)).expect()
    assert (await enter(market, "Thief", public_key=public, **seen)).status == 409
