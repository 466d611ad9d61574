"""`emporion verify FILE`: receipts and attestations verify offline, and changed ones do not."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from server.verify import Unreadable, verify
from tests.support.trade import Trade
from tools.kernel.canonical_json import canonical
from tools.kernel.keys import did_of, jwk_of

OTHER = SigningKey(bytes(range(32)))
DAY = timedelta(days=1)
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def signed(kind: str, body: dict[str, Any], by: SigningKey = OTHER) -> dict[str, Any]:
    public = bytes(by.verify_key)
    sig = by.sign(canonical(body)).signature.hex()
    return {kind: body, "signature": {"kid": jwk_of(public)["kid"], "alg": "EdDSA", "did": did_of(public), "sig": sig}}


def attestation(ends: datetime) -> dict[str, Any]:
    body = {"object": "reputation_attestation", "agent": {"id": "agt_1"}, "expires_at": ends.isoformat()}
    return signed("attestation", body)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    def write(value: Any) -> Path:
        path = tmp_path / "file.json"
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
        return path

    return write


async def a_receipt(trade: Trade) -> dict[str, Any]:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    found: dict[str, Any] = await trade.market.call("get_receipt", by=buyer, job_id=job["id"])
    return found


async def test_a_receipt_of_a_real_trade_holds_offline(
    trade: Trade, write: Callable[[Any], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    receipt = await a_receipt(trade)
    assert verify(write(receipt), NOW) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"VALID   receipt {receipt['receipt']['job']['id']}"
    assert receipt["signature"]["did"] in said[1]
    assert verify(write(receipt), NOW, receipt["signature"]["did"]) == 0
    assert verify(write({"anything": [{"else": receipt}, receipt]}), NOW) == 0
    assert verify(write(json.dumps(receipt, indent=3, sort_keys=True).encode()), NOW) == 0


async def test_a_receipt_that_was_changed_anywhere_does_not_hold(
    trade: Trade, write: Callable[[Any], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    receipt = await a_receipt(trade)
    for name, value in receipt["receipt"].items():
        changed = {**receipt, "receipt": {**receipt["receipt"], name: [value]}}
        assert verify(write(changed), NOW) == 1, name
    for name, value in (("sig", "00" * 64), ("kid", "x"), ("did", did_of(bytes(OTHER.verify_key))), ("alg", "none")):
        changed = {**receipt, "signature": {**receipt["signature"], name: value}}
        assert verify(write(changed), NOW) == 1, name
    forged = signed("receipt", receipt["receipt"])
    assert verify(write(forged), NOW) == 0  # the signature is valid, by an unknown key
    assert verify(write(forged), NOW, receipt["signature"]["did"]) == 1  # but it is not the market's
    assert "another key than the one you trust" in capsys.readouterr().out
    assert verify(write([receipt, forged]), NOW, receipt["signature"]["did"]) == 1


def test_an_attestation_holds_until_it_ends(write: Callable[[Any], Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(write(attestation(NOW + DAY)), NOW) == 0
    assert verify(write(attestation(NOW - DAY)), NOW) == 1
    assert f"INVALID attestation agt_1: it ended on {NOW - DAY:%Y-%m-%d}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "document",
    [
        {"receipt": 1, "signature": {}},
        {"receipt": {}, "signature": None},
        {"receipt": {"object": "receipt"}, "signature": {}},
        {"receipt": {"object": "receipt"}, "signature": {"did": "did:key:z6Mk", "kid": "x", "sig": "00"}},
        signed("receipt", {"object": "something else"}),
        signed("attestation", {"object": "reputation_attestation", "expires_at": "soon"}),
        signed("receipt", {"object": "receipt", "job": {"id": "\u001b[2J"}})
        | {"receipt": {"job": {"id": "\u001b[2J"}}},
    ],
)
def test_what_is_no_signed_document_is_invalid_and_moves_no_cursor(
    write: Callable[[Any], Path], capsys: pytest.CaptureFixture[str], document: Any
) -> None:
    assert verify(write(document), NOW) == 1
    said = capsys.readouterr().out
    assert said.startswith("INVALID ")
    assert "\u001b" not in said


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b'{"receipt": {}}', b"\xff", b'{"a": 1, "a": 2}', b"[" * 100_000],
    ids=["empty", "half", "nothing", "unsigned", "no text", "two meanings", "deep"],
)
def test_a_file_that_holds_nothing_to_check_is_refused(write: Callable[[Any], Path], raw: bytes) -> None:
    with pytest.raises(Unreadable):
        verify(write(raw), NOW)


def test_no_document_is_passed_over_wherever_it_stands(
    write: Callable[[Any], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    good, spoiled = attestation(NOW + DAY), attestation(NOW + DAY)
    spoiled["attestation"]["agent"]["id"] = "agt_2"
    deep: Any = spoiled
    for _ in range(200):
        deep = [deep]
    for hidden in ([good, deep], good | {"more": {"one": spoiled}}, {"first": [good], "then": {"x": spoiled}}):
        assert verify(write(hidden), NOW) == 1
        said = capsys.readouterr().out.splitlines()
        assert said[0] == "VALID   attestation agt_1"
        assert said[1].startswith("INVALID attestation agt_2")


def test_two_kinds_beside_one_signature_are_invalid(write: Callable[[Any], Path]) -> None:
    receipt = signed("receipt", {"object": "receipt", "job": {"id": "job_1"}})
    assert verify(write(receipt), NOW) == 0
    assert verify(write(receipt | {"attestation": attestation(NOW - DAY)["attestation"]}), NOW) == 1


def test_no_more_is_read_of_a_file_than_the_most(write: Callable[[Any], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.verify.MAX_BYTES", 100)
    for path in (Path("/dev/zero"), write(b"[" + b" " * 99 + b"]")):
        with pytest.raises(Unreadable, match="more than 100 bytes"):
            verify(path, NOW)


def test_the_command_answers_by_its_exit(write: Callable[[Any], Path], tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "emporion"

    def run(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        return subprocess.run([program, "verify", *arguments], input=given, capture_output=True, check=False, env=here)

    good, ended = attestation(datetime.max.replace(tzinfo=UTC)), attestation(datetime(2000, 1, 1, tzinfo=UTC))
    assert run(str(write(good))).returncode == 0
    assert run("-", given=json.dumps(good).encode()).returncode == 0
    assert run(str(write(good)), "--did", did_of(bytes(32))).returncode == 1
    assert run(str(write(ended))).returncode == 1
    missing = run(str(tmp_path / "none.json"))
    assert (missing.returncode, b"none.json" in missing.stderr) == (2, True)
