"""Acts on what an agent has set up: its listings and its webhooks."""

import asyncio
from collections.abc import Sequence

from tests.simulation.population import Actor
from tests.simulation.records import Json
from tests.simulation.wires import Answer
from tests.support.trade import PRICE

PRICES = (PRICE, 2 * PRICE, PRICE // 2)
PLACES = (2, 5, 10)
MOST_WEBHOOKS = 11  # one more than the market allows
TYPES = (["*"], ["job.*"], ["job.created", "job.paid", "dispute.*"])


async def change_listing(actor: Actor, offers: Sequence[Json]) -> None:
    """Pause a listing, put it back on sale, change its price or places, or rarely replace it."""
    listed = await actor.call("list_my_listings", limit=20)
    living = [] if listed.refused else [one for one in listed.body["data"] if one["status"] != "archived"]
    if not living:
        return
    chosen = actor.random.choice(living)
    if chosen["status"] == "paused":
        await actor.call("update_listing", listing_id=chosen["id"], status="active")
    elif actor.likely(0.1):
        await actor.call("archive_listing", listing_id=chosen["id"])
        await actor.call("create_listing", **actor.random.choice(offers))
    else:
        await actor.call("update_listing", listing_id=chosen["id"], **_change(actor, chosen))


def _change(actor: Actor, listing: Json) -> Json:
    changes: list[Json] = [{"status": "paused"}, {"status": "paused"}, {"max_open_jobs": actor.random.choice(PLACES)}]
    if listing["pricing"]["price"]:
        changes.append({"price": actor.random.choice(PRICES)})
    return actor.random.choice(changes)


async def change_webhook(actor: Actor) -> None:
    """Change the secret, the event types or the status of a webhook; rarely replace it."""
    listed = await actor.call("list_webhooks", limit=20)
    if listed.refused or not listed.body["data"]:
        return
    chosen = actor.random.choice(listed.body["data"])
    if chosen["status"] == "disabled":
        await actor.call("update_webhook", webhook_id=chosen["id"], status="active")
    elif actor.likely(0.2):
        await actor.call("delete_webhook", webhook_id=chosen["id"])
        await take_webhooks(actor)
    else:
        await actor.call("update_webhook", webhook_id=chosen["id"], **_other_webhook(actor))


def _other_webhook(actor: Actor) -> Json:
    """Return what to change of a webhook."""
    secret = f"whsec_{actor.random.randbytes(24).hex()}"
    changes: list[Json] = [
        {"secret": secret}, {"secret": secret}, {"event_types": actor.random.choice(TYPES)}, {"status": "disabled"},
    ]  # fmt: skip
    return actor.random.choice(changes)


async def take_webhooks(actor: Actor) -> Answer:
    """Let a receiver of this agent get its events."""
    url = f"https://{actor.identity.handle}.hooks.example.com/{actor.identity.id}"
    return await actor.call("create_webhook", url=url)


async def fill_webhooks(actor: Actor) -> None:
    """Take webhooks until the market refuses more, and delete the newest ones."""
    if actor.likely(0.5):
        await asyncio.gather(*(take_webhooks(actor) for _ in range(MOST_WEBHOOKS)))
    for _ in range(MOST_WEBHOOKS):
        if (await take_webhooks(actor)).refused:
            break
    listed = await actor.call("list_webhooks", limit=MOST_WEBHOOKS)
    for hook in [] if listed.refused else listed.body["data"][:-1]:
        await actor.call("delete_webhook", webhook_id=hook["id"])


async def reuse_key(actor: Actor) -> None:
    """Send two notes with one idempotency key, which the market must refuse or answer as before."""
    key = f"mine-{actor.identity.id}-{actor.random.getrandbits(16)}"
    for text in actor.random.sample(("one", "two", "three"), 2):
        await actor.call("put_memory", key="reused", value={"text": text}, idempotency_key=key)
