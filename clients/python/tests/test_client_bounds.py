"""Answers of a hostile market, node or home that never end, repeat themselves or have an impossible value."""

import asyncio
import gzip
import json
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from client_market import Ask, Clerk, answering, eventually, serving

from emporion_client import (
    AsyncMarket,
    EmporionError,
    HomeDamaged,
    LocalWallet,
    Market,
    MarketDown,
    PaymentStuck,
    StillWaiting,
    TooMany,
    UnexpectedAnswer,
    transport,
    worker,
)
from emporion_client.account import Account
from emporion_client.answers import parsed, quantity
from emporion_client.journal import Journal
from emporion_client.selling import Service
from emporion_client.transport import Answer, Call, Pause
from emporion_client.worker import Worker

Maker = Callable[..., Market]
QUOTED: dict[str, Any] = {"status": "quoted", "output": None, "payment": {"status": "none"}}
Changing = Callable[[Callable[[Call, Ask, Any], Answer]], None]


def method_of(call: Call) -> str:
    """Return the method of a call to a node."""
    return str(call.json.get("method")) if isinstance(call.json, dict) else ""


def lying_node(sent: list[str], *, mined: bool = True, **receipt: str) -> Callable[[Call, Ask, Any], Answer]:
    """Play a node that drops every transaction and shows this receipt for each."""

    def lie(call: Call, plain: Ask, http: Any) -> Answer:
        if method_of(call) == "eth_sendRawTransaction":
            sent.append(call.json["params"][0])
            return Answer(200, b'{"result": "0x1"}')
        if method_of(call) == "eth_getTransactionReceipt":
            found = {"transactionHash": call.json["params"][0]} | receipt if mined else None
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
def test_a_nonce_that_another_job_used_makes_one_transfer_be_signed_again_and_no_other(
    new_market: Maker, clerk: Clerk, changing: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "TRIES", 1)
    buyer, sent = new_market(gasless=False, spend="0.02"), list[str]()
    changing(lying_node(sent, mined=False))
    journal = buyer.account.home.journal
    for nonce in range(10):  # as a lying market can say of each
        note = {"job": "job_other", "hash": "0x" + "1" * 64}
        journal.put(f"paid:{buyer.account.wallet.address.lower()}:{nonce}", note)
    with pytest.raises(StillWaiting):
        buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01", key="row")
    assert len(set(sent)) == 2
    assert journal.spent(60) == 20_000


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
    ("path", "wrong", "told"),
    [
        ("/hire", QUOTED | {"quoted_price": 10_000}, "accept the quote again"),
        ("/hire", QUOTED | {"quoted_price": -1}, "below zero"),
        ("/hire", {"id": ""}, "unknown form"),
        ("/pay", {"payment": {"status": "due"}}, "pay again"),
        ("/pay", QUOTED | {"quoted_price": 0}, "after the payment"),
        ("/pay", {"id": "job_1"}, "another job"),
    ],
)
def test_a_market_that_leads_astray_is_refused_and_what_is_signed_stays_spent(
    buyer: Market, clerk: Clerk, changing: Changing, path: str, wrong: dict[str, Any], told: str
) -> None:
    def stray(call: Call, plain: Ask, http: Any) -> Answer:
        if call.url.endswith("/accept_quote"):
            return Answer(200, json.dumps({"id": call.url.split("/")[-2], **wrong}).encode())
        answer = plain(http, call)
        body = json.loads(answer.body or b"{}")
        if call.url.endswith(path) and answer.status < 300:
            if path == "/hire":
                body["job"] |= wrong
            else:
                body |= wrong
        return Answer(answer.status, json.dumps(body).encode(), answer.retry_after)

    changing(stray)
    with pytest.raises(UnexpectedAnswer, match=told):
        buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01", timeout=1)
    if path == "/pay":
        assert buyer.account.home.journal.spent(60) == 10_000


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


def test_a_text_with_many_quotes_is_read_in_linear_time() -> None:
    brackets, quotes = b"[]" * 201, rb"\"" * 1_000_000
    for body in (brackets + b'"' + quotes, brackets + b'"' + quotes + b"\\", b"[" + b'"x",' * 1_000_000):
        assert parsed(body) is None


@pytest.mark.parametrize("value", ["-0x5", "0x", "0x" + "f" * 65, "5", 5, None, "0x1_0"])
def test_a_number_of_a_node_has_at_most_64_digits(value: Any) -> None:
    with pytest.raises(UnexpectedAnswer):
        quantity(value)


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


def head(*lines: bytes) -> bytes:
    """Return the beginning of a response."""
    return b"\r\n".join((b"HTTP/1.1 200 OK", *lines, b"", b""))


# The bytes of a response, and those that are sent again and again after them.
ENDLESS = {
    "body": (head(), b" "),
    "headers": (b"HTTP/1.1 200 OK\r\nx: ", b"y"),
    "hints": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "chunk": (head(b"Transfer-Encoding: chunked"), b"0"),
}


def endless(begin: bytes, again: bytes) -> type[BaseHTTPRequestHandler]:
    """Return a server whose answers never end."""

    class Endless(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(OSError):
                self.wfile.write(begin)
                while True:
                    self.wfile.write(again)
                    time.sleep(0.01)

    return Endless


@pytest.mark.parametrize("part", ENDLESS)
def test_an_answer_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    monkeypatch.setattr(transport, "TRIES", 1)
    monkeypatch.setattr(transport, "CALL_SECONDS", 0.3)

    async def read(url: str) -> None:
        async with AsyncMarket(url, home=tmp_path) as market:
            await market.get_changelog()

    handler = endless(*ENDLESS[part])
    with serving(handler) as url, Market(url, home=tmp_path) as market, pytest.raises(MarketDown):
        market.get_changelog()
    with serving(handler) as url, pytest.raises(MarketDown):
        asyncio.run(read(url))


def test_a_compressed_answer_is_refused(tmp_path: Path) -> None:
    body = gzip.compress(b"{}")
    gzipped = answering(200, body, Content_Encoding="gzip")
    refused = pytest.raises(UnexpectedAnswer, match="compressed")
    with gzipped as (url, got), Market(url, home=tmp_path) as market, refused:
        market.get_changelog()
    assert got[0]["accept-encoding"] == "identity"


@pytest.mark.parametrize("status", [200, 500])
def test_a_stream_without_an_end_of_line_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("EMPORION_API_KEY", "as_test_" + "x" * 40)
    monkeypatch.setattr(Account, "joined", lambda _: (Pause(0) for _ in ()))
    begin = head().replace(b"200", b"%d" % status)

    async def read(url: str) -> None:
        async with AsyncMarket(url, home=tmp_path) as market:
            async for _ in market.stream_events():
                pass

    with serving(endless(begin, b"data: " + b"x" * 1_000_000)) as url, Market(url, home=tmp_path) as market:
        with pytest.raises(UnexpectedAnswer, match=r"too long|longer"):
            list(market.stream_events())
        with pytest.raises(UnexpectedAnswer, match=r"too long|longer"):
            asyncio.run(read(url))


def test_a_call_is_not_repeated_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "RETRY_SECONDS", -1.0)
    with answering(503, b"{}") as (url, got), Market(url, home=tmp_path) as market, pytest.raises(MarketDown):
        market.get_changelog()
    assert len(got) == 1


def worker_of(seller: Market, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]) -> tuple[Worker, list[str]]:
    """Return a seller's worker whose calls all get this answer, and the names of the calls."""
    working, asked = Worker(seller.account, seller.offers), list[str]()
    working._journal = seller.account.home.journal

    def call(name: str, **_: Any) -> dict[str, Any]:
        asked.append(name)
        return answer

    monkeypatch.setattr(working, "call", call)
    monkeypatch.setattr(worker, "MAX_PAGES", 3)
    monkeypatch.setattr(worker, "MAX_JOBS", 5)
    return working, asked


def test_a_seller_leaves_pages_that_never_end(new_market: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = {"data": [{"id": "job_1"}] * 2, "has_more": True, "next_cursor": "c", "next_since": "x" * 70_000}
    working, asked = worker_of(new_market("Seller"), monkeypatch, endless)
    working._hear()
    working._look(("open",))
    assert asked == ["list_events"] * 3 + ["list_jobs"] * 3
    assert len(str(working._journal.get("since"))) < 200
    empty = endless | {"data": []}
    working, asked = worker_of(new_market("Other"), monkeypatch, empty)
    working._look(("open",))
    assert asked == ["list_jobs"]


def test_a_seller_starts_so_many_threads_and_returns_for_the_rest(
    new_market: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [{"id": f"job_{number}", "listing_id": "lst_1", "status": "open"} for number in range(4)]
    odd = [{"id": "", "listing_id": "lst_1", "status": "open"}, {"listing_id": "lst_1"}]
    working, _ = worker_of(new_market("Seller"), monkeypatch, {"data": [*odd, *jobs], "has_more": False})
    monkeypatch.setattr(worker, "MAX_JOBS", 10)
    monkeypatch.setattr(worker, "MAX_THREADS", 2)
    release, begun = threading.Event(), list[str]()

    def work(_: object, job: dict[str, Any]) -> None:
        begun.append(job["id"])
        release.wait(30)

    monkeypatch.setattr(working, "_guarded", work)
    working._listings = {"lst_1": Service("count", len, {}, None, 1, None, False, None, True)}
    working._look(("open",))
    eventually(lambda: len(begun) == 2)
    release.set()
    assert set(begun) <= {job["id"] for job in jobs}
    assert working._backlog


def test_the_loop_of_a_seller_survives_unexpected_errors(
    new_market: Maker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    working, _ = worker_of(new_market("Seller"), monkeypatch, {})
    looks = iter([TypeError("odd"), RecursionError("deep")])

    def look(_: object) -> None:
        if (error := next(looks, None)) is not None:
            raise error
        working.stop()

    monkeypatch.setattr(working, "_look", look)
    monkeypatch.setattr(working, "_hear", lambda: ())
    monkeypatch.setattr(working._stopping, "wait", lambda _: False)
    working._work_on()
    assert ("odd" in caplog.text, "deep" in caplog.text) == (True, True)


def test_find_takes_the_listing_that_has_most_of_the_words(
    new_market: Maker, changing: Changing, caplog: pytest.LogCaptureFixture
) -> None:
    titles = ["Judge the mood of a text", "Count the words of a text", "Judge the gist of a text"]
    now = datetime.now(UTC)
    seller = {"seller": {"id": "agt_x"}}
    listed: list[dict[str, Any]] = [{"id": f"lst_{at}", "title": title, **seller} for at, title in enumerate(titles)]
    changing(lambda *_: Answer(200, json.dumps({"data": listed}).encode()))
    buyer = new_market()
    assert buyer.find("count how many words are in my text") == "lst_1"
    assert "the closest is 'Count the words of a text'" in caplog.text
    caplog.clear()
    assert buyer.find("words of a text") == "lst_1"
    assert buyer.find("judge a text") == "lst_0", "the first of equals"
    listed[0]["seller_last_seen_at"] = (now - timedelta(hours=1)).isoformat()
    listed[2]["seller_last_seen_at"] = now.isoformat()
    assert buyer.find("judge a text") == "lst_2", "its seller was seen in the last ten minutes"
    assert caplog.text == ""


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
