"""Three agents that trade only with each other, and their expected reputation, computed by hand."""

from typing import Any

from tests.end_to_end.world.cast import COUNTED, World
from tests.end_to_end.world.deals import Deal, Ledger
from tests.end_to_end.world.script import Story, together
from tests.support.trade import PRICE
from tools.kernel.money import display

HANA, IVO, JUN = COUNTED
WORDS = "_display"
QUARTER = {"volume_usdc": 250_000, "third_party_volume_usdc": 250_000}
ONE_WALLET = {"distinct_counterparties": 1, "third_party_counterparties": 1}
TWO_WALLETS = {"distinct_counterparties": 2, "third_party_counterparties": 2}
EXPECTED: dict[str, Any] = {  # a vote that paid 0.25 USDC weighs 1 + log10(26) = 2.415
    HANA: {
        "score": 50,  # 40·2.99/4 + 30·log10(1.25)/6 + 20·2/3 + 10·2/3 = 29.9 + 0.5 + 13.3 + 6.7
        "as_seller": ONE_WALLET | QUARTER | {
            "jobs_completed": 2, "jobs_failed": 1, "jobs_cancelled": 1, "refunds_made": 1, "free_counterparties": 1,
            "rating_count": 2,
            "rating_avg": 3.79,  # (9 + 17.5) / 7
            "rating_weighted": 3.99,  # (5·2.415 + 4·1 + 17.5) / (3.415 + 5)
            "on_time_rate": 0.6667,  # cancelled work was not on time
        },
        "as_buyer": {},
    },
    IVO: {
        "score": 54,  # 29.9 + 30·log10(1.5)/6 + 20·2/3 + 10 = 29.9 + 0.9 + 13.3 + 10
        "as_seller": {},
        "as_buyer": TWO_WALLETS | {
            "jobs_completed": 2, "jobs_failed": 1, "jobs_unpaid": 1,
            "volume_usdc": 500_000, "third_party_volume_usdc": 500_000, "rating_count": 2,
            "rating_avg": 3.79,
            "rating_weighted": 3.99,  # (4·2.415 + 5·2.415 + 17.5) / (4.83 + 5)
        },
    },
    JUN: {
        "score": 54,  # 40·2.34/4 + 0.5 + 20·2/2 + 10 = 23.4 + 0.5 + 20 + 10
        "as_seller": ONE_WALLET | QUARTER | {
            "jobs_completed": 1, "deliveries_unpaid": 1, "rating_count": 1,
            "rating_avg": 3.42,  # (3 + 17.5) / 6
            "rating_weighted": 3.34,  # (3·2.415 + 17.5) / 7.415
            "on_time_rate": 1.0,
        },
        "as_buyer": {"jobs_completed": 1, "free_counterparties": 1},
    },
}  # fmt: skip


async def rated(deal: Deal, by_buyer: int, by_seller: int | None, kind: str = "fixed") -> Story:
    await deal.order(kind)
    await deal.sells("accept_job")
    await deal.deliver()
    if deal.job["price"]:
        await deal.pay()
    yield 5
    await deal.buys("accept_job")
    await deal.buys("review_job", rating=by_buyer)
    if by_seller:
        await deal.sells("review_job", rating=by_seller)
    await deal.ends("completed")


async def given_up(deal: Deal) -> Story:
    await deal.order("upfront")
    await deal.sells("accept_job")
    await deal.pay()
    await deal.sells("cancel_job")
    yield 5
    await deal.back(PRICE)
    await deal.ends("cancelled")


async def unpaid(deal: Deal) -> Story:
    await deal.order()
    await deal.sells("accept_job")
    await deal.deliver()
    yield 901
    await deal.ends("expired")


async def trade_to_be_counted(ledger: Ledger) -> None:
    """Let Hana sell to Ivo twice and to Jun for free, and Jun to Ivo twice.

    Ivo does not pay the second one.
    """
    stories = [
        rated(ledger.deal("counted", HANA, IVO), 5, 4),
        given_up(ledger.deal("counted", HANA, IVO)),
        rated(ledger.deal("counted", HANA, JUN), 4, None, "free"),
        rated(ledger.deal("counted", JUN, IVO), 3, 5),
        unpaid(ledger.deal("counted", JUN, IVO)),
    ]
    await together(ledger.world, [(number * 10, story) for number, story in enumerate(stories)])
    await ledger.world.work()


async def figures(world: World, name: str) -> Any:
    """Return an agent's score on test, and the nonzero figures of both sides."""
    said = (await world.call("get_reputation", None, agent_id=world.cast[name].id, env="test"))["test"]
    return {"score": said["score"], **{side: _told(said[side]) for side in ("as_seller", "as_buyer")}}


def _told(side: dict[str, Any]) -> dict[str, Any]:
    """Return the nonzero figures. Displayed amounts are compared with their numbers."""
    words = {figure: value for figure, value in side.items() if figure.endswith(WORDS)}
    assert words == {figure: display(side[figure.removesuffix(WORDS)]) for figure in words}
    return {figure: value for figure, value in side.items() if value and figure not in {"categories", *words}}
