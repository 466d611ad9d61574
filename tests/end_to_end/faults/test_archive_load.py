"""`emporion archive` twice at once, one killed at a random step, while the market is used in every way."""

import asyncio
import random  # noqa: TID251 - seeded: the same steps every time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.end_to_end.faults.forge import KILLED
from tests.end_to_end.faults.test_archive_kills import BACK, BEFORE, OUT, emporion
from tests.support.archives import back_dated, dump
from tests.support.trade import PRICE, Trade

pytestmark = [pytest.mark.both_databases, pytest.mark.repeated(30, 4)]

JOBS, PART_JOBS = 8, 2
DOCTOR = ("doctor", "--recompute", "--with-archive")
INPUT = {"text": "guten Tag"}
PURSE = 100_000 * PRICE


class Load:
    """Two traders with old jobs, which they use while they trade on."""

    def __init__(self, trade: Trade, dice: random.Random) -> None:
        self.trade, self.call, self.answer = trade, trade.market.call, trade.market.answer
        self.dice, self.stopped = dice, False
        self.old: list[Any] = []
        self.hashes: list[str] = []  # of every transaction that paid a job
        self.said: Counter[str] = Counter()  # the messages that were accepted
        self.answers: Counter[str] = Counter()

    async def begin(self) -> None:
        self.seller, self.buyer = await self.trade.parties(PURSE)
        await self.trade.known(self.buyer)
        self.listing = await self.trade.listing(self.seller)
        for n in range(JOBS):
            self.old.append(await self.trade_once(reference=f"old-{n}"))
            await self.say(self.old[-1])

    async def trade_once(self, **given: Any) -> Any:
        job = await self.trade.order(self.buyer, self.listing, **given)
        await self.call("accept_job", by=self.seller, job_id=job["id"])
        await self.trade.deliver(self.seller, job)
        if self.hashes:
            await self.pay_again(job)
        sent = await self.trade.send(self.buyer, job)
        await self.call("pay_job", by=self.buyer, job_id=job["id"], transaction=sent)
        self.hashes.append(sent)
        return await self.call("accept_job", by=self.buyer, job_id=job["id"])

    async def pay_again(self, job: Any) -> None:
        """Try to pay a job with the transaction of another one, which may be archived now."""
        spent = {"job_id": job["id"], "transaction": self.dice.choice(self.hashes)}
        assert await self.refused("pay_job", spent, "buyer") == "transaction_already_used"

    async def order_again(self, job: Any) -> None:
        """Repeat the order of an old job, which must never become another job."""
        order = {"listing_id": self.listing["id"], "input": INPUT, "reference": job["reference"]}
        answer = await self.answer("create_job", order, key=self.buyer.keys["test"])
        told = orjson.loads(answer.body)
        assert (told["error"]["code"] == "archived") if answer.refused else (told["id"] == job["id"])

    async def read(self, job: Any) -> None:
        seen = await self.trade.seen(self.buyer, job)
        texts = (INPUT, job["output"]) if seen["archived_at"] is None else (None, None)
        assert (seen["input"], seen["output"]) == texts
        self.answers["hot" if texts[0] else "archived"] += 1

    async def say(self, job: Any) -> None:
        body, side = f"Message {self.said.total()}", self.dice.choice(("buyer", "seller"))
        code = await self.refused("post_message", {"thread_id": job["thread_id"], "body": body}, side)
        assert code in (None, "archived", "awaiting_reply")
        self.said[body] += code is None

    async def refused(self, operation: str, given: dict[str, Any], side: str) -> str | None:
        """Call as a side; return the code of the refusal, or None."""
        answer = await self.answer(operation, given, key=getattr(self, side).keys["test"])
        code: str | None = answer.error["code"] if answer.error else None
        return code

    async def go_on(self) -> None:
        while not self.stopped:
            job = self.dice.choice(self.old)
            for use in (self.read, self.order_again, self.say):
                await use(job)
            await self.trade_once()
            await asyncio.sleep(0)


async def test_nothing_is_lost_and_no_transaction_pays_twice(
    trade: Trade, database_url: str, tmp_path: Path, repetitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PART_JOBS", str(PART_JOBS))
    dice, data, folder = random.Random(repetitions), tmp_path / "data", tmp_path / "archive"
    folder.mkdir()
    load = Load(trade, dice)
    await load.begin()
    await back_dated(trade.market)
    before = await dump(trade.market.store)
    out, back = [*BEFORE, str(folder)], ["archive", "--restore", str(folder)]
    emporion(database_url, data, *back)  # the process that starts commands takes long to start under load
    working = [asyncio.create_task(load.go_on()) for _ in range(2)]
    ends: Counter[int] = Counter()
    for n in range(repetitions):
        words, points = (back, BACK) if n % 3 == 2 else (out, OUT)
        when, step, _ = dice.choice(points)
        point = when, step, dice.randint(1, JOBS // PART_JOBS)
        other = asyncio.to_thread(emporion, database_url, data, *dice.choice((out, back)))
        killed = asyncio.to_thread(emporion, database_url, data, *words, at=point)
        for done in await asyncio.gather(killed, other):
            ends[done.returncode] += 1
            assert done.returncode in (0, KILLED), done.stderr
    load.stopped = True
    await asyncio.gather(*working)
    assert ends[KILLED]

    for words in (out, back, out):
        done = await asyncio.to_thread(emporion, database_url, data, *words)
        assert done.returncode == 0, done.stderr
    whole = await asyncio.to_thread(emporion, database_url, data, *DOCTOR, str(folder))
    assert "files, of which 0 are wrong" in whole.stdout
    wrong = [line for line in whole.stdout.splitlines() if line.startswith("WRONG recomputed")]
    assert [line for line in wrong if "daily_counts" not in line] == []  # back_dated moved jobs to another day
    assert (await asyncio.to_thread(emporion, database_url, data, *back)).returncode == 0
    await as_before(load, before)


async def as_before(load: Load, before: Any) -> None:
    """Check that the old jobs have all their rows, and the messages that were posted meanwhile."""
    after = await dump(load.trade.market.store)
    for name in ("job_texts", "job_events", "messages"):
        assert set(before[name]) <= set(after[name])
    assert after["archived_jobs"] == after["archives"] == []
    posted = [row for row in after["messages"] if "body='Message " in row]
    assert len(posted) == load.said.total()
    paid = [row for row in after["settlements"] if any(one in row for one in load.hashes)]
    assert len(paid) == len(load.hashes) == len(set(load.hashes))
