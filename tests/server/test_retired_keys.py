"""A replaced platform key: its signatures are no longer valid, and a process that still has it signs nothing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from server.adapters.signer import SeedSigner
from server.keys import switch_keys
from server.secrets import Secrets, check_secrets
from server.verify import Unreadable, verify
from tests.requirements import covers
from tests.support.market import PEPPER, TestMarket
from tests.support.trade import Trade
from tools.kernel.keys import did_of, jwk_of
from tools.kernel.records import stamp

OLD = Secrets(bytes(32), PEPPER)
NEW = Secrets(b"\1" * 32, PEPPER)


async def turned(market: TestMarket) -> None:
    """Replace the key as another process does; this process keeps the old one."""
    await check_secrets(market.store, OLD)
    await market.store.write(lambda tx: switch_keys(tx, OLD, NEW, market.clock.now()))


def begin_again(market: TestMarket) -> None:
    market.market.world = replace(market.market.world, signer=SeedSigner(NEW.signing_seed))


async def signed_receipt(trade: Trade) -> tuple[Any, Any]:
    """Get a receipt; return the arguments and the answer."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    return {"by": buyer, "job_id": job["id"]}, await trade.market.call("get_receipt", by=buyer, job_id=job["id"])


@covers("verify.one_key")
async def test_verify_names_the_retired_key_and_the_document_is_had_again(trade: Trade) -> None:
    market = trade.market
    asked, old = await signed_receipt(trade)
    await turned(market)
    begin_again(market)
    retired = {
        **jwk_of(OLD.public_key), "did": did_of(OLD.public_key), "retired_at": stamp(market.clock.now()),
    }  # fmt: skip
    found = await market.call("verify_receipt", **old)
    assert (found["valid"], found["retired"]) == (False, retired)
    assert stamp(market.clock.now()) in found["reason"]
    assert (found["kid"], found["did"]) == (jwk_of(NEW.public_key)["kid"], did_of(NEW.public_key))
    assert await market.call("get_retired_keys") == {"keys": [retired]}
    assert (await market.call("get_platform_keys"))["keys"] == [jwk_of(NEW.public_key)]
    again = await market.call("get_receipt", **asked)
    found = await market.call("verify_receipt", **again)
    assert (found["valid"], found["retired"]) == (True, None)
    forged = await market.call("verify_receipt", **old | {"receipt": old["receipt"] | {"version": 2}})
    assert (forged["valid"], forged["retired"]) == (False, None), "the retired key did not sign that"


async def test_a_process_that_still_has_the_old_key_signs_nothing_and_vouches_for_nothing(trade: Trade) -> None:
    asked, old = await signed_receipt(trade)
    agent = asked["by"].id
    await turned(trade.market)
    for operation, given in (
        ("get_receipt", asked),
        ("get_attestation", {"agent_id": agent}),
        ("verify_receipt", old),
        ("get_platform_keys", {}),
        ("get_agent_card", {"agent_id": agent}),
        ("get_service_registration", {}),
    ):
        error = await trade.market.refusal(operation, **given)
        assert (error["code"], error["message"]) == ("overloaded", "the platform's key was just replaced"), operation


async def test_offline_the_list_of_retired_keys_tells_too(
    trade: Trade, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, old = await signed_receipt(trade)
    await turned(trade.market)
    begin_again(trade.market)
    document, listed = tmp_path / "receipt.json", tmp_path / "retired-keys.json"
    document.write_bytes(orjson.dumps(old))
    listed.write_bytes(orjson.dumps(await trade.market.call("get_retired_keys")))
    now = trade.market.clock.now()
    assert verify(document, now) == 0
    for trusted in (None, did_of(OLD.public_key), did_of(NEW.public_key)):
        capsys.readouterr()
        assert verify(document, now, trusted, listed) == 1
        assert f"signed by a key that was replaced at {stamp(now)}" in capsys.readouterr().out
    document.write_bytes(orjson.dumps(old | {"receipt": old["receipt"] | {"version": 2}}))
    assert verify(document, now, None, listed) == 1
    assert "the signature does not match" in capsys.readouterr().out
    with pytest.raises(Unreadable, match=r"not the retired-keys\.json of a market"):
        verify(document, now, None, document)
