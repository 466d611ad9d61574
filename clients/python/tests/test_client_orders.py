"""Orders of a seller: deliveries with a preview, orders that end while they are worked, and jobs paid without buy()."""

import asyncio
import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import pytest
from client_market import Clerk, Selling, eventually, jobs_of, money_of

from emporion_client import Conflict, Decline, Delivery, InProgress, Market, NotDelivered, TooDear
from emporion_client.cli import main

Maker = Callable[..., Market]


def test_a_function_may_add_a_message_and_a_preview(new_market: Maker) -> None:
    seller, buyer = new_market("Seller"), new_market("Buyer")

    @seller.sells(title="Write a poem", price="0.01", output_schema={"type": "object"})
    def poem(text: str) -> Delivery:
        return Delivery({"poem": text}, message="It rhymes.", preview={"lines": 1})

    with Selling(seller) as selling:
        hired = buyer.hire(listing_id=selling.listing("poem"), input={"text": "sea"}, wait_seconds=20)
        job: Any = eventually(lambda: (found := buyer.get_job(job_id=hired["job"]["id"]))["delivered_at"] and found)
        assert (job["output_preview"], job["output"]) == ({"lines": 1}, None)
        assert [one["body"] for one in buyer.list_messages(thread_id=job["thread_id"])["data"]] == ["It rhymes."]
        assert buyer.pay(job["id"], "0.01").output == {"poem": "sea"}


def test_a_job_is_paid_once_without_buy_and_not_above_the_limit(buyer: Market, clerk: Clerk, capsys: Any) -> None:
    job = buyer.create_job(listing_id=clerk.listing("count"), input={"text": "one two"})["id"]
    with pytest.raises(TooDear):
        buyer.pay(job, "0.009")
    home = str(buyer.account.folder)
    main(["--market", buyer.account.url, "--home", home, "pay", job, "--max-price", "0.01"])
    assert capsys.readouterr().out == '{"words": 2}\n'
    assert buyer.pay(job, "0.01").output == {"words": 2}
    assert money_of(buyer) == 4_990_000
    bought = buyer.buy(clerk.listing("count"), {"text": "one"}, "0.01")
    with pytest.raises(InProgress, match="the same buy"):
        buyer.pay(bought.id, "0.01")


def test_pages_are_read_to_the_end(buyer: Market, clerk: Clerk) -> None:
    for number in range(3):
        buyer.buy(clerk.listing("count"), {"text": "a " * number}, "0.01")
    listed = [one["id"] for one in buyer.pages("list_jobs", limit=2)]
    assert listed == [one["id"] for one in jobs_of(buyer, "buyer")]
    assert len(listed) == 3


@pytest.mark.parametrize("how", ["the buyer cancels", "the seller stops"])
def test_an_async_function_is_stopped_when_its_work_is_in_vain(new_market: Maker, how: str) -> None:
    seller, buyer = new_market("Seller"), new_market("Buyer")
    begun, ended = threading.Event(), threading.Event()

    @seller.sells(title="Think for long", price="0.01", work_first=True)
    async def think(text: str) -> dict[str, str]:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return {"text": text}

    selling = Selling(seller)
    selling.worker._grace = 0.1
    with selling:
        job = buyer.create_job(listing_id=selling.listing("think"), input={"text": "x"})["id"]
        assert begun.wait(30)
        if how == "the buyer cancels":
            buyer.cancel_job(job_id=job, reason="I found it myself.")
            assert ended.wait(30)
    assert ended.wait(5)
    works = "select attempts, done from works where job_id=?"
    eventually(lambda: seller.account.home.journal.rows(works, job) == [(0, 0)])
    assert buyer.get_job(job_id=job)["status"] == ("cancelled" if how == "the buyer cancels" else "open")


def test_each_function_has_its_own_number_of_orders_and_may_be_paused(new_market: Maker) -> None:
    seller, buyer = new_market("Seller"), new_market("Buyer")
    free = threading.Event()

    @seller.sells(title="Take a slow look", price="0.01", at_once=1)
    def slow(text: str) -> dict[str, str]:
        free.wait(60)
        return {"text": text}

    @seller.sells(title="Take a quick look", price="0.01", at_once=1)
    def quick(text: str) -> dict[str, str]:
        return {"text": text}

    @seller.sells(title="Take no look now", price="0.01", active=False)
    def never(text: str) -> dict[str, str]:
        return {"text": text}

    with Selling(seller) as selling:
        buyer.buy(selling.listing("quick"), {"text": "a"}, "0.01")  # a paid order allows two at once
        first = buyer.create_job(listing_id=selling.listing("slow"), input={"text": "1"})["id"]
        eventually(lambda: buyer.get_job(job_id=first)["status"] == "in_progress")
        second = buyer.create_job(listing_id=selling.listing("slow"), input={"text": "2"})["id"]
        assert buyer.buy(selling.listing("quick"), {"text": "b"}, "0.01").output == {"text": "b"}
        assert buyer.get_job(job_id=second)["status"] == "open"
        buyer.cancel_job(job_id=second, reason="It takes too long.")
        free.set()
        assert buyer.pay(first, "0.01").output == {"text": "1"}
        with pytest.raises(Conflict, match="listing_unavailable"):
            buyer.create_job(listing_id=selling.listing("never"), input={"text": "a"})
    assert seller.get_job(job_id=second)["status"] == "cancelled"


def test_a_reason_that_the_market_refuses_is_withheld(new_market: Maker) -> None:
    seller, buyer = new_market("Seller"), new_market("Buyer")

    @seller.sells(title="Refuse with a key", price="0.01", work_first=True)
    def refuse(text: str) -> dict[str, str]:
        raise Decline("The key is AKIA" + "ABCDEFGH12345678")

    with Selling(seller) as selling:
        job = buyer.create_job(listing_id=selling.listing("refuse"), input={"text": "a"})["id"]
        ended: Any = eventually(lambda: (found := buyer.get_job(job_id=job))["status"] == "declined" and found)
    assert "AKIA" not in ended["cancel_reason"]
    assert "withheld" in ended["cancel_reason"]


@dataclasses.dataclass
class Span:
    """An argument whose ends must be in order."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise ValueError("first is after last")


def test_an_input_that_cannot_be_worked_is_returned_and_is_no_failure(new_market: Maker) -> None:
    seller, buyer = new_market("Seller"), new_market("Buyer")

    @seller.sells(title="Measure a span", price="0.01")
    def measure(span: Span) -> dict[str, int]:
        if span.last > 100:
            raise Decline("At most 100.")
        return {"length": span.last - span.first}

    with Selling(seller) as selling:
        for first, last, reason in ((0, 101, "At most 100."), (2, 1, "first is after last")):
            with pytest.raises(NotDelivered, match=reason) as ended:
                buyer.buy(selling.listing("measure"), {"span": {"first": first, "last": last}}, "0.01")
            assert (ended.value.job["status"], ended.value.job["cancel_kind"]) == ("cancelled", "returned")
        with pytest.raises(NotDelivered, match="unexpected keyword") as ended:
            buyer.buy(selling.listing("measure"), {"span": {"first": 0, "last": 1, "unit": "m"}}, "0.01")
        assert ended.value.job["cancel_kind"] == "returned"
        sold = seller.get_reputation(agent_id=seller.get_me()["id"], env="test")["test"]["as_seller"]
        assert (sold["jobs_returned"], sold["jobs_failed"]) == (3, 1)  # two returns are free


def test_a_paid_order_that_cannot_be_worked_is_cancelled(new_market: Maker) -> None:
    seller, buyer = new_market("Seller"), new_market("Buyer")

    @seller.sells(title="Refuse after the payment", price="0.01", payment="upfront")
    def refuse(text: str) -> dict[str, str]:
        raise Decline("Not this text.")

    with Selling(seller) as selling, pytest.raises(NotDelivered, match=r"Not this text.* A refund is due") as ended:
        buyer.buy(selling.listing("refuse"), {"text": "a"}, "0.01")
    assert ended.value.job["cancel_kind"] != "returned"


@pytest.mark.parametrize("declines", [True, False])
def test_half_of_an_emoji_ends_the_order(new_market: Maker, declines: bool) -> None:
    seller, buyer = new_market("Seller"), new_market("Buyer")

    @seller.sells(title="Cut a text", price="0.01", work_first=True, attempts=1)
    def cut(text: str) -> dict[str, str]:
        if declines:
            raise Decline("Not \ud83d")
        return {"text": "\ud83d"}

    with (
        Selling(seller) as selling,
        pytest.raises(NotDelivered, match=r"Not \?" if declines else "failed at this order"),
    ):
        buyer.buy(selling.listing("cut"), {"text": "a"}, "0.01")
