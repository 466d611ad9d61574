"""Clauses of the contract about the market itself: health, changelog, payment information, receipts, the platform key."""

import json
from importlib.metadata import version
from typing import Any

import base58
import pytest
from joserfc.jwk import OKPKey
from nacl.signing import VerifyKey

from tests.requirements import covers, named
from tests.requirements.probes import as_deployed
from tests.support.market import START, TestMarket
from tests.support.trade import PRICE, Trade
from tools.catalogue import CATALOGUE
from tools.kernel.records import stamp


@covers("health.status", "health.service", "health.version", "health.time", "health.request_id", "version.health")
@covers("auth.1.health", "endpoint.auth.none", "health.sanctions.screening", "health.sanctions.updated_at")
async def test_health_tells_anybody_how_the_market_is(market: TestMarket) -> None:
    as_deployed(market)
    await market.workers.check_health()
    assert await market.call("get_health") == {
        "object": "health",
        "status": "ok",
        "service": "service",
        "version": version("emporion"),
        "time": stamp(START),
        "request_id": "req_test",
        "database": True,
        "workers": True,
        "chains": {"live": "not_configured", "test": "not_configured"},
        "probed_at": stamp(START),
        "sanctions": {"screening": False, "addresses": 0, "updated_at": None},
    }


@covers("changelog.object", "changelog.current_version", "changelog.entries.version", "changelog.entries.date")
@covers("changelog.entries.changes", "version.changelog", "auth.1.changelog")
async def test_the_changelog_tells_the_version_and_what_changed_when(market: TestMarket) -> None:
    running = as_deployed(market).version
    log = await market.call("get_changelog")
    assert (log["object"], log["current_version"], running) == ("changelog", version("emporion"), version("emporion"))
    assert [set(entry) for entry in log["entries"]] == [{"version", "date", "changes"}] * len(log["entries"])
    newest = log["entries"][0]
    assert (newest["version"], newest["changes"] != []) == (version("emporion"), True)
    assert all(entry["date"][4::3] == "--" and len(entry["date"]) == 10 for entry in log["entries"])


@covers("invariant.5.notice")
def test_the_changelog_promises_to_announce_a_fee_thirty_days_ahead() -> None:
    said = CATALOGUE["get_changelog"].description
    assert "fee" in said
    assert "30 days before" in said


def payments_info(env: str) -> dict[str, Any]:
    """Return the part of the payment information that the contract prescribes exactly."""
    on_live = {
        "id": "eip155:8453",
        "chain_id": 8453,
        "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "domain": {"name": "USD Coin", "version": "2"},
        "confirmations": 3,
    }
    on_test = {
        "id": "eip155:84532",
        "chain_id": 84532,
        "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        "domain": {"name": "USDC", "version": "2"},
        "confirmations": 1,
    }
    return on_live if env == "live" else on_test


@pytest.mark.parametrize("env", ["live", "test"])
@covers(
    "payments.object", "payments.model", "payments.summary", "payments.env", "payments.unit.*", "payments.network.*"
)
@covers("payments.network.asset.*", "payments.network.asset.eip712_domain.*")
@covers("payments.how_it_works", "payments.how_to_pay", "payments.senders.*", "payments.wallet_address.*")
@covers(
    "payments.refunds", "payments.fees", "payments.links", "env.live.network", "env.live.chain_id", "env.test.network"
)
@covers(
    "env.test.faucet", "env.live.confirmations", "limit.confirmations.live", "limit.platform_fee", "invariant.5.no_fee"
)
async def test_how_to_pay_is_told_whole_for_each_environment(market: TestMarket, env: str) -> None:
    as_deployed(market)
    info, chain = await market.call("get_payments_info", env=env), payments_info(env)
    network = info["network"]
    assert (info["object"], info["model"], info["env"]) == ("payments", "proof_of_payment", env)
    assert (info["unit"]["currency"], info["unit"]["decimals"]) == ("USDC", 6)
    assert "1000000 = 1 USDC" in info["unit"]["note"]
    asset = {"symbol": "USDC", "address": chain["asset"], "decimals": 6, "eip712_domain": chain["domain"]}
    assert (network["id"], network["chain_id"], network["asset"]) == (chain["id"], chain["chain_id"], asset)
    assert network["confirmations_required"] == chain["confirmations"]
    assert set(network) == named("payments.network") | {"asset"}
    assert all(network[name].startswith("http") for name in ("explorer_tx", "rpc_hint"))
    assert (network["faucet"] or "").startswith("https://") is (env == "test")
    assert network["name"]
    assert "0 %" in info["fees"]
    assert all(info[name] for name in ("summary", "how_it_works", "how_to_pay", "refunds", "links"))
    assert all(set(sender) == {"name", "how"} and all(sender.values()) for sender in info["senders"])
    wallet = info["wallet_address"]
    assert set(wallet) == {"required_for", "set_via", "change_via"}
    assert len(wallet["required_for"]) == 4
    assert wallet["set_via"] == "POST /v1/agents/me/wallet-address"
    assert "proof" in wallet["change_via"]


async def signed_receipt(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    return await trade.market.call("get_receipt", by=buyer, job_id=job["id"])


def canonical_json(value: Any) -> bytes:
    """Encode with the standard library: enough, as receipts have ASCII keys and no floats."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@covers(
    "signature.*", "route.jobs.receipt", "service.6.receipts", "invariant.2.one_key", "jwks.offline", "verify.one_key"
)
async def test_a_receipt_verifies_offline_by_the_key_set_and_by_its_did(trade: Trade) -> None:
    signed = await signed_receipt(trade)
    signature, message = signed["signature"], canonical_json(signed["receipt"])
    assert set(signature) == {"alg", "kid", "did", "sig", "canonical"}
    assert (signature["alg"], signature["canonical"]) == ("EdDSA", "json-sorted-keys")
    (jwk,) = (await trade.market.call("get_platform_keys"))["keys"]
    assert (jwk["kid"], OKPKey.import_key(jwk).thumbprint()) == (signature["kid"], signature["kid"])
    public = base58.b58decode(signature["did"].removeprefix("did:key:z"))
    assert public[:2] == b"\xed\x01"
    VerifyKey(public[2:]).verify(message, bytes.fromhex(signature["sig"]))
    VerifyKey(OKPKey.import_key(jwk).public_key.public_bytes_raw()).verify(message, bytes.fromhex(signature["sig"]))


@covers("receipt.parties", "receipt.price", "receipt.output_hash", "receipt.settlements")
async def test_a_receipt_names_parties_price_output_and_settlements(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    receipt = (await trade.market.call("get_receipt", by=seller, job_id=job["id"]))["receipt"]
    for agent, side in ((seller, "seller"), (buyer, "buyer")):
        party = receipt[side]
        assert (party["id"], party["handle"], party["wallet_address"]) == (agent.id, agent.handle, agent.wallet.address)
    assert (receipt["job"]["price"], receipt["job"]["output_hash"]) == (PRICE, job["output_hash"])
    (settlement,) = receipt["settlements"]
    assert settlement == job["payment"]["settlement"] | {"direction": None}
    assert (await trade.market.refusal("get_receipt", by=await trade.agent("Cy"), job_id=job["id"]))[
        "code"
    ] == "not_found"


@covers("verify.receipt", "verify.signature", "verify.signature.optional", "verify.object", "verify.valid")
@covers("verify.reason", "verify.kid", "verify.did", "verify.checked_at", "verify.other_key", "auth.1.verify")
async def test_anybody_has_a_receipt_verified(trade: Trade) -> None:
    signed = await signed_receipt(trade)
    signature = signed["signature"]
    short = {name: signature[name] for name in ("kid", "sig")}
    expected = {
        "object": "verification",
        "valid": True,
        "reason": None,
        "kid": signature["kid"],
        "did": signature["did"],
        "retired": None,
        "checked_at": stamp(trade.market.clock.now()),
    }
    for given in (signed, {"receipt": signed["receipt"], "signature": short}):
        assert await trade.market.call("verify_receipt", **given) == expected
    forgeries: list[Any] = [
        signed | {"receipt": signed["receipt"] | {"version": 2}},
        signed | {"signature": signature | {"sig": "0" * 128}},
        signed | {"signature": signature | {"kid": "another"}},
    ]
    for forged in forgeries:
        told = await trade.market.call("verify_receipt", **forged)
        assert (told["valid"], bool(told["reason"])) == (False, True)
    for missing in (
        {"receipt": {}},
        {"receipt": {}, "signature": {"kid": "x"}},
        {"receipt": {}, "signature": {"sig": "x"}},
    ):
        assert (await trade.market.refusal("verify_receipt", **missing))["param"] == "signature"


@covers("verify.attestation")
async def test_a_document_under_attestation_is_judged_by_the_same_signature(trade: Trade) -> None:
    """The argument's name has no effect; only the platform key's signature counts."""
    signed = await signed_receipt(trade)
    given = {"attestation": signed["receipt"], "signature": signed["signature"]}
    assert (await trade.market.call("verify_receipt", **given))["valid"] is True
    given["attestation"] = given["attestation"] | {"version": 2}
    assert (await trade.market.call("verify_receipt", **given))["valid"] is False
    assert (await trade.market.refusal("verify_receipt", **given, receipt={}))["param"] == "receipt"
