"""The cases of agents with many jobs: their lists, their inbox, and whole paid trades."""

from collections.abc import Iterator
from functools import partial
from statistics import median

from benchmarks import shots
from benchmarks.goals import GOALS
from benchmarks.processes import Child
from benchmarks.ratios import Make, warmed
from benchmarks.rounds import Row, noted, repeat
from benchmarks.stage import Stage
from benchmarks.trade import Trades, chain_settings

TRADES = 40  # in each round
LISTS: dict[str, Make] = {
    "J20": partial(shots.job_lists, limit=20),
    "J100": partial(shots.job_lists, limit=100),
    "J0": shots.inboxes,
}


def lists(stage: Stage) -> list[Row]:
    """Measure J20, J100 and the inbox of agents with a hundred jobs."""
    child = stage.market(template=stage.history)
    rows = [repeat(GOALS[goal], warmed(stage, child, make), stage.rounds) for goal, make in LISTS.items()]
    child.stop()
    return rows


def trade(stage: Stage) -> Row:
    """Measure T: trades with transfers on a chain. Only the market's CPU counts."""
    child = stage.market(env=chain_settings(stage.chain))
    rounds = list(_traded(stage, child))
    child.stop()
    totals = iter([sum(steps.values()) for steps in rounds])
    row = repeat(GOALS["T"], lambda: next(totals), len(rounds))
    steps = [f"{name} {median(one[name] for one in rounds):,.0f}" for name in rounds[0]]
    return noted(row, ", ".join(steps))


def _traded(stage: Stage, child: Child) -> Iterator[dict[str, float]]:
    """Yield the microseconds of each step of a trade, for each round.

    A round before them warms the caches.
    """
    orders = shots.orders(stage.data)
    for number in range(stage.rounds + 1):
        trades = Trades(child, stage.data, stage.chain)
        trades.run(orders[number * TRADES : (number + 1) * TRADES])
        if number:
            yield {name: seconds / TRADES * 1e6 for name, seconds in trades.spent.items()}
