"""Trades on a served sandbox: join, sell, buy, pay with and without gas, and what buy() refuses."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from client_market import Clerk, Selling, eventually, jobs_of, money_of

from emporion_client import (
    AsyncMarket,
    EmporionError,
    InProgress,
    InvalidRequest,
    LimitReached,
    LocalWallet,
    Market,
    NotDelivered,
    NotFound,
    StillWaiting,
    TooDear,
    WrongTerms,
    buying,
)
from emporion_client.buying import Order, _ordered
from emporion_client.chain import rpc
from emporion_client.paying import _terms, check_terms
from emporion_client.purchase import Purchase, begun
from emporion_client.transport import drive

Maker = Callable[..., Market]


def test_two_new_agents_make_a_sale_without_gas(buyer: Market, clerk: Clerk) -> None:
    bought = buyer.buy(clerk.listing("count"), {"text": "one two three"}, max_price="0.05")
    assert bought.output == {"words": 3}
    settlement = buyer.get_job(job_id=bought.id)["payment"]["settlement"]
    assert settlement is not None
    assert (settlement["amount"], settlement["transaction"]) == (10_000, bought.transaction)
    assert settlement["payer_address"] == buyer.account.wallet.address
    assert money_of(buyer) == 4_990_000
    gas = drive(buyer.http, rpc(buyer.account, "eth_getBalance", buyer.account.wallet.address, "latest"))
    assert int(gas, 16) == 0


def test_a_buyer_pays_by_transfers_side_by_side_with_one_wallet(new_market: Maker, clerk: Clerk) -> None:
    buyer = new_market(gasless=False)
    results: list[Any] = []

    def purchase(number: int) -> None:
        results.append(buyer.buy(clerk.listing("count"), {"text": "a " * number}, "0.05", key=f"row-{number}"))

    threads = [threading.Thread(target=purchase, args=(number,)) for number in range(1, 5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(one.output["words"] for one in results) == [1, 2, 3, 4]
    assert len({one.transaction for one in results}) == 4
    assert money_of(buyer) == 5_000_000 - 4 * 10_000


def test_find_names_a_listing_that_can_be_bought_by_its_address(buyer: Market, clerk: Clerk) -> None:
    listing = buyer.find("count words", max_price="0.05")
    assert listing == clerk.listing("count")
    assert buyer.buy(f"{buyer.account.url}/v1/listings/{listing}", {"text": "one"}, "0.01").output == {"words": 1}
    with pytest.raises(ValueError, match="is not on"):
        buyer.buy(f"https://elsewhere.example/v1/listings/{listing}", {"text": "one"}, "0.01")


async def test_the_async_market_buys_side_by_side(market_url: str, tmp_path: Path, clerk: Clerk) -> None:
    async with AsyncMarket(market_url, name="Async", home=tmp_path) as market:
        listing = await market.find("count words")
        bought = await asyncio.gather(*(market.buy(listing, {"text": "a " * n}, "0.01") for n in range(1, 5)))
        assert [one.output["words"] for one in bought] == [1, 2, 3, 4]
        assert (await market.get_me())["name"] == "Async"
        await market.put_memory(key="a/b:c", value=1)
        assert (await market.get_memory(key="a/b:c"))["value"] == 1
        await market.create_schedule(in_seconds=1)
        async with aclosing(market.stream_events(types=["schedule.*"], since="evt_" + "0" * 26)) as events:
            async for event in events:
                assert event["type"] == "schedule.fired"
                break


async def test_the_async_market_sells_on_its_own_loop(market_url: str, tmp_path: Path, new_market: Maker) -> None:
    market, loops = AsyncMarket(market_url, name="Async seller", home=tmp_path), []

    @market.sells(title="Ask the loop", price="0")
    async def ask(text: str) -> dict[str, str]:
        loops.append(asyncio.get_running_loop())
        return {"text": text}

    running = asyncio.create_task(market.run())
    listing = await asyncio.to_thread(eventually, lambda: market.account.home.journal.get("listing:ask"))
    bought = await asyncio.to_thread(new_market().buy, listing, {"text": "x"}, "0")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (bought.output, bought.transaction, loops) == ({"text": "x"}, None, [asyncio.get_running_loop()])
    assert (await market.get_listing(listing_id=listing))["status"] == "paused"
    await market.close()


def test_work_is_paid_in_advance_where_the_seller_asks_for_it(buyer: Market, clerk: Clerk) -> None:
    assert buyer.buy(clerk.listing("late"), {"text": "abc"}, "0.01").output == {"text": "ABC"}


def test_a_price_by_quote_is_accepted_up_to_the_limit(new_market: Maker) -> None:
    seller, buyer = new_market("Quoting"), new_market()
    listing = seller.create_listing(
        title="Quote me", description="A price for each order.", category="other", pricing_model="quote"
    )["id"]

    def quote() -> None:
        for price in (30_000, 20_000):
            job = eventually(lambda: seller.list_jobs(role="seller", status="quote_requested")["data"])[0]
            seller.quote_job(job_id=job["id"], price=price)
        job = eventually(lambda: seller.list_jobs(role="seller", status="in_progress")["data"])[0]
        seller.deliver_job(job_id=job["id"], output={"done": True})

    thread = threading.Thread(target=quote)
    thread.start()
    with pytest.raises(TooDear, match=r"quoted at 0\.03"):
        buyer.buy(listing, {"text": "a"}, "0.02", key="one")
    buyer.cancel_job(job_id=jobs_of(buyer, "buyer")[0]["id"])
    bought = buyer.buy(listing, {"text": "b"}, "0.02")
    thread.join(30)
    assert (bought.output, money_of(buyer)) == ({"done": True}, 4_980_000)


def test_a_price_that_rises_before_the_order_is_refused_by_the_market(
    new_market: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    seller, buyer = new_market("Raising"), new_market(spend="0.05")
    listing = seller.create_listing(
        title="Get dearer",
        description="The price rises at once.",
        category="other",
        pricing_model="fixed",
        price=10_000,
    )["id"]
    call = buyer.account.call

    def raised(operation: str, /, *codes: Any, **given: Any) -> Any:
        if operation == "hire":
            assert given["max_price"] == 10_000
            seller.update_listing(listing_id=listing, price=20_000)
        return call(operation, *codes, **given)

    monkeypatch.setattr(buyer.account, "call", raised)
    with pytest.raises(TooDear, match="more than max_price"):
        buyer.buy(listing, {}, "0.01")
    assert (jobs_of(buyer, "buyer"), buyer.account.home.journal.spent(60)) == ([], 0)


def test_an_interrupted_order_is_continued_with_a_higher_limit(
    buyer: Market, clerk: Clerk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Purchase, "note", lambda *_: (_ for _ in ()).throw(ConnectionAbortedError))
    with pytest.raises(ConnectionAbortedError):  # ordered, and not in the journal
        buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01", key="row-1")
    monkeypatch.undo()
    assert buyer.buy(clerk.listing("count"), {"text": "one"}, "0.02", key="row-1").output == {"words": 1}
    assert len(jobs_of(buyer, "buyer")) == 1


def test_an_order_that_the_seller_declines_costs_nothing(new_market: Maker, clerk: Clerk) -> None:
    buyer = new_market(spend="0.03")
    with pytest.raises(NotDelivered, match="At most ten letters"):
        buyer.buy(clerk.listing("turn"), {"text": "much too long"}, "0.02")
    assert buyer.buy(clerk.listing("turn"), {"text": "abc"}, "0.02").output == {"text": "cba"}


@pytest.mark.parametrize(
    ("service", "status", "reason"),
    [
        ("fail", "cancelled", "failed at this order"),
        ("hang", "cancelled", "failed at this order"),
        ("wrong", "cancelled", "output_schema_mismatch"),
        ("unchecked", "declined", "failed at this order"),
    ],
)
def test_a_function_that_fails_ends_its_order_with_a_reason(
    buyer: Market, clerk: Clerk, service: str, status: str, reason: str
) -> None:
    with pytest.raises(NotDelivered, match=reason) as ended:
        buyer.buy(clerk.listing(service), {"text": "abc"}, "0.02")
    assert ended.value.job["status"] == status
    assert buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01").output == {"words": 1}


def test_live_has_a_key_and_a_home_of_its_own(market_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPORION_HOME", str(tmp_path))
    with Market(market_url, name="Live") as test, Market(market_url, env="live", spend="1.00", name="Live") as live:
        assert test.get_me()["id"] != live.get_me()["id"]
        assert live.account.home.read_keys()["api_key"].startswith("as_live_")
        assert {path.name.rsplit("-", 1)[1] for path in tmp_path.iterdir()} == {"test", "live"}


def test_a_key_and_a_wallet_of_the_environment_are_used(
    buyer: Market, tmp_path: Path, market_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    me, keys = buyer.get_me(), buyer.account.home.read_keys()
    monkeypatch.setenv("EMPORION_API_KEY", keys["api_key"])
    with (
        Market(market_url, home=tmp_path / "other") as other,
        pytest.raises(EmporionError, match="has bound the wallet"),
    ):
        other.get_me()
    monkeypatch.setenv("EMPORION_WALLET_KEY", keys["wallet"])
    with Market(market_url, home=tmp_path / "new") as same:
        assert same.get_me()["id"] == me["id"]
        assert same.account.home.read_keys() == {}


def test_a_price_above_the_limit_of_the_call_or_the_day_is_not_ordered(new_market: Maker, clerk: Clerk) -> None:
    buyer = new_market(spend="0.015")
    with pytest.raises(TooDear):
        buyer.buy(clerk.listing("count"), {"text": "one"}, "0.009999")
    buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01")
    with pytest.raises(LimitReached):
        buyer.buy(clerk.listing("count"), {"text": "two"}, "0.01")
    same_home = new_market(spend="0.015", home=buyer.account.folder)
    with pytest.raises(LimitReached):
        same_home.buy(clerk.listing("count"), {"text": "two"}, "0.01")
    assert len(jobs_of(buyer, "buyer")) == 1


def test_a_refused_order_is_not_set_aside(new_market: Maker, clerk: Clerk) -> None:
    buyer = new_market(spend="0.01")
    with pytest.raises(InvalidRequest):
        buyer.buy(clerk.listing("count"), {"wrong": 1}, "0.01")
    with pytest.raises(NotFound):
        buyer.buy("lst_nothing", {}, "0.01")
    assert buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01").output == {"words": 1}


def test_live_needs_a_spending_limit_and_a_key_of_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LimitReached):
        Market("http://127.0.0.1:1", env="live", home=tmp_path).buy("lst_1", {}, "1.00")
    monkeypatch.setenv("EMPORION_API_KEY", "as_live_" + "x" * 40)
    with pytest.raises(ValueError, match="is for live"):
        Market("http://127.0.0.1:1", home=tmp_path)
    with pytest.raises(ValueError, match="https"):
        Market("http://market.example", env="live", home=tmp_path)


def test_a_key_names_one_purchase_for_ever(buyer: Market, clerk: Clerk) -> None:
    listing = clerk.listing("count")
    first = buyer.buy(listing, {"text": "one"}, "0.01", key="row-1")
    again = buyer.buy(listing, {"text": "one"}, "0.01", key="row-1")
    assert (again.id, again.transaction) == (first.id, first.transaction)
    with pytest.raises(ValueError, match="another order"):
        buyer.buy(listing, {"text": "two"}, "0.01", key="row-1")
    assert buyer.buy(listing, {"text": "one"}, "0.01").id != first.id
    assert len(jobs_of(buyer, "buyer")) == 2


def test_a_purchase_that_waits_is_continued_and_never_worked_twice_at_once(
    new_market: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buying, "HIRE_SECONDS", 1)
    seller, buyer = new_market("Slow"), new_market()
    go = threading.Event()

    @seller.sells(title="Wait for a sign", price="0.01")
    def wait(text: str) -> dict[str, str]:
        go.wait(60)
        return {"text": text}

    with Selling(seller) as selling:
        listing = selling.listing("wait")
        with pytest.raises(StillWaiting):
            buyer.buy(listing, {"text": "a"}, "0.01", timeout=0)
        held = begun(buyer.account, {"listing": listing, "input": {"text": "b"}}, "held")
        with held, pytest.raises(InProgress):
            buyer.buy(listing, {"text": "b"}, "0.01", key="held")
        go.set()
        assert buyer.buy(listing, {"text": "a"}, "0.01").output == {"text": "a"}
    assert len(jobs_of(buyer, "buyer")) == 1


def test_an_order_is_found_again_after_the_market_forgot_its_key(
    buyer: Market, clerk: Clerk, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive(buyer.http, buyer.account.joined())
    order = Order(clerk.listing("count"), {"text": "one"}, 10_000, time.time() + 30, {})
    call, found = buyer.account.call, list[str | None]()

    def without_key(name: str, *codes: Any, idempotency_key: str | None = None, **given: Any) -> Any:
        return call(name, *codes, **given)

    monkeypatch.setattr(buyer.account, "call", without_key)
    with begun(buyer.account, {"listing": order.listing, "input": order.input}, "row-7") as purchase:
        for _ in range(2):
            purchase.job_id = None
            drive(buyer.http, _ordered(buyer.account, purchase, order))
            found.append(purchase.job_id)
    assert found[0] == found[1] is not None
    assert len(jobs_of(buyer, "buyer")) == 1


def test_a_revision_is_worked_and_delivered_once_more(buyer: Market, clerk: Clerk) -> None:
    bought = buyer.buy(clerk.listing("count"), {"text": "one two"}, "0.01")
    buyer.request_revision(job_id=bought.id, message="Once more, please.")
    job = buyer.get_job(job_id=bought.id, wait_seconds=20)
    assert (job["status"], len(job["deliveries"]), job["output"]) == ("delivered", 2, {"words": 2})
    assert [attempt for job_id, attempt in clerk.calls if job_id == bought.id] == [1, 1]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("amount", 20_000),
        ("pay_to", "0x1"),
        ("chain_id", 1),
        ("asset", "0x" + "1" * 40),
        ("job_id", "job_1"),
        ("price", 1),
    ],
)
def test_terms_that_differ_from_the_order_are_not_signed(buyer: Market, clerk: Clerk, field: str, value: Any) -> None:
    drive(buyer.http, buyer.account.joined())
    order = Order(clerk.listing("count"), {"text": "one"}, 10_000, 0, {})
    with begun(buyer.account, {"field": field}, None) as purchase:
        drive(buyer.http, _ordered(buyer.account, purchase, order))
        buyer.get_job(job_id=purchase.job_id or "", wait_seconds=20)
        terms = drive(buyer.http, _terms(buyer.account, purchase))
        assert terms is not None
        check_terms(buyer.account, purchase, terms, 10_000)
        with pytest.raises(TooDear):
            check_terms(buyer.account, purchase, terms, 9_999)
        with pytest.raises(WrongTerms):
            check_terms(buyer.account, purchase, terms | {field: value}, 10_000)


def test_a_signer_of_ones_own_needs_no_key_in_the_home(new_market: Maker, clerk: Clerk) -> None:
    buyer = new_market(wallet=LocalWallet.create())
    assert buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01").output == {"words": 1}
    assert "wallet" not in buyer.account.home.read_keys()


def test_the_listing_follows_the_program(new_market: Maker) -> None:
    seller = new_market("Changing")

    def work(text: str) -> dict[str, str]:
        return {"text": text}

    seller.sells(title="Before", price="0.01", name="one")(work)
    with Selling(seller) as selling:
        listing = selling.listing("one")
    assert seller.get_listing(listing_id=listing)["status"] == "paused"
    seller.offers.services.clear()
    seller.sells(title="After", price="0.02", name="one")(work)
    with Selling(seller) as selling:
        eventually(lambda: seller.get_listing(listing_id=listing)["title"] == "After")
        assert selling.listing("one") == listing
    assert seller.get_listing(listing_id=listing)["pricing"]["price"] == 20_000
    seller.archive_listing(listing_id=listing)
    with Selling(seller) as selling:
        eventually(lambda: selling.listing("one") != listing)
