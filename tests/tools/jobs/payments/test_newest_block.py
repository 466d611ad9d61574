"""The chain's time at the order is stored with the job, so no earlier transfer pays it; the doctor checks the clock."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from server.adapters.chain import JsonRpcChain
from server.doctor import clock_drift, drifted
from storage.tables import JobRow
from storage.vocabulary import Env
from tests.requirements import covers
from tests.support.bounties import award, bounty, propose
from tests.support.trade import Trade
from tools.chain.transfer_verification import ChainDown

BEGAN = datetime(2026, 11, 23, 12, tzinfo=UTC)


async def row_of(trade: Trade, job: Any) -> JobRow:
    row = await trade.market.store.read(lambda tx: tx.get(JobRow, job["id"]))
    assert row is not None
    return row


@covers("second.old_transfer.kept")
async def test_an_order_reads_the_chain_again_if_what_is_known_is_older_than_two_seconds(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    early = trade.evm.transfer(buyer.wallet, seller.wallet, listing["pricing"]["price"])
    job = await trade.order(buyer, listing)
    row = await row_of(trade, job)
    assert row.head_at_order == trade.evm.head()
    assert row.block_time_at_order == min(datetime.fromtimestamp(trade.evm.now(), UTC), trade.market.clock.now())
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await trade.deliver(seller, job)
    error = await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=early)
    assert (error["code"], error["details"]["reason"]) == ("payment_invalid", "too_old")


async def test_within_two_seconds_no_node_is_asked_and_the_time_goes_on(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    listing = await trade.listing(seller)
    first = await row_of(trade, await trade.order(buyer, listing))
    trade.evm.transfer(buyer.wallet, seller.wallet, 1)
    trade.market.pass_seconds(2)
    second = await row_of(trade, await trade.order(buyer, listing))
    assert second.head_at_order == first.head_at_order
    assert first.block_time_at_order is not None
    assert second.block_time_at_order is not None
    assert 0 <= (second.block_time_at_order - first.block_time_at_order).total_seconds() <= 2
    trade.market.pass_seconds(1)
    third = await row_of(trade, await trade.order(buyer, listing))
    assert third.head_at_order == trade.evm.head()


async def test_an_award_keeps_them_too(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    wanted = await bounty(trade, buyer)
    awarded = await award(trade, buyer, wanted, await propose(trade, seller, wanted))
    row = await row_of(trade, awarded["job"])
    assert row.head_at_order == trade.evm.head()
    assert row.block_time_at_order is not None


@pytest.mark.parametrize("known", ["down", "hangs"])
async def test_an_order_needs_no_chain(trade: Trade, known: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    trade.market.market.world.chains[Env.TEST] = Silent(known)  # type: ignore[index]
    row = await row_of(trade, await trade.order(buyer, listing))
    assert (row.head_at_order, row.block_time_at_order) == (None, None)


async def test_a_free_order_asks_no_node(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    row = await row_of(trade, await trade.order(buyer, await trade.listing(seller, price=0)))
    assert (row.head_at_order, row.block_time_at_order) == (None, None)


class Silent:
    """A node that fails or never answers."""

    chain_id, last_head, last_block_time = 84532, None, None

    def __init__(self, known: str) -> None:
        self.known = known

    async def head(self) -> int:
        if self.known == "hangs":
            await asyncio.Event().wait()
        raise ChainDown("gone")

    async def block(self, number: int) -> object:
        raise ChainDown("gone")


async def test_the_time_of_an_older_block_does_not_replace_a_newer_one(trade: Trade) -> None:
    reader = JsonRpcChain(trade.evm.url, trade.evm.chain_id)
    trade.evm.mine(2)
    head = trade.evm.head()
    await reader.block(head)
    assert reader.last_block_time is None, "nothing says that it is the newest"
    await reader.block(await reader.head())
    known = reader.last_block_time
    assert known is not None
    assert known[0] == trade.evm.now()
    await reader.block(head - 1)
    assert reader.last_block_time == known
    await reader.block(head + 1000)
    assert reader.last_block_time == known, "no block, no time"
    await reader.close()


async def test_a_slow_answer_does_not_make_the_time_of_the_chain_later(trade: Trade) -> None:
    seconds = iter([100.0, 100.0, 107.0])  # of three heads
    reader = JsonRpcChain(trade.evm.url, trade.evm.chain_id, monotonic=lambda: next(seconds))
    head = await reader.head()
    await reader.block(head)
    assert reader.last_block_time == (trade.evm.now(), 100.0)
    await reader.head()
    assert reader.last_head == (head, 100.0)
    await reader.block(head)
    assert reader.last_block_time == (trade.evm.now(), 100.0)
    await reader.head()
    assert reader.last_head == (head, 107.0)
    await reader.block(head)
    assert reader.last_block_time == (trade.evm.now(), 107.0), "it is still the newest"
    await reader.close()


@dataclass
class Stepped:
    """A clock that advances 0.25 s at each read, and a chain with its own block times."""

    block_times: list[float]  # of the newest block at each read
    seconds: float = 0.0
    numbers: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime.fromtimestamp(BEGAN.timestamp() + self.seconds, UTC)

    def monotonic(self) -> float:
        self.seconds += 0.25
        return self.seconds

    async def head(self) -> int:
        now = self.block_times.pop(0) if len(self.block_times) > 1 else self.block_times[0]
        self.numbers += [] if now in self.numbers else [now]
        return len(self.numbers)

    async def block(self, number: int) -> object:
        return {"timestamp": hex(int(BEGAN.timestamp() + self.numbers[number - 1]))}


@covers("second.old_transfer.clock")
@pytest.mark.parametrize(
    ("block_times", "well", "words"),
    [
        ([0], True, "seconds apart"),
        ([3600], False, "behind"),
        ([-60, -60, -58], False, "ahead of"),
        ([-60, -60, 0], True, "seconds apart"),
        ([-60], True, "no new blocks"),
    ],
)
async def test_the_doctor_compares_the_hosts_clock_with_a_new_block(
    monkeypatch: pytest.MonkeyPatch, block_times: list[float], well: bool, words: str
) -> None:
    monkeypatch.setattr("server.doctor.DRIFT_STEP_SECONDS", 0)
    both: Any = Stepped(block_times)
    found = drifted(Env.LIVE, await clock_drift(both, both))
    assert (found[0], words in found[1]) == (well, True), found
