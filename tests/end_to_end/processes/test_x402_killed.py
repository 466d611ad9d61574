"""SIGKILL of the market with purchases at every stage: after a restart each continues, and no buyer pays twice."""

import asyncio
from pathlib import Path
from typing import Self

import httpx

from tests.end_to_end.processes.pair import Pair, Wired
from tests.end_to_end.processes.till import WORK, Between, Bought, Till, opened
from tests.support.faulty_node import FaultyNode, Silence
from tests.support.market import OPERATOR_SECRET
from tests.support.trade import PRICE

ASKED, LEFT = "asked again", "left alone"


class Market:
    """One process, restarted after each kill."""

    def __init__(self, pair: Pair, database_url: str, folder: Path, node: FaultyNode, between: Between) -> None:
        self.forge = pair.forges[0]
        self.given = {
            "url": database_url,
            "rpc_url": node.url,
            "data_dir": str(folder),
            "test_facilitator_url": between.url,
            "operator_secret": OPERATOR_SECRET,
        }

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    async def start(self) -> None:
        await asyncio.to_thread(self.forge.start, "whole", **self.given)

    async def kill(self) -> None:
        await asyncio.to_thread(self.forge.kill)


async def stands_at_every_stage(till: Till, node: FaultyNode) -> dict[str, Bought]:
    """Return purchases that wait at each stage."""
    asking = []
    one = {name: await till.signed("held") for name in (f"settled, {ASKED}", f"settled, {LEFT}")}
    one |= {name: await till.signed() for name in (f"sent, {ASKED}", f"sent, {LEFT}", "ordered", "delivered")}
    for name in one:
        asking.append(asyncio.create_task(till.keep_asking(one[name])))
        asking[-1].add_done_callback(lambda done: done.exception())
        await till.job_of(one[name], "open")
        if name.startswith("sent"):
            node.fault("eth_getTransactionReceipt", lambda _: Silence.HOLD)
        if name == "delivered":
            node.fault("eth_blockNumber", lambda _: Silence.HOLD)
        if name != "ordered":
            await till.work(one[name])
            await till.row_of(one[name], {"settled": "settling", "sent": "sent"}.get(name.split(",")[0], "working"))
    return one


async def test_killed_at_every_stage_a_purchase_goes_on_and_is_paid_once(
    forged: Pair, database_url: str, tmp_path: Path
) -> None:
    facilitator = forged.chain.sandbox.facilitator_url
    async with (
        FaultyNode(forged.chain.url) as node,
        Between(facilitator) as between,
        Market(forged, database_url, tmp_path, node, between) as served,
        Wired([f"http://127.0.0.1:{served.forge.port}"]) as market,
        opened(market, forged.chain, between, database_url) as till,
    ):
        bought = await stands_at_every_stage(till, node)
        assert till.held(till.seller.wallet) == 4 * PRICE, "the facilitator has settled these"
        await served.kill()
        node.heal()
        await served.start()
        await till.work(bought["ordered"])
        asked = [one for name, one in bought.items() if LEFT not in name]
        answers = await asyncio.gather(*map(till.buy, asked))
        for one in bought.values():
            await till.job_of(one, "completed")
        again = await asyncio.gather(*map(till.buy, bought.values()))
        till.check_paid_once(*bought.values())
        assert till.held(till.seller.wallet) == 6 * PRICE
    check_told(answers, again)


def check_told(answers: list[httpx.Response], again: list[httpx.Response]) -> None:
    """Check that each has its result, from its own transfer."""
    assert [one.status_code for one in (*answers, *again)] == [200] * len((*answers, *again)), answers
    assert [one.json()["output"] for one in (*answers, *again)] == [WORK] * len((*answers, *again))
    assert len({one.json()["paid"]["transaction"] for one in again}) == len(again)
