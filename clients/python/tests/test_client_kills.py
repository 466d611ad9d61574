"""Kill -9 at each step of a purchase and of a sale: after another start, one job, one delivery and one payment.

Each test runs on SQLite with one server, and on PostgreSQL with two that are called in turn.
"""

import random
import signal
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from client_forks import Forks
from client_market import Clerk, eventually, jobs_of, money_of
from client_pair import Pair
from client_programs import KEY

from emporion_client import Market, NotDelivered

Maker = Callable[..., Market]
EVERY_STEP = pytest.param(1, marks=pytest.mark.verify, id="every step")


@pytest.fixture(scope="module", params=[1, 2], ids=["one server", "two servers"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair | None]:
    """The two servers on PostgreSQL; None if the test runs on SQLite with one."""
    if request.param == 1:
        yield None
        return
    with Pair(tmp_path_factory.mktemp("pair")) as pair:
        yield pair
        assert all(pair.turns.counts.values()), "both servers have answered"


@pytest.fixture(scope="module")
def market_url(pair: Pair | None, request: pytest.FixtureRequest) -> str:
    """The address of the market, in place of the one that all other tests share."""
    url: str = request.getfixturevalue("market_url") if pair is None else pair.url
    return url


@pytest.fixture
def clerk(market_url: str, tmp_path: Path) -> Iterator[Clerk]:
    """A seller for each test, because the market allows an agent 120 writes a minute."""
    with Clerk(market_url, tmp_path / "clerk") as clerk:
        yield clerk


def points(stride: int) -> Iterator[int]:
    """Yield the steps to kill at; another part of them at each stride."""
    return count(1 + stride // 2, stride)


@pytest.mark.parametrize("stride", [pytest.param(6, id="some steps"), EVERY_STEP])
@pytest.mark.parametrize("gasless", [True, False], ids=["without gas", "with gas"])
def test_a_buyer_killed_at_a_step_orders_once_and_pays_once(
    forks: Forks, market_url: str, clerk: Clerk, tmp_path: Path, new_market: Maker, gasless: bool, stride: int
) -> None:
    killed = 0
    for point in points(stride):
        home = tmp_path / f"at-{point}"
        given = {"url": market_url, "home": str(home), "listing": clerk.listing("count"), "gasless": gasless}
        if forks.run("buyer", crash=point, **given) == 0:
            break  # there are no more steps
        killed += 1
        assert forks.run("buyer", **given) == 0, f"step {point}"
        market = new_market(home=home)
        jobs = jobs_of(market, "buyer")
        paid = [(job["status"], job["payment"]["status"]) for job in jobs]
        assert paid == [("delivered", "paid")], f"step {point}"
        assert money_of(market) == 5_000_000 - 10_000, f"step {point}"
        assert sum(job_id == jobs[0]["id"] for job_id, _ in clerk.calls) == 1
    assert killed > 40 // stride


@pytest.mark.parametrize("stride", [pytest.param(12, id="some steps"), EVERY_STEP])
def test_a_seller_killed_at_a_step_lists_once_and_delivers_once(
    forks: Forks, market_url: str, tmp_path: Path, buyer: Market, stride: int
) -> None:
    killed = 0
    for point in points(stride):
        home, title, log = tmp_path / f"at-{point}", f"Upper case {tmp_path.name} {point:03}", tmp_path / f"{point}.log"
        given = {"url": market_url, "home": str(home), "title": title, "log": str(log)}
        bought: list[Any] = []
        thread = threading.Thread(target=lambda title=title, bought=bought: bought.append(purchase(buyer, title)))
        thread.start()
        pid = forks.start("seller", crash=point, **given)
        was_killed = ends_itself(forks, pid, bought)
        if was_killed:
            pid = forks.start("seller", **given)
        thread.join(60)
        forks.kill(pid, signal.SIGTERM)
        listed = [one["title"] for one in buyer.search_listings(q=title, env="test", limit=100)["data"]]
        assert listed.count(title) == 1, f"step {point}"
        assert len(bought[0].job["deliveries"]) == 1, f"step {point}"
        assert bought[0].output["text"] == "ABC"
        if not was_killed:
            break  # the order ended before this step
        killed += 1
    assert killed > 30 // stride


def ends_itself(forks: Forks, pid: int, bought: list[Any]) -> bool:
    """Wait until the seller is killed or the purchase is made; tell whether it was killed."""
    eventually(lambda: bought or not alive(pid), 60)
    if alive(pid):
        return False
    assert forks.wait(pid) == -signal.SIGKILL
    return True


def alive(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


def purchase(buyer: Market, title: str, text: str = "abc") -> Any:
    """Buy from the listing with this title once it is there."""

    def found() -> str:
        page = buyer.search_listings(q=title, env="test")["data"]
        return next((one["id"] for one in page if one["title"] == title), "")

    return buyer.buy(eventually(found, 60), {"text": text}, "0.01", timeout=60)


def spread(kills: int, orders: int, done: Callable[[], int], chance: random.Random) -> Iterator[int]:
    """Yield the number of each kill at a random moment before all orders are done."""
    for number in range(kills):
        eventually(lambda number=number: done() >= number * orders // (kills + 2), 60)
        threading.Event().wait(chance.uniform(0, 0.1))
        assert done() < orders
        yield number


@pytest.mark.parametrize(("kills", "orders"), [(4, 8), pytest.param(20, 50, marks=pytest.mark.verify)])
def test_a_seller_killed_at_random_delivers_each_order_once(
    forks: Forks, pair: Pair | None, market_url: str, tmp_path: Path, buyer: Market, kills: int, orders: int
) -> None:
    title, log, chance = f"Upper case at random {tmp_path.name}", tmp_path / "runs.log", random.Random(orders)
    given = {"url": market_url, "home": str(tmp_path / "seller"), "title": title, "log": str(log)}
    pid = forks.start("seller", **given)
    purchase(buyer, title)
    listing = buyer.search_listings(q=title, env="test")["data"][0]["id"]
    bought: list[Any] = []

    def purchases(numbers: range) -> None:
        for number in numbers:
            made = buyer.buy(listing, {"text": f"text {number}"}, "0.01", key=f"order-{number}")
            bought.append(made)

    threads = [threading.Thread(target=purchases, args=(range(part, orders, 3),)) for part in range(3)]
    for one in threads:
        one.start()
    for number in spread(kills, orders, lambda: len(bought), chance):
        assert forks.kill(pid) == -signal.SIGKILL
        pid = forks.start("seller", **given)
        if pair and number == kills // 2:
            pair.kill_one()
    for one in threads:
        one.join(120)
    forks.kill(pid, signal.SIGTERM)
    assert sorted(one.output["text"] for one in bought) == sorted(f"TEXT {number}" for number in range(orders))
    assert {len(one.job["deliveries"]) for one in bought} == {1}
    assert money_of(buyer) == 5_000_000 - 10_000 * (orders + 1)


@pytest.mark.parametrize("gasless", [True, False], ids=["without gas", "with gas"])
def test_a_fork_does_not_repeat_the_purchases_of_its_parent(
    forks: Forks, market_url: str, clerk: Clerk, tmp_path: Path, new_market: Maker, gasless: bool
) -> None:
    given = {"url": market_url, "home": str(tmp_path), "listing": clerk.listing("count"), "gasless": gasless}
    assert forks.run("forking", **given) == 0
    market = new_market(home=tmp_path)
    for number in range(3):
        market.buy(clerk.listing("count"), {"text": f"one two {number}"}, "0.01", key=f"row {number}")
    assert (len(jobs_of(market, "buyer")), money_of(market)) == (4, 5_000_000 - 40_000)


def test_an_input_that_kills_the_seller_is_given_up(
    forks: Forks, market_url: str, tmp_path: Path, buyer: Market
) -> None:
    title, log = f"Upper case or die {tmp_path.name}", tmp_path / "runs.log"
    given = {"url": market_url, "home": str(tmp_path / "seller"), "title": title, "log": str(log), "attempts": 2}
    pid = forks.start("seller", **given)
    ended: list[str] = []

    def poison() -> None:
        with pytest.raises(NotDelivered, match="failed at this order") as reason:
            purchase(buyer, title, "poison")
        ended.append(reason.value.job["status"])

    thread = threading.Thread(target=poison)
    thread.start()
    for _ in range(2):
        assert forks.wait(pid) == 1
        pid = forks.start("seller", **given)
    thread.join(60)
    assert (ended, log.read_text().split()) == (["cancelled"], ["poison", "poison"])
    assert purchase(buyer, title).output["text"] == "ABC"
    forks.kill(pid, signal.SIGTERM)


@pytest.mark.parametrize(("kills", "orders"), [(5, 6), pytest.param(20, 30, marks=pytest.mark.verify)])
def test_a_buyer_killed_at_random_pays_for_each_purchase_once(
    forks: Forks,
    pair: Pair | None,
    market_url: str,
    clerk: Clerk,
    tmp_path: Path,
    new_market: Maker,
    kills: int,
    orders: int,
) -> None:
    chance, home = random.Random(orders), tmp_path / "hasty"
    given = {"url": market_url, "home": str(home), "listing": clerk.listing("count"), "gasless": True, "count": orders}
    pid = forks.start("buyer", **given)
    for number in spread(kills, orders, lambda: len({job_id for job_id, _ in clerk.calls}), chance):
        assert forks.kill(pid) == -signal.SIGKILL
        pid = forks.start("buyer", **given)
        if pair and number == kills // 2:
            pair.kill_one()
    assert forks.wait(pid) == 0
    assert forks.run("buyer", **given) == 0
    market = new_market(home=home)
    jobs = jobs_of(market, "buyer")
    assert {job["input"]["text"] for job in jobs} == {f"one two {number}" for number in range(orders)}
    assert (len(jobs), money_of(market)) == (orders, 5_000_000 - 10_000 * orders)


def test_payments_of_a_killed_program_are_finished_without_its_orders(
    forks: Forks, market_url: str, clerk: Clerk, tmp_path: Path, new_market: Maker
) -> None:
    finished = 0
    for point in count(30, 2):
        home = tmp_path / f"at-{point}"
        given = {"url": market_url, "home": str(home), "listing": clerk.listing("count"), "gasless": True}
        if forks.run("buyer", crash=point, **given) == 0:
            break
        market = new_market(home=home)
        signed = market.account.home.journal.rows("select job_id from purchases where stage in ('signed','sent')")
        assert market.finish_payments() == [row[0] for row in signed]
        assert market.finish_payments() == []
        if signed:
            finished += 1
            assert market.get_job(job_id=signed[0][0])["payment"]["status"] == "paid"
            assert market.buy(clerk.listing("count"), {"text": "one two 0"}, "0.01", key=f"{KEY} 0").output == {
                "words": 3
            }
            assert money_of(market) == 4_990_000
    assert finished > 2
