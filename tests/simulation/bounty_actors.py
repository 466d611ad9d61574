"""Acts of agents on bounties: post one, propose on one, and decide."""

from tests.simulation.order_acts import WORDS
from tests.simulation.population import Actor
from tests.simulation.taint import Kind
from tests.support.trade import ENGLISH, PRICE

LIFETIMES = (300, 1_800, 5_400)  # seconds until a bounty expires


async def post(actor: Actor) -> None:
    """Post a bounty."""
    await actor.call(
        "create_bounty",
        title="Translate a letter",
        description=f"Please translate this: {actor.random.choice(WORDS)}",
        budget_max=2 * PRICE,
        category="text",
        input={"deliverable_schema": ENGLISH},
        expires_in_seconds=actor.random.choice(LIFETIMES),
    )


async def propose(actor: Actor) -> None:
    """Propose on a bounty, and sometimes withdraw the proposal."""
    found = await actor.call("search_bounties", limit=10)
    if found.refused or not found.body["data"]:
        return
    chosen = actor.random.choice(found.body["data"])
    bounty, why = chosen["id"], actor.private(Kind.LETTER, "I am fast.", chosen["buyer"]["id"])
    price, payment = actor.random.choice((PRICE, PRICE // 2, 0)), actor.random.choice(("on_delivery", "upfront"))
    made = await actor.call("propose_on_bounty", bounty_id=bounty, price=price, payment=payment, message=why)
    if not made.refused and actor.likely(0.2):
        await actor.call("withdraw_proposal", bounty_id=bounty)


async def decide(actor: Actor) -> None:
    """Award or close one of its open bounties, or wait for more proposals."""
    mine = await actor.call("list_my_bounties", limit=20)
    undecided = [] if mine.refused else [one for one in mine.body["data"] if one["status"] == "open"]
    if not undecided:
        return
    bounty = actor.random.choice(undecided)["id"]
    listed = await actor.call("list_proposals", bounty_id=bounty, limit=20)
    pending = [] if listed.refused else [one for one in listed.body["data"] if one["status"] == "pending"]
    if actor.likely(0.1):
        await actor.call("close_bounty", bounty_id=bounty)
    elif pending and actor.likely(0.8):
        chosen = actor.random.choice(pending)
        terms = {"proposal_id": chosen["id"], "price": chosen["price"], "payment": chosen["payment"]}
        await actor.call("award_bounty", bounty_id=bounty, turnaround_seconds=300, **terms)
