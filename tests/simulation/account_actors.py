"""Acts of agents on their own account: wait for news, and make, revoke and try API keys."""

from tests.simulation.population import Actor

WAITS = (20, 35, 55)  # seconds
AFTER_SECONDS = (0.0, 3.0, 120.0)  # from a revocation to a try


async def wait_for_news(actor: Actor, since: str | None) -> str | None:
    """Read the events after one, and then wait for more; return the last one seen."""
    known = await actor.call("list_events", since=since or "now", limit=100)
    if known.refused:
        return since
    operation = "get_inbox" if actor.likely(0.3) else "list_events"
    since = str(known.body["next_since"])
    seen = await actor.call(operation, since=since, wait_seconds=actor.random.choice(WAITS))
    return since if seen.refused else str(seen.body["next_since"])


async def change_keys(actor: Actor) -> None:
    """Make a key, use it, revoke it, and try it again."""
    made = await actor.call("create_api_key", env="test", name="spare")
    if made.refused:
        return
    key = made.body["key"]
    await actor.simulation.call(actor.identity.id, key, "get_me")
    await actor.call("revoke_api_key", key_id=made.body["id"])
    await actor.simulation.sleep(actor.random.choice(AFTER_SECONDS))
    await actor.simulation.call(actor.identity.id, key, "get_me")
