"""Answers, homes and services that are wrong or hostile, and answers that are lost."""

import json
import logging
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from client_market import Ask, Clerk, answering, eventually, jobs_of, money_of

import emporion_client.transport as transport
from emporion_client import (
    EmporionError,
    HomeDamaged,
    LocalWallet,
    Market,
    MarketDown,
    MarketError,
    NotSignedIn,
    StillWaiting,
    UnexpectedAnswer,
    WrongTerms,
)
from emporion_client.answers import parsed
from emporion_client.errors import redacted
from emporion_client.home import safe_url
from emporion_client.journal import Journal
from emporion_client.money import shown, to_minor
from emporion_client.purchase import begun
from emporion_client.transport import Answer, Call

Maker = Callable[..., Market]


def test_redirects_are_not_followed_and_no_key_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "as_test_" + "x" * 40
    monkeypatch.setenv("EMPORION_API_KEY", key)
    with answering(200, b"{}") as (target, leaked), answering(307, b"", Location=f"{target}/x") as (url, got):
        market = Market(url, home=tmp_path)
        with pytest.raises(MarketError, match="redirects") as refused:
            market.get_me()
        market.close()
    assert (leaked, got[0]["x-api-key"]) == ([], key)
    assert key not in str(refused.value)


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"[]", b'{"id": 7}', b"[" * 100_000, b'{"a":' * 100_000, b'{"agent": null, "api_keys": []}'],
    ids=["a page", "a list", "wrong types", "deep lists", "deep objects", "nothing"],
)
def test_an_answer_that_is_no_record_is_an_error_with_a_name(tmp_path: Path, body: bytes) -> None:
    with answering(200, body) as (url, _):
        market = Market(url, home=tmp_path)
        with pytest.raises(UnexpectedAnswer):
            market.buy("lst_1", {}, "1.00")
        market.close()


def test_a_text_with_many_brackets_is_read() -> None:
    assert parsed(json.dumps({"text": "[{" * 10_000, "rows": [{"a": [1]}] * 1000}).encode()) is not None


def test_an_error_says_code_hint_and_request_and_hides_keys(tmp_path: Path, new_market: Maker) -> None:
    with pytest.raises(MarketError) as refused:
        new_market().get_job(job_id="job_x")
    error = refused.value
    assert (error.status, error.code) == (404, "not_found")
    assert error.request_id
    assert error.request_id in str(error)
    key = "as_live_" + "y" * 40
    body = json.dumps({"error": {"code": "unauthenticated", "message": f"wrong key {key}", "retryable": False}})
    with answering(401, body.encode()) as (url, _):
        market = Market(url, home=tmp_path)
        with pytest.raises(NotSignedIn) as hidden:
            market.get_changelog()
        market.close()
    assert key not in str(hidden.value)


def test_a_market_that_is_away_is_asked_again_and_then_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(transport, "backoff", lambda _: 0.0)
    body = b'{"error": {"code": "overloaded", "message": "wait", "retryable": true}}'
    with answering(503, body) as (url, got):
        market = Market(url, home=tmp_path)
        with pytest.raises(MarketDown, match="overloaded"):
            market.create_webhook(url="https://x.example")
        market.close()
    assert len(got) == 6
    assert len({one["idempotency-key"] for one in got}) == 1


def test_secrets_lie_in_private_files_and_in_no_text(buyer: Market, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        buyer.get_me()
    keys = buyer.account.home.read_keys()
    secret = [keys["api_key"], keys["root_key"], keys["wallet"]]
    folder = buyer.account.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    texts = [
        caplog.text,
        repr(buyer.account.wallet),
        repr(buyer.__dict__),
        repr(Call("GET", "/", headers={"X": secret[0]})),
    ]
    assert not [one for one in secret for text in texts if one in text]
    assert redacted(f"Bearer {secret[0]} and {secret[0]}") == "Bearer [secret] and [secret]"
    with pytest.raises(ValueError, match="64 hex digits") as wrong:
        _ = LocalWallet("0xsecret").address
    assert "0xsecret" not in str(wrong.value)


def test_a_damaged_home_is_named_and_left_alone(market_url: str, tmp_path: Path) -> None:
    for name, text in (("agent.json", "{"), ("agent.json", "[1]"), ("journal.db", "no database" * 100)):
        folder = tmp_path / f"{name}-{len(text)}"
        folder.mkdir(mode=0o700)
        (folder / name).write_text(text)
        market = Market(market_url, home=folder)
        with pytest.raises(HomeDamaged, match=name):
            market.get_me()
        market.close()
        assert (folder / name).read_text() == text


def test_a_journal_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db")
    journal.write("pragma user_version=99")
    journal.close()
    with pytest.raises(HomeDamaged, match="newer"):
        Journal(tmp_path / "journal.db")


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/", "https://a:b@c.example/", "file:///etc/passwd", None, 7, "http://127.0.0.1:1/"]
)
def test_a_market_elsewhere_names_no_service_on_this_machine(url: Any) -> None:
    with pytest.raises(EmporionError, match="no call is made there"):
        safe_url(url, "https://market.example", "facilitator")


def test_services_of_a_market_are_called_over_https_or_on_the_same_machine() -> None:
    assert safe_url("https://pay.example/settle", "https://market.example", "facilitator")
    assert safe_url("http://127.0.0.1:8001/settle", "http://localhost:8000", "facilitator")
    assert safe_url("http://market:8001", "http://market:8000", "node")
    for url, market in (
        ("http://market.example:8001", "https://market.example"),
        ("http://127.example.com:8001", "http://127.0.0.1:8000"),
    ):
        with pytest.raises(EmporionError):
            safe_url(url, market, "node")


@pytest.mark.parametrize("price", [-50_000_000, -(2**70)])
def test_a_negative_price_of_the_market_raises_no_limit(buyer: Market, price: int) -> None:
    with begun(buyer.account, {"listing": "lst_1"}, "negative") as purchase:
        with pytest.raises(UnexpectedAnswer, match="below zero"):
            purchase.reserve(price)
        assert buyer.account.home.journal.spent(60) == 0


@pytest.mark.parametrize("price", [1, True, "1.0000001", "-1", "much", "nan", "inf", "0.05 USDC"])
def test_an_amount_that_is_not_clear_is_refused(price: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        to_minor(price)


def test_amounts_are_exact() -> None:
    assert [to_minor(one) for one in ("0.01", 0.07, "1", "0")] == [10_000, 70_000, 1_000_000, 0]
    assert [shown(one) for one in (10_000, 1_000_000, 1)] == ["0.01 USDC", "1 USDC", "0.000001 USDC"]


def test_a_payment_whose_answer_was_lost_is_found_by_the_market(
    buyer: Market, clerk: Clerk, changing: Callable[..., None]
) -> None:
    lost = []

    def losing(call: Call, plain: Ask, http: Any) -> Answer:
        answer = plain(http, call)
        if call.url.endswith("/settle") and not lost:
            lost.append(json.loads(answer.body)["transaction"])
            return Answer(0, failed="ReadTimeout")
        return answer

    changing(losing)
    bought = buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01")
    assert [bought.transaction] == lost
    assert money_of(buyer) == 4_990_000


def test_a_facilitator_that_names_another_transaction_is_not_believed(
    buyer: Market, clerk: Clerk, changing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "TRIES", 1)
    lies = iter(["0x" + "1" * 64])

    def lying(call: Call, plain: Ask, http: Any) -> Answer:
        if call.url.endswith("/settle") and (lie := next(lies, "")):
            return Answer(200, json.dumps({"success": True, "transaction": lie}).encode())
        return plain(http, call)

    changing(lying)
    bought = buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01")
    assert bought.output == {"words": 1}
    assert money_of(buyer) == 4_990_000


def away(call: Call, plain: Ask, http: Any) -> Answer:
    """Answer as if there were no facilitator."""
    return Answer(0, failed="ConnectError") if call.url.endswith("/settle") else plain(http, call)


@pytest.mark.usefixtures("impatient")
def test_an_authorization_past_its_end_is_signed_again_with_its_nonce(
    buyer: Market, clerk: Clerk, changing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = clerk.listing("count")
    with monkeypatch.context() as patch:
        plain = transport.ask
        patch.setattr(transport, "ask", lambda http, call: away(call, plain, http))
        with pytest.raises(StillWaiting, match="ConnectError"):
            buyer.buy(listing, {"text": "one"}, "0.01", key="row")
    journal = buyer.account.home.journal
    first = json.loads(journal.rows("select paying from purchases")[0][0])
    assert "transaction" not in first
    journal.write("update purchases set paying=?", json.dumps(first | {"end": int(time.time()) - 100}))

    def foreign(call: Call, plain: Ask, http: Any) -> Answer:
        answer = plain(http, call)
        if call.url.endswith("/pay") and answer.status == 402:
            terms = json.loads(answer.body)
            terms["gasless"]["typed_data"]["message"]["nonce"] = "0x" + "2" * 64
            return Answer(402, json.dumps(terms).encode())
        return answer

    with monkeypatch.context() as patch:
        plain = transport.ask
        patch.setattr(transport, "ask", lambda http, call: foreign(call, plain, http))
        with pytest.raises(EmporionError, match="another nonce"):
            buyer.buy(listing, {"text": "one"}, "0.01", key="row")
    bought = buyer.buy(listing, {"text": "one"}, "0.01", key="row")
    again = json.loads(journal.rows("select paying from purchases")[0][0])
    assert again["nonce"] == first["nonce"]
    assert (bought.output, money_of(buyer)) == ({"words": 1}, 4_990_000)


@pytest.mark.usefixtures("impatient")
def test_a_payment_that_was_sent_before_a_crash_is_known_after_its_end(
    buyer: Market, clerk: Clerk, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = clerk.listing("count")

    def cut(call: Call, plain: Ask, http: Any) -> Answer:
        answer = plain(http, call)
        if call.url.endswith("/settle"):
            raise KeyboardInterrupt
        return answer

    with monkeypatch.context() as patch:
        plain = transport.ask
        patch.setattr(transport, "ask", lambda http, call: cut(call, plain, http))
        with pytest.raises(KeyboardInterrupt):
            buyer.buy(listing, {"text": "one"}, "0.01", key="row")
    journal = buyer.account.home.journal
    first = json.loads(journal.rows("select paying from purchases")[0][0])
    journal.write("update purchases set paying=?", json.dumps(first | {"end": int(time.time()) - 100}))
    bought = buyer.buy(listing, {"text": "one"}, "0.01", key="row")
    assert (bought.output, bought.transaction) == ({"words": 1}, bought.job["payment"]["settlement"]["transaction"])
    assert money_of(buyer) == 4_990_000


def test_an_authorization_without_end_is_not_signed(buyer: Market, clerk: Clerk, changing: Callable[..., None]) -> None:
    def endless(call: Call, plain: Ask, http: Any) -> Answer:
        answer = plain(http, call)
        if b'"validBefore"' in answer.body:
            return Answer(answer.status, answer.body.replace(b'"validBefore":1', b'"validBefore":9'))
        return answer

    changing(endless)
    with pytest.raises(WrongTerms):
        buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01")
    assert buyer.account.home.journal.rows("select paying from purchases") == [(None,)]


def test_a_transfer_that_another_of_this_home_replaced_is_signed_again(
    new_market: Maker, clerk: Clerk, changing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    buyer, listing = new_market(gasless=False), clerk.listing("count")

    def cut(call: Call, plain: Ask, http: Any) -> Answer:
        if isinstance(call.json, dict) and call.json.get("method") == "eth_sendRawTransaction":
            raise KeyboardInterrupt
        return plain(http, call)

    with monkeypatch.context() as patch:
        plain = transport.ask
        patch.setattr(transport, "ask", lambda http, call: cut(call, plain, http))
        with pytest.raises(KeyboardInterrupt):
            buyer.buy(listing, {"text": "one"}, "0.01", key="cut")
    first = json.loads(buyer.account.home.journal.rows("select paying from purchases")[0][0])
    other = buyer.buy(listing, {"text": "two words"}, "0.01", key="other")
    second = json.loads(buyer.account.home.journal.rows("select paying from purchases where key='other'")[0][0])
    assert second["nonce"] == first["nonce"]  # the transactions may even be equal
    monkeypatch.setattr(transport, "TRIES", 1)
    bought = buyer.buy(listing, {"text": "one"}, "0.01", key="cut")
    assert bought.transaction not in (first["hash"], other.transaction)
    assert money_of(buyer) == 5_000_000 - 20_000


def test_two_processes_of_one_home_never_sell_at_once(new_market: Maker, clerk: Clerk) -> None:
    second = new_market(home=clerk.market.account.folder)
    with pytest.raises(ValueError, match="nothing is for sale"):
        second.run()
    second.offers.services |= clerk.market.offers.services
    with pytest.raises(EmporionError, match="another process already does this"):
        second.run()


def test_the_market_may_forget_the_key_of_an_order_but_the_client_finds_it(
    new_market: Maker, clerk: Clerk, monkeypatch: pytest.MonkeyPatch
) -> None:
    buyer, listing = new_market(), clerk.listing("count")
    plain = transport.ask

    def cut(http: Any, call: Call) -> Answer:
        answer = plain(http, call)
        if call.url.endswith("/hire"):
            raise KeyboardInterrupt
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(transport, "ask", cut)
        with pytest.raises(KeyboardInterrupt):
            buyer.buy(listing, {"text": "one"}, "0.01", key="old")
    buyer.account.home.journal.write("update purchases set began=began-90000")
    eventually(lambda: jobs_of(buyer, "buyer")[0]["status"] == "delivered")
    bought = buyer.buy(listing, {"text": "one"}, "0.01", key="old")
    assert [job["id"] for job in jobs_of(buyer, "buyer")] == [bought.id]


def test_the_home_is_where_the_variable_says(market_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPORION_HOME", str(tmp_path / "homes"))
    monkeypatch.setenv("EMPORION_URL", market_url)
    market = Market()
    market.get_me()
    assert market.account.folder.parent == tmp_path / "homes"
    assert market.account.folder.name.startswith("127.0.0.1-")
    assert os.access(market.account.folder / "agent.json", os.R_OK)
    market.close()
