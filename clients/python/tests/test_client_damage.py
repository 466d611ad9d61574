"""Odd answers, documents and files that must raise the package's own errors, and never hang."""

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from client_market import Ask, answering

from emporion_client import (
    AsyncMarket,
    Decline,
    EmporionError,
    HomeDamaged,
    InvalidRequest,
    Market,
    MarketError,
    NotDelivered,
    UnexpectedAnswer,
    WrongSignature,
    verified,
)
from emporion_client.chain import account_nonce, base_fee
from emporion_client.home import Home, safe_url
from emporion_client.journal import Journal
from emporion_client.purchase import Purchase, begun, digest_of
from emporion_client.receipts import is_revealed, verified_receipt
from emporion_client.transport import Answer, Call, drive

Maker = Callable[..., Market]
Changing = Callable[[Callable[[Call, Ask, Any], Answer]], None]
UNREACHABLE = "http://127.0.0.1:9"
HASH = "0x" + "1" * 64
TRANSFER = {"way": "transfer", "raw": "0x02", "hash": HASH, "nonce": 0, "amount": 1}
AUTHORIZATION = {"way": "authorization", "nonce": HASH, "end": 1, "url": "https://pay.example", "body": {}}


@pytest.mark.parametrize(
    "url",
    [
        "https://[x",
        "https://[::::]:x/",
        "https://a\u2100b/",
        "https://xn--\u00fc/",
        f"https://{'a' * 64}.example/",
        f"https://{'a.' * 127}example/",
        "https://a..b/",
        "https://.a/",
        "https://..:1/",
        "https:///settle",
        "https://a b/",
        "https://a\nb/",
        "https://a/\x00",
        "https://a/\u00fc",
        "https://:secret@a.example/",
        "https://a.example:99999/",
        "https://a.example:-1/",
        "https://a.example:\u0661/",
        "https://a.example:0/",
        "https://evil[::1]/",
        f"https://a.example/{'a' * 70_000}",
    ],
)
def test_a_url_that_cannot_be_called_is_refused(url: str) -> None:
    with pytest.raises(EmporionError, match="no call is made there"):
        safe_url(url, "https://market.example", "facilitator")


@pytest.mark.parametrize(
    "url",
    [
        "https://pay.example:8443/a?b=c#d",
        f"https://{'a' * 63}.example.",
        "https://[2001:db8::1]:443/",
        "HTTPS://Pay.example",
        "https://xn--mnchen-3ya.example/",
    ],
)
def test_a_url_that_can_be_called_is_taken(url: str) -> None:
    assert safe_url(url, "https://market.example", "facilitator") == url


@pytest.mark.parametrize("page", [{}, {"has_more": True}, {"has_more": True, "next_cursor": None}])
def test_pages_without_a_cursor_end(tmp_path: Path, page: dict[str, Any]) -> None:
    async def read(url: str) -> list[Any]:
        async with AsyncMarket(url, home=tmp_path) as market:
            return [one async for one in market.pages("get_changelog")]

    with answering(200, json.dumps(page | {"data": [{"id": 1}]}).encode()) as (url, got):
        assert asyncio.run(read(url)) == [{"id": 1}]
        assert len(got) == 1
        with Market(url, home=tmp_path) as market:
            assert list(market.pages("get_changelog")) == [{"id": 1}]


@pytest.mark.parametrize("number", ["-0x1", "-0x5000000", "0x" + "f" * 16, "0x" + "f" * 64, "0x" + "f" * 200, None])
def test_an_impossible_number_of_a_node_is_refused(buyer: Market, changing: Changing, number: str | None) -> None:
    def lie(call: Call, plain: Ask, http: Any) -> Answer:
        method = call.json.get("method") if isinstance(call.json, dict) else None
        if method is None:
            return plain(http, call)
        block = {"baseFeePerGas": number and number.replace("0x", "-0x").replace("--", "-")}
        return Answer(200, json.dumps({"result": block if method == "eth_getBlockByNumber" else number}).encode())

    changing(lie)
    for flow in (account_nonce, base_fee):
        with pytest.raises(UnexpectedAnswer):
            drive(buyer.http, flow(buyer.account))


def nested(levels: int) -> Any:
    made: list[Any] = []
    for _ in range(levels):
        made = [made]
    return made


@pytest.mark.parametrize(
    "output", [2**60, "\ud800", nested(100_000), float("nan")], ids=["long", "half", "deep", "nan"]
)
def test_a_document_without_a_canonical_form_is_not_signed(output: Any) -> None:
    job = {"output_salt": "00", "output": output, "output_commitment": "sha256:x"}
    assert not is_revealed({"output_commitment": "sha256:x"}, job)
    keys = {"keys": [{"kid": "k", "x": "A" * 43}]}
    with pytest.raises(WrongSignature):
        verified_receipt({"receipt": {"a": output}, "signature": {"kid": "k", "sig": "00" * 64}}, keys)


@pytest.mark.parametrize("keys", [None, [], {"keys": 5}, {"keys": {"kid": "k"}}, {"keys": ["k", None]}])
def test_platform_keys_of_a_wrong_form_have_no_key(keys: Any) -> None:
    with pytest.raises(WrongSignature, match="none with the id"):
        verified_receipt({"receipt": {}, "signature": {"kid": "k", "sig": "00" * 64}}, keys)


@pytest.mark.parametrize(
    "wrong",
    [
        {"webhook-timestamp": "9" * 400},
        {"webhook-timestamp": "-" + "9" * 400},
        {"webhook-timestamp": "9" * 5000},
        {"webhook-id": "\ud800"},
        {"webhook-signature": "v1,\ud800"},
    ],
)
def test_headers_that_no_webhook_has_are_refused(wrong: dict[str, str]) -> None:
    headers = {"webhook-id": "a", "webhook-timestamp": "1", "webhook-signature": "v1,x"}
    with pytest.raises(WrongSignature, match="no signature"):
        verified(b"{}", headers | wrong, "whsec_AAAA")


def test_an_error_of_the_market_is_short_and_commands_no_terminal() -> None:
    said = {"code": "\x1b]0;owned\x07" + "C" * 5_000_000, "message": "paid\nINFO \u202elive\x9b", "hint": "é – \ud800"}
    error = InvalidRequest(400, {"error": said | {"request_id": "r\r1"}})
    assert error.code == r"\x1b]0;owned\x07" + "C" * (100 - len(r"\x1b]0;owned\x07"))
    assert str(error) == rf"{error.code}: paid\nINFO \u202elive\x9b. é – \ud800. [r\r1]"
    assert (error.hint, error.request_id) == (r"é – \ud800", r"r\r1")
    assert MarketError(400, {"error": "x" * 5_000_000}).code == "x" * 100
    assert MarketError(400, {}).code == MarketError(400, {"error": {"code": 0}}).code == "unknown"


def test_every_error_escapes_what_it_quotes_and_a_seller_writes_freely() -> None:
    assert str(EmporionError("a\x1b[2J\nb")) == r"a\x1b[2J\nb"
    assert str(NotDelivered({"id": "\x07" * 9_000, "status": "x", "cancel_reason": "\n"})).endswith(r"is x: \n")
    assert len(str(NotDelivered({"id": "j" * 9_000, "status": "s" * 9_000}))) < 5_000
    assert str(Decline("one\ntwo")) == "one\ntwo"


def put(name: str, text: str) -> Callable[[Path], object]:
    """Return a function that writes a file of a home."""
    return lambda home: (home / name).write_text(text)


@pytest.mark.parametrize(
    "damage",
    [
        put("agent.json", "[" * 200_000),
        put("agent.json", '{"api_key": "\\ud800"}'),
        put("agent.json", json.dumps({"wallet": "0x" + "1" * 64, "address": "\u00e9"})),
        put("agent.json", json.dumps({"wallet": "0x" + "1" * 64, "api_key": "as_test_\u00e9"})),
        put("agent.json", json.dumps({"wallet": "0x" + "1" * 64, "api_key": "as_test_\n"})),
        lambda home: (home / "agent.json").mkdir(),
        lambda home: os.mkfifo(home / "agent.json"),
        lambda home: (home / "agent.json").symlink_to("/dev/zero"),
    ],
)
def test_keys_that_cannot_be_used_are_named(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    damage(tmp_path)
    with Market(UNREACHABLE, home=tmp_path) as market, pytest.raises(HomeDamaged, match=r"agent\.json"):
        market.get_me()


@pytest.mark.parametrize("key", ["zz", "", "\u00e9", "0x" + "0" * 64, "0x" + "f" * 64, "0x" + "1" * 65])
@pytest.mark.parametrize("more", [{}, {"address": "0x" + "1" * 40}])
def test_a_kept_wallet_without_a_key_is_named(tmp_path: Path, key: str, more: dict[str, str]) -> None:
    put("agent.json", json.dumps({"wallet": key} | more))(tmp_path)
    with Market(UNREACHABLE, home=tmp_path) as market, pytest.raises(HomeDamaged, match=r"agent\.json.*64 hex digits"):
        market.account.wallet.sign_text("x")


def test_deep_keys_are_named_also_without_a_limit_of_recursion(tmp_path: Path) -> None:
    put("agent.json", "[" * 200_000)(tmp_path)
    program = (
        "import sys; from pathlib import Path; from emporion_client import HomeDamaged, Market\n"
        "sys.setrecursionlimit(10**6)\n"
        "try: Market(sys.argv[1], home=Path(sys.argv[2])).get_me()\n"
        "except HomeDamaged: print('named')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, UNREACHABLE, str(tmp_path)], capture_output=True, text=True
    )
    assert done.stdout == "named\n", done.stderr


def test_a_wrong_setting_of_the_program_stays_a_value_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPORION_WALLET_KEY", "zz")
    with Market(UNREACHABLE, home=tmp_path) as market, pytest.raises(ValueError, match="64 hex digits"):
        market.account.wallet.sign_text("x")
    monkeypatch.setenv("EMPORION_API_KEY", "as_test_\u00e9")
    with pytest.raises(ValueError, match="not ASCII"):
        Market(UNREACHABLE, home=tmp_path)


@pytest.mark.parametrize("name", ["claims.lock", "keys.lock", "1-aa.alive", "1-0123abcd.alive", "journal.db"])
def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with (
        Market(UNREACHABLE, home=tmp_path) as market,
        pytest.raises(EmporionError, match=re.escape(str(tmp_path / name))),
    ):
        market.account.home.add_keys(name="x")


@pytest.mark.parametrize("name", ["claims.lock", "keys.lock", "1-aa.alive", "1-0123abcd.alive"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    first = Home(tmp_path)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    assert not first.lives(Path(name).stem)
    second = Home(tmp_path)
    second.add_keys(name="x")
    assert (first.lives(second.owner), second.lives(first.owner)) == (True, True)
    for one in (first, second):
        one.close()


def test_a_pipe_in_the_place_of_the_journal_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "journal.db")
    with pytest.raises(EmporionError, match=r"journal\.db"):
        Home(tmp_path)


@pytest.mark.parametrize("owner", ["", "../x", "a\0b", "1-aa", "9" * 5000, b"1-0123abcd"])
def test_an_owner_that_no_process_has_does_not_live(tmp_path: Path, owner: Any) -> None:
    home = Home(tmp_path)
    assert home.lives(home.owner)
    assert not home.lives(owner)
    home.close()


@pytest.mark.parametrize("below", ["a file/home", "a file", "x" * 300, "loop/home"])
def test_a_home_that_cannot_be_made_is_named(tmp_path: Path, below: str) -> None:
    (tmp_path / "a file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(EmporionError, match=f"{tmp_path}/{below}"):
        Market(UNREACHABLE, home=tmp_path / below).get_me()
    with pytest.raises(EmporionError, match="/proc/x"):
        Market(UNREACHABLE, home=Path("/proc/x")).get_me()
    assert Market(UNREACHABLE, home=tmp_path / below).account.agent_id is None


def test_keys_that_cannot_be_written_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EmporionError, match=r"agent\.json.*No space left"):
        home.add_keys(name="x")
    assert home.read_keys() == {}
    home.close()


def bought(market: Market, **row: Any) -> None:
    """Write a purchase into the journal of a market, as another program could."""
    plain = {"key": "k", "digest": "d", "owner": "", "stage": "signed", "job_id": "job_1", "amount": 1, "began": 0.0}
    row = plain | {"paying": json.dumps(TRANSFER)} | row
    db = sqlite3.connect(market.account.home.journal.path)
    with db:
        names = ", ".join(row)
        db.execute(f"insert into purchases ({names}) values ({', '.join('?' * len(row))})", tuple(row.values()))
    db.close()


@pytest.mark.parametrize("paying", [TRANSFER, AUTHORIZATION, TRANSFER | {"transaction": HASH, "said": "x", "new": 1}])
def test_a_payment_of_the_journal_is_read(tmp_path: Path, paying: dict[str, Any]) -> None:
    with Market(UNREACHABLE, home=tmp_path) as market:
        bought(market, paying=json.dumps(paying))
        row = ("k", "job_1", json.dumps(paying), "d", "", "signed", 0.0)
        assert Purchase(market.account, row).paying == paying


@pytest.mark.parametrize(
    "row",
    [
        *({"paying": one} for one in ("{}", "[1]", "5", "null", "{", "", "[" * 200_000, b"\xff", '{"way":"transfer"}')),
        *({"paying": json.dumps(TRANSFER | {name: "x"})} for name in ("way", "raw", "hash", "nonce", "amount")),
        *({"paying": json.dumps(AUTHORIZATION | {name: 5.5})} for name in ("way", "nonce", "end", "url", "body")),
        {"paying": json.dumps(TRANSFER | {"nonce": True})},
        {"paying": json.dumps(TRANSFER | {"nonce": 2**63})},
        {"paying": json.dumps(TRANSFER | {"transaction": None})},
        {"paying": None},
        {"stage": "bought"},
        {"job_id": None},
        {"job_id": ""},
        {"job_id": b"job_1"},
        {"amount": "abc"},
        {"amount": -1},
        {"amount": 1e300},
        {"amount": b"1"},
    ],
    ids=lambda row: str(row)[:60],
)
def test_a_purchase_of_a_wrong_form_is_neither_sent_nor_signed_again(buyer: Market, row: dict[str, Any]) -> None:
    bought(buyer, **row)
    with pytest.raises(HomeDamaged, match=r"journal\.db"), begun_again(buyer):
        raise AssertionError("it was continued")


def begun_again(market: Market) -> Any:
    """Continue the purchase `k`, whose order is not looked at."""
    market.account.home.journal.write("update purchases set digest=?", digest_of({}))
    return begun(market.account, {}, "k")


@pytest.mark.parametrize("amount", ["abc", -5, 1e300, "9e999"])
def test_a_wrong_amount_of_the_journal_frees_no_limit(buyer: Market, amount: Any) -> None:
    bought(buyer, amount=amount, reserved_at=2e10)
    with pytest.raises(HomeDamaged, match="wrong amount"):
        buyer.account.home.journal.spent(60)


@pytest.mark.parametrize("name", ["failed:k", "next_nonce:0x1", "paid:0x1:1", "listing:x"])
@pytest.mark.parametrize("value", ["[1]", "-1", "1e400", "true", str(2**63), '""', "null", "[" * 200_000])
def test_a_note_of_a_wrong_form_is_named(tmp_path: Path, name: str, value: str) -> None:
    journal = Journal(tmp_path / "journal.db")
    journal.write("insert into notes values (?,?)", name, value)
    with pytest.raises(HomeDamaged, match=r"journal\.db"):
        journal.get(name)
    journal.close()


def test_a_failed_amount_of_a_wrong_form_is_named(buyer: Market) -> None:
    bought(buyer)
    buyer.account.home.journal.put("failed:k", "abc")
    with pytest.raises(HomeDamaged, match="failed:k"):
        buyer.finish_payments()


@pytest.mark.parametrize("value", ["\u00e9" * 32, [1], 7, "x"])
def test_a_kept_idempotency_key_of_a_wrong_form_is_named(tmp_path: Path, value: Any) -> None:
    journal = Journal(tmp_path / "journal.db")
    assert journal.once("register") == journal.once("register")
    journal.put("register", value)
    with pytest.raises(HomeDamaged, match="register"):
        journal.once("register")
    journal.close()


def test_a_number_too_large_and_a_transaction_that_sqlite_ended_are_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db")
    with pytest.raises(EmporionError, match="too large"):
        journal.write("insert into works values ('job_1', 1, ?, null, 0)", 2**70)
    with pytest.raises(EmporionError, match="no transaction"), journal.transaction():
        journal.write("rollback")  # as SQLite does itself if the disk is full
    with journal.transaction():
        journal.put("a", 1)
    assert journal.get("a") == 1
    journal.close()
