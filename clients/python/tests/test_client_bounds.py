"""Answers of a hostile market, node or home that never end, repeat themselves or have an impossible value."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from client_market import Ask, Clerk, answering, serving

from emporion_client import (
    AsyncMarket,
    EmporionError,
    HomeDamaged,
    LocalWallet,
    Market,
    MarketDown,
    PaymentStuck,
    TooMany,
    UnexpectedAnswer,
    transport,
    worker,
)
from emporion_client.answers import parsed
from emporion_client.journal import Journal
from emporion_client.transport import Answer, Call
from emporion_client.worker import Worker

Maker = Callable[..., Market]
QUOTED: dict[str, Any] = {"status": "quoted", "output": None, "payment": {"status": "none"}}
Changing = Callable[[Callable[[Call, Ask, Any], Answer]], None]


def method_of(call: Call) -> str:
    """Return the method of a call to a node."""
    return str(call.json.get("method")) if isinstance(call.json, dict) else ""


def lying_node(sent: list[str], **receipt: str) -> Callable[[Call, Ask, Any], Answer]:
    """Play a node that drops every transaction and shows this receipt for each."""

    def lie(call: Call, plain: Ask, http: Any) -> Answer:
        if method_of(call) == "eth_sendRawTransaction":
            sent.append(call.json["params"][0])
            return Answer(200, b'{"result": "0x1"}')
        if method_of(call) == "eth_getTransactionReceipt":
            found = {"transactionHash": call.json["params"][0]} | receipt
            return Answer(200, json.dumps({"result": found}).encode())
        if method_of(call) == "eth_getTransactionCount":
            return Answer(200, json.dumps({"result": hex(len(sent))}).encode())
        return plain(http, call)

    return lie


@pytest.mark.usefixtures("impatient")
def test_a_node_makes_one_transfer_be_signed_again_and_no_other(
    new_market: Maker, clerk: Clerk, changing: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "TRIES", 1)
    buyer, sent = new_market(gasless=False, spend="0.02"), list[str]()
    changing(lying_node(sent, status="0x0"))
    for _ in range(3):
        with pytest.raises(PaymentStuck):
            buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01", key="row")
    assert len(sent) == 2
    assert buyer.account.home.journal.spent(60) == 20_000


@pytest.mark.usefixtures("impatient")
def test_the_receipt_of_another_transaction_is_not_believed(
    new_market: Maker, clerk: Clerk, changing: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "TRIES", 1)
    buyer, sent = new_market(gasless=False), list[str]()
    changing(lying_node(sent, status="0x0", transactionHash="0x" + "1" * 64))
    with pytest.raises(UnexpectedAnswer, match="another transaction"):
        buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01")
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("path", "status", "wrong"),
    [
        ("/hire", "quoted", QUOTED | {"quoted_price": 10_000}),
        ("/hire", "quoted", QUOTED | {"quoted_price": -1}),
        ("/pay", "due", {"payment": {"status": "due"}}),
    ],
)
def test_a_market_that_never_gets_further_is_refused(
    buyer: Market, clerk: Clerk, changing: Changing, path: str, status: str, wrong: dict[str, Any]
) -> None:
    def still(call: Call, plain: Ask, http: Any) -> Answer:
        if call.url.endswith("/accept_quote"):
            return Answer(200, json.dumps({"id": "job_1", **wrong}).encode())
        answer = plain(http, call)
        body = json.loads(answer.body or b"{}")
        if call.url.endswith(path) and answer.status < 300:
            if path == "/hire":
                body["job"] |= wrong
            else:
                body |= wrong
        return Answer(answer.status, json.dumps(body).encode(), answer.retry_after)

    changing(still)
    with pytest.raises(UnexpectedAnswer, match=f"still {status}|below zero"):
        buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01", timeout=1)


@pytest.mark.parametrize("seconds", ["1" + "0" * 400, "1e400", "NaN"])
def test_an_impossible_time_to_wait_is_not_waited(
    tmp_path: Path, seconds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "TRIES", 2)
    error = '{"error": {"code": "rate_limited", "retryable": true, "details": {"retry_after_seconds": %s}}}'
    with (
        answering(429, (error % seconds).encode()) as (url, _),
        Market(url, home=tmp_path) as market,
        pytest.raises(TooMany),
    ):
        market.get_changelog()


def test_half_of_a_surrogate_pair_is_no_answer() -> None:
    assert parsed(b'{"id": "\\ud83d\\ude00"}') == {"id": "\U0001f600"}
    assert parsed(b'{"id": "\\ud800"}') is None
    assert parsed(b'{"\\uDFFF": 1}') is None
    assert parsed(b'{"id": "\xed\xa0\x80"}') is None


@pytest.mark.parametrize("key", ["as_live_" + "x" * 20, "as_test_\n", "", "as_test_" + "x" * 10_000])
def test_an_api_key_of_an_unknown_form_is_not_kept(tmp_path: Path, key: str) -> None:
    made = {"agent": {"id": "agt_1"}, "api_keys": {"test": key}, "keypair": {"secret_key": "x"}}
    with answering(200, json.dumps(made).encode()) as (url, _), Market(url, home=tmp_path) as market:
        with pytest.raises(UnexpectedAnswer, match="API key"):
            market.get_me()
        assert "api_key" not in market.account.home.read_keys()


class Dripping(BaseHTTPRequestHandler):
    """A server whose answers never end."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b" ")


def test_an_answer_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "TRIES", 1)
    monkeypatch.setattr(transport, "CALL_SECONDS", 0.2)
    monkeypatch.setattr(transport, "MAX_BYTES", 2**62)
    with serving(Dripping) as url, Market(url, home=tmp_path) as market, pytest.raises(MarketDown, match="ReadTimeout"):
        market.get_changelog()

    async def read(url: str) -> None:
        async with AsyncMarket(url, home=tmp_path) as market:
            await market.get_changelog()

    with serving(Dripping) as url, pytest.raises(MarketDown, match="ReadTimeout"):
        asyncio.run(read(url))


def test_a_call_is_not_repeated_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "RETRY_SECONDS", -1.0)
    with answering(503, b"{}") as (url, got), Market(url, home=tmp_path) as market, pytest.raises(MarketDown):
        market.get_changelog()
    assert len(got) == 1


def test_a_seller_leaves_pages_that_never_end(new_market: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    seller, asked = new_market("Seller"), list[str]()
    working = Worker(seller.account, seller.offers)
    working._journal = seller.account.home.journal
    monkeypatch.setattr(worker, "MAX_PAGES", 3)
    monkeypatch.setattr(worker, "MAX_JOBS", 5)

    def endless(name: str, **_: Any) -> dict[str, Any]:
        asked.append(name)
        return {"data": [{"id": "job_1"}] * 2, "has_more": True, "next_cursor": "c", "next_since": "evt_1"}

    monkeypatch.setattr(working, "call", endless)
    working._hear()
    working._look(("open",))
    assert asked == ["list_events"] * 3 + ["list_jobs"] * 3


def test_a_journal_that_is_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal.db").mkdir()
    with Market("http://127.0.0.1:9", home=tmp_path) as market, pytest.raises(HomeDamaged, match=r"journal\.db"):
        market.get_me()


@pytest.mark.parametrize(
    ("change", "error"), [("update notes set value='{'", HomeDamaged), ("drop table notes", EmporionError)]
)
def test_a_damaged_journal_is_an_error_with_a_name(new_market: Maker, change: str, error: type[EmporionError]) -> None:
    market = new_market("Damaged")
    market.get_me()
    db = sqlite3.connect(market.account.folder / "journal.db")
    with db:
        db.execute(change)
    db.close()
    with pytest.raises(error, match=r"journal\.db"):
        market.account.home.journal.get("register")


def test_a_page_of_the_journal_that_is_overwritten_is_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db")
    for number in range(200):
        journal.put(f"note {number}", "x" * 1000)
    journal.close()
    with (tmp_path / "journal.db").open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 100_000)
    journal = Journal(tmp_path / "journal.db")
    with pytest.raises(HomeDamaged, match="cannot be read"):
        journal.rows("select count(value), max(value) from notes")
    journal.close()


def test_an_address_of_another_wallet_signs_nothing() -> None:
    own, other = LocalWallet.create(), LocalWallet.create()
    wrong = LocalWallet(own.key, other.address)
    with pytest.raises(HomeDamaged, match="does not belong"):
        wrong.sign_text("x")
