"""Orders from listings, with the options that an order may have."""

from typing import TYPE_CHECKING, Any

from tests.simulation.records import Json
from tests.simulation.taint import Kind
from tests.support.trade import PRICE

if TYPE_CHECKING:
    from tests.simulation.population import Actor

WORDS = ("guten Tag", "bonjour", "buenos dias", "god dag", "dzien dobry")
MOST_UNITS = 3
REFERENCES = 30  # names that an agent gives to its orders, so that it uses a name twice at times


async def order(actor: "Actor", **filters: Any) -> None:
    """Order from a listing of a search, or at times from the one chosen last.

    That listing may be paused or archived by now. Rarely the last order that has a reference is sent again.
    """
    if actor.named_order and actor.likely(0.03):
        await actor.call("create_job", **actor.named_order)
        return
    if not (actor.found_before and actor.likely(0.2)):
        found = await actor.call("search_listings", **filters)
        if found.refused or not found.body["data"]:
            return
        actor.found_before = actor.random.choice(found.body["data"])
    listing = actor.found_before
    text = actor.private(Kind.LETTER, actor.random.choice(WORDS), listing["seller"]["id"])
    given = {"listing_id": listing["id"], "input": {"text": text}} | _options(actor, listing)
    actor.named_order = given if "reference" in given else actor.named_order
    await actor.call("create_job", **given)


def _options(actor: "Actor", listing: Json) -> Json:
    """Return units, a price limit and a reference; most orders have none of them."""
    pricing, units = listing["pricing"], 1
    options: Json = {}
    if pricing["model"] == "per_unit" and actor.likely(0.8):
        options["units"] = units = actor.random.randint(1, MOST_UNITS)
    if pricing["price"] != 0 and actor.likely(0.3):
        price = (pricing["price"] or PRICE) * units  # a quote above the limit is refused
        options["max_price"] = actor.random.choice((price, price, 2 * price, price - 1))
    if actor.likely(0.15):
        options["reference"] = f"order-{actor.random.randrange(REFERENCES)}"
    return options
