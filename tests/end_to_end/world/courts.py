"""Disputes of the script: evaluators, votes, missed deadlines, and the consequences of verdicts."""

from itertools import zip_longest

from storage.disputes import draws_of_dispute, seats_of_dispute
from storage.tables import DrawRow, SeatRow
from storage.vocabulary import SeatStatus
from tests.end_to_end.world.cast import JUDGES, World
from tests.end_to_end.world.deals import Deal
from tests.end_to_end.world.script import HOUR, Story, Tale
from tests.support.market import Agent

PRICE = 250_001
HALF = 125_001  # of a split, rounded up
VERDICT_WINDOW = 600


def marks(world: World, agent: Agent) -> list[str]:
    """Return all identifiers of an agent, in the forms that agents write."""
    known = world.known[agent.id]
    wallets = [form for one in known.wallets for form in (one, one.lower(), one[2:].upper(), "0x" + one[2:].upper())]
    handles = [form for one in known.handles for form in (one, f"@{one}", one.upper())]
    urls = [f"https://{one}/about" for one in known.domains]
    return sorted([agent.id, agent.id.lower(), *known.keys, *wallets, *handles, *known.domains, *urls])


async def opened(deal: Deal, kind: str = "odd") -> None:
    """Open a dispute of a paid job. Its parties reveal their identities in every text."""
    call, on = deal.world.call, deal.on
    said = marks(deal.world, deal.seller) + marks(deal.world, deal.buyer)
    seller, buyer = (max(deal.world.known[one.id].names) for one in (deal.seller, deal.buyer))
    given = {"text": "guten Tag", "note": said, deal.buyer.id: deal.buyer.handle}
    await deal.order(kind, title=f"For {buyer} of {deal.buyer.handle}", input=given)
    await deal.sells("accept_job")
    if deal.job["status"] == "awaiting_payment":
        await deal.pay()
    for by in (deal.buyer, deal.seller):
        body = f"I am {seller if by is deal.seller else buyer}. {' '.join(said)} ({deal.job['id']})"
        await call("post_message", by, on, thread_id=deal.job["thread_id"], body=body, data={"of": [seller, *said]})
    await deal.deliver(by=said)
    if deal.job["price"] and deal.settled_minor == 0:
        await deal.pay()
    await deal.buys("dispute_job", reason=f"{seller} did not do it for {buyer}. {' '.join(said)}"[:2000])
    deal.case = deal.job["dispute_id"]


async def seats(deal: Deal) -> list[SeatRow]:
    return await deal.world.store.read(lambda tx: tx.all(seats_of_dispute, dispute_id=deal.case))


async def draws(deal: Deal) -> list[DrawRow]:
    return await deal.world.store.read(lambda tx: tx.all(draws_of_dispute, dispute_id=deal.case))


async def everybody_reads(deal: Deal) -> None:
    """Let each drawn evaluator read the case."""
    for seat in await seats(deal):
        await deal.world.read_case(
            _agent(deal.world, seat.agent_id), deal.case or "", (deal.buyer, deal.seller), deal.on
        )


async def votes(deal: Deal, *outcomes: str) -> None:
    """Submit these votes for pending seats, one each.

    Evaluators read before and after each vote.
    """
    sitting = [_agent(deal.world, one.agent_id) for one in await seats(deal) if one.status is SeatStatus.PENDING]
    for judge, outcome in zip_longest(sitting, outcomes):
        await everybody_reads(deal)
        if outcome:
            given = {"dispute_id": deal.case, "outcome": outcome, "rationale": "I read it."}
            await deal.world.call("submit_verdict", judge, deal.on, **given)
    await everybody_reads(deal)


async def stands(deal: Deal, status: str, outcome: str | None, by: str | None, reason: str | None = None) -> None:
    """Check the case as both parties see it. Then each drawn evaluator reads it."""
    for party in (deal.buyer, deal.seller):
        seen = await deal.world.call("get_dispute", party, deal.on, dispute_id=deal.case)
        told = (seen["status"], seen["outcome"], seen["resolved_by"], seen["escalation_reason"])
        assert told == (status, outcome, by, reason), told
    deal.verdict = outcome
    await everybody_reads(deal)


async def ruled(deal: Deal, verdict: str) -> None:
    await deal.world.market.as_operator("resolve_job", **deal.ref, verdict=verdict, note="The operator read it.")
    deal.verdict = verdict


def _agent(world: World, agent_id: str) -> Agent:
    return next(one for one in world.cast.values() if one.id == agent_id)


# -- the cases ---------------------------------------------------------------------------------------------------------


async def for_the_buyer(deal: Deal) -> Story:
    await opened(deal)
    yield 60
    await votes(deal, "buyer", "buyer")
    await stands(deal, "resolved", "buyer", "panel")
    await deal.ends("resolved", PRICE)
    yield HOUR
    await deal.back(PRICE)
    await deal.ends("resolved")


async def for_the_seller(deal: Deal) -> Story:
    await opened(deal)
    await votes(deal, "seller", "split", "seller")
    yield 60
    await stands(deal, "resolved", "seller", "panel")
    await deal.ends("resolved")


async def divided(deal: Deal) -> Story:
    """Vote 1-1-1, so that no outcome has most votes."""
    await opened(deal)
    yield 60
    await votes(deal, "buyer", "seller", "split")
    await stands(deal, "escalated", None, None, "no_plurality")
    yield HOUR
    await ruled(deal, "seller")
    await stands(deal, "resolved", "seller", "operator", "no_plurality")
    await deal.ends("resolved")


async def one_missed(deal: Deal) -> Story:
    """Miss one seat; its replacement decides. The refund is never sent."""
    await opened(deal)
    await votes(deal, "buyer", "seller")
    yield VERDICT_WINDOW + 1
    await deal.world.work()
    assert [one.round for one in await seats(deal) if one.status is SeatStatus.PENDING] == [2]
    await votes(deal, "buyer")
    await stands(deal, "resolved", "buyer", "panel")
    await deal.ends("resolved", PRICE)


async def all_missed(deal: Deal) -> Story:
    """Miss all votes, also of the replacements. The operator splits the price."""
    await opened(deal)
    for waiting in (3, 3):
        assert sum(one.status is SeatStatus.PENDING for one in await seats(deal)) == waiting
        await votes(deal)
        yield VERDICT_WINDOW + 1
        await deal.world.work()
    await stands(deal, "escalated", None, None, "no_votes")
    await ruled(deal, "split")
    await deal.ends("resolved", HALF)
    await deal.back(HALF)
    await stands(deal, "resolved", "split", "operator", "no_votes")
    await deal.ends("resolved")


async def split(deal: Deal) -> Story:
    await opened(deal)
    yield 60
    await votes(deal, "split", "split")
    await stands(deal, "resolved", "split", "panel")
    await deal.back(HALF - 1, enough=False)
    await deal.ends("resolved", 1)
    await deal.back(1)
    await deal.ends("resolved")


async def withdrawn(deal: Deal) -> Story:
    await opened(deal)
    await votes(deal, "buyer")
    yield 60
    await deal.world.call("withdraw_dispute", deal.buyer, deal.on, dispute_id=deal.case)
    await stands(deal, "resolved", None, "buyer")
    await deal.ends("completed")


async def plurality(deal: Deal) -> Story:
    """Vote once and miss all other votes: the single vote decides."""
    await opened(deal, "fixed")
    await votes(deal, "seller")
    for _ in range(2):
        yield VERDICT_WINDOW + 1
        await deal.world.work()
        await votes(deal)
    await stands(deal, "resolved", "seller", "panel")
    await deal.ends("resolved")


async def missed_then_divided(deal: Deal) -> Story:
    """Vote once, miss two seats, and let one replacement vote otherwise.

    No outcome has most votes.
    """
    await opened(deal, "fixed")
    await votes(deal, "seller")
    yield VERDICT_WINDOW + 1
    await deal.world.work()
    await votes(deal, "split")
    yield VERDICT_WINDOW + 1
    await deal.world.work()
    await stands(deal, "escalated", None, None, "no_plurality")
    await ruled(deal, "buyer")
    await deal.ends("resolved", 250_000)


async def of_free_work(deal: Deal) -> Story:
    await opened(deal, "free")
    yield 60
    await votes(deal, "buyer", "seller", "buyer")
    await stands(deal, "resolved", "buyer", "panel")
    await deal.ends("resolved")


async def too_few_on_live(deal: Deal) -> Story:
    """Dispute on live without eligible evaluators: the case goes to the operator at once."""
    await opened(deal, "fixed")
    await stands(deal, "escalated", None, None, "no_eligible_evaluators")
    assert await seats(deal) == []
    yield 60
    await ruled(deal, "buyer")
    await deal.ends("resolved", 250_000)
    await deal.back(250_000)
    await deal.ends("resolved")


async def two_on_test(deal: Deal) -> Story:
    """Dispute with two eligible evaluators: there are two seats."""
    await opened(deal)
    assert [one.seats for one in await draws(deal)] == [2]
    await votes(deal, "buyer", "seller")
    await stands(deal, "escalated", None, None, "no_plurality")
    yield 60
    await ruled(deal, "seller")
    await deal.ends("resolved")


async def nobody_on_test(deal: Deal) -> Story:
    """Dispute when all offers to judge are by agents related to a party.

    One is a party's second wallet, and a party referred the other.
    """
    await opened(deal)
    await stands(deal, "escalated", None, None, "no_eligible_evaluators")
    yield 60
    await ruled(deal, "split")
    await deal.ends("resolved", HALF)
    await deal.back(HALF)
    await deal.ends("resolved")


async def offering(world: World, *names: str) -> None:
    """Let only these judges offer from now on."""
    for name in JUDGES:
        await world.call("set_evaluator", world.cast[name], "live", enabled=name in names)


CASES: tuple[tuple[Tale, int, int], ...] = (  # with the numbers of the seller and the buyer
    (for_the_buyer, 0, 0), (for_the_seller, 1, 1), (divided, 2, 2), (one_missed, 1, 0), (all_missed, 3, 3),
    (withdrawn, 4, 4), (split, 5, 5), (plurality, 6, 6), (missed_then_divided, 2, 4), (for_the_buyer, 1, 5), (divided, 0, 0),
    (of_free_work, 2, 0), (all_missed, 1, 4), (one_missed, 3, 6), (split, 0, 1), (for_the_seller, 5, 3),
)  # fmt: skip
