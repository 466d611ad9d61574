"""The lives of jobs: one story for each. A story yields the seconds that it waits; other stories run meanwhile."""

from collections.abc import AsyncIterator, Callable
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from tests.end_to_end.world.cast import Json, World
from tests.end_to_end.world.deals import Deal
from tests.support.trade import PRICE

Story: TypeAlias = AsyncIterator[float]
Tale: TypeAlias = Callable[[Deal], Story]
HOUR = 3_600
TURNAROUND, WINDOW = HOUR, {"test": 900, "live": 259_200}  # of delivery, and of payment and review
ACCEPT = {"test": 600, "live": 3_600}
NEED = {"title": "A poem in English", "description": "Four lines on the sea.", "budget_max": 10**6, "category": "text"}


async def together(world: World, stories: list[tuple[float, Story]]) -> None:
    """Run all stories at once, each from its own start, in the order of their waits."""
    began = world.market.clock.monotonic()
    waiting = [(began + after, number) for number, (after, _) in enumerate(stories)]
    heapify(waiting)
    turns = 0
    while waiting:
        at, number = heappop(waiting)
        ahead = at - world.market.clock.monotonic()
        if ahead > 0:
            world.market.pass_seconds(ahead)
            turns += 1
            if turns % 8 == 0 or ahead >= HOUR:  # deadlines must apply with and without a sweep
                await world.work()
        async for seconds in stories[number][1]:
            heappush(waiting, (world.market.clock.monotonic() + seconds, number))
            break


# --- jobs that are completed
# --------------------------------------------------------------------------------------------


async def sealed_then_paid(deal: Deal, kind: str = "fixed", **given: int) -> Story:
    await deal.order(kind, **given)
    yield 20
    await deal.sells("accept_job")
    yield 60
    await deal.deliver()
    yield 30
    await deal.pay()
    yield 10
    await deal.buys("accept_job")
    await deal.buys("review_job", rating=5, comment="As promised.")
    await deal.sells("review_job", rating=4)
    await deal.ends("completed")


def fixed(deal: Deal) -> Story:
    return sealed_then_paid(deal)


def per_unit(deal: Deal) -> Story:
    return sealed_then_paid(deal, "per unit", units=3)


async def upfront(deal: Deal) -> Story:
    await deal.order("upfront")
    await deal.sells("accept_job")
    yield 20
    await deal.pay()
    yield 60
    await deal.deliver()
    await deal.buys("accept_job")
    await deal.buys("review_job", rating=3)
    await deal.ends("completed")


async def free(deal: Deal) -> Story:
    await deal.order("free")
    yield 5
    await deal.sells("accept_job")
    await deal.deliver()
    yield 5
    await deal.buys("accept_job")
    await deal.ends("completed")


async def quoted(deal: Deal) -> Story:
    await deal.order("quote")
    await deal.sells("quote_job", price=400_000, message="By hand.")
    yield 30
    await deal.sells("quote_job", price=300_000)
    await deal.buys("accept_quote")
    await deal.deliver()
    yield 20
    await deal.pay()
    await deal.buys("accept_job")
    await deal.ends("completed")


async def quoted_upfront(deal: Deal) -> Story:
    await deal.order("quote upfront")
    await deal.sells("quote_job", price=300_000)
    await deal.buys("accept_quote")
    yield 20
    await deal.pay()
    await deal.deliver()
    await deal.buys("accept_job")
    await deal.ends("completed")


async def ruled(deal: Deal) -> Story:
    """Violate an acceptance rule with the first delivery."""
    await deal.order("ruled")
    await deal.sells("accept_job")
    await deal.refused("acceptance_failed", "deliver_job", deal.seller, output={"english": "hi"})
    yield 10
    await deal.deliver()
    await deal.pay()
    await deal.buys("accept_job")
    await deal.ends("completed")


async def revised(deal: Deal) -> Story:
    await deal.order()
    await deal.sells("accept_job")
    await deal.deliver()
    await deal.pay()
    for number in range(2):
        await deal.buys("request_revision", message="Warmer, please.")
        yield 60
        await deal.deliver(revision=number)
    await deal.refused("invalid_transition", "request_revision", deal.buyer, message="Once more.")
    await deal.buys("accept_job")
    await deal.ends("completed")


async def silent_buyer(deal: Deal) -> Story:
    """Write no review, so that the job completes by timeout."""
    await deal.order()
    await deal.sells("accept_job")
    await deal.deliver()
    await deal.pay()
    yield WINDOW[deal.on] + 60
    await deal.ends("completed")


async def in_parts(deal: Deal) -> Story:
    await deal.order()
    await deal.sells("accept_job")
    await deal.deliver()
    await deal.stray(await deal.send(100_000), "payment_invalid")
    yield 60
    await deal.pay()
    await deal.buys("accept_job")
    await deal.ends("completed")
    assert deal.settled_minor == PRICE


async def overpaid(deal: Deal) -> Story:
    await deal.order()
    await deal.sells("accept_job")
    await deal.deliver()
    await deal.pay(2 * PRICE)
    yield 5
    await deal.buys("accept_job")
    await deal.ends("completed")


async def paid_twice(deal: Deal) -> Story:
    """Pay twice. The second transfer is sent back completely."""
    await deal.order()
    await deal.sells("accept_job")
    await deal.deliver()
    await deal.pay()
    await deal.stray(deal.transfer(40_000))
    yield 30
    await deal.buys("accept_job")
    await deal.ends("completed", 40_000)
    await deal.back(40_000)
    await deal.ends("completed")


async def late_within_grace(deal: Deal) -> Story:
    """Let the job expire unpaid, then pay within the hour of grace, which reveals the work."""
    await deal.order()
    await deal.sells("accept_job")
    await deal.deliver()
    yield WINDOW[deal.on] + 1_000
    await deal.ends("expired")
    await deal.pay()
    await deal.buys("accept_job")
    await deal.ends("completed")


async def late_before_work(deal: Deal) -> Story:
    await deal.order("upfront")
    await deal.sells("accept_job")
    yield WINDOW[deal.on] + 1_000
    await deal.pay()
    await deal.deliver()
    await deal.buys("accept_job")
    await deal.ends("completed")


# --- jobs that are not completed
# ----------------------------------------------------------------------------------------


async def declined(deal: Deal) -> Story:
    await deal.order()
    yield 20
    await deal.sells("decline_job", reason="Too long for me.")
    await deal.ends("declined")


async def declined_in_flight(deal: Deal) -> Story:
    """Decline during the transfer, which is then sent back."""
    await deal.order("upfront")
    await deal.sells("accept_job")
    sent = await deal.send()
    await deal.sells("decline_job")
    yield 10
    await deal.stray(sent, "job_not_payable")
    await deal.ends("declined", PRICE)
    await deal.back(PRICE)
    await deal.ends("declined")


async def withdrawn_open(deal: Deal) -> Story:
    await deal.order()
    yield 20
    await deal.buys("cancel_job", reason="No longer.")
    await deal.ends("cancelled")


async def withdrawn_quoted(deal: Deal) -> Story:
    await deal.order("quote")
    await deal.sells("quote_job", price=10**6)
    yield 20
    await deal.buys("cancel_job", reason="Too dear.")
    await deal.ends("cancelled")


async def given_up_unpaid(deal: Deal) -> Story:
    await deal.order()
    await deal.sells("accept_job")
    yield 20
    await deal.sells("cancel_job", reason="I cannot.")
    await deal.ends("cancelled")


async def given_up_paid(deal: Deal) -> Story:
    await deal.order("upfront")
    await deal.sells("accept_job")
    await deal.pay()
    await deal.sells("cancel_job", reason="I cannot.")
    yield HOUR
    await deal.back(PRICE)
    await deal.ends("cancelled")


async def given_up_paid_back_in_parts(deal: Deal) -> Story:
    await deal.order("upfront")
    await deal.sells("accept_job")
    await deal.pay()
    await deal.sells("cancel_job")
    for part in (100_000, 49_999):
        await deal.back(part, enough=False)
        yield 30
    await deal.back(PRICE - 149_999)
    await deal.ends("cancelled")


async def never_paid_back(deal: Deal) -> Story:
    await deal.order("upfront")
    await deal.sells("accept_job")
    await deal.pay()
    await deal.sells("cancel_job")
    yield 2 * HOUR
    await deal.ends("cancelled", PRICE)


async def walked_away(deal: Deal) -> Story:
    await deal.order()
    await deal.sells("accept_job")
    await deal.deliver()
    yield 60
    await deal.buys("cancel_job")
    await deal.ends("cancelled")


async def never_answered(deal: Deal) -> Story:
    await deal.order()
    yield ACCEPT["test"] + 1
    await deal.ends("expired")


async def never_quoted(deal: Deal) -> Story:
    await deal.order("quote")
    yield ACCEPT["test"] + 1
    await deal.ends("expired")


async def never_paid(deal: Deal) -> Story:
    await deal.order("upfront")
    await deal.sells("accept_job")
    yield WINDOW[deal.on] + 2 * HOUR
    await deal.ends("expired")


async def delivered_never_paid(deal: Deal) -> Story:
    await deal.order()
    await deal.sells("accept_job")
    await deal.deliver()
    yield WINDOW[deal.on] + 1
    await deal.ends("expired")


async def too_late(deal: Deal) -> Story:
    """Pay after the hour of grace. The payment is only refunded."""
    await deal.order()
    await deal.sells("accept_job")
    await deal.deliver()
    yield WINDOW[deal.on] + HOUR + 600
    await deal.stray(deal.transfer(PRICE), "job_not_payable")
    await deal.ends("expired", PRICE)
    await deal.back(PRICE)
    await deal.ends("expired")


async def half_paid(deal: Deal) -> Story:
    """Pay only a part of the price, which is sent back."""
    await deal.order()
    await deal.sells("accept_job")
    await deal.deliver()
    await deal.stray(await deal.send(70_000), "payment_invalid")
    yield WINDOW[deal.on] + 2 * HOUR
    await deal.ends("expired", 70_000)
    await deal.back(70_000)
    await deal.ends("expired")


async def never_delivered(deal: Deal) -> Story:
    await deal.order()
    await deal.sells("accept_job")
    yield TURNAROUND + HOUR + 60
    await deal.ends("cancelled")


async def left_after_deadline(deal: Deal) -> Story:
    await deal.order("upfront")
    await deal.sells("accept_job")
    await deal.pay()
    yield TURNAROUND + HOUR + 60
    await deal.buys("cancel_job")
    yield 60
    await deal.back(PRICE)
    await deal.ends("cancelled")


# -- jobs of bounties --------------------------------------------------------------------------------------------------


async def bounty_born(deal: Deal, payment: str = "on_delivery", **held: Json) -> Story:
    call, buyer, seller, on = deal.world.call, deal.buyer, deal.seller, deal.on
    posted = await call("create_bounty", buyer, on, **NEED, **held)
    asked = {"bounty_id": posted["id"], "price": PRICE, "payment": payment}
    yield 60
    proposal = await call("propose_on_bounty", seller, on, **asked, message="With pleasure.")
    made = await call("award_bounty", buyer, on, bounty_id=posted["id"], proposal_id=proposal["id"])
    deal.job = made["job"]
    if payment == "upfront":
        await deal.pay()
    yield 60
    await deal.deliver()
    if payment != "upfront":
        await deal.pay()
    await deal.buys("accept_job")
    await deal.ends("completed")


def bounty_upfront(deal: Deal) -> Story:
    return bounty_born(deal, "upfront")


JOBS: dict[str, Tale] = {
    tale.__name__: tale
    for tale in (
        fixed, upfront, free, per_unit, quoted, quoted_upfront, ruled, revised, silent_buyer, in_parts, overpaid,
        paid_twice, late_within_grace, late_before_work, declined, declined_in_flight, withdrawn_open,
        withdrawn_quoted, given_up_unpaid, given_up_paid, given_up_paid_back_in_parts, never_paid_back, walked_away,
        never_answered, never_quoted, never_paid, delivered_never_paid, too_late, half_paid, never_delivered,
        left_after_deadline, bounty_born, bounty_upfront,
    )
}  # fmt: skip
LIVE: tuple[Tale, ...] = (fixed, free, per_unit, quoted, silent_buyer, in_parts, paid_twice, declined, too_late)
