"""Changes of agents during jobs and disputes: names, keys, wallets, domains, and one departure."""

from nacl.signing import SigningKey

from tests.end_to_end.world.cast import LEAVER, TAKER, World
from tests.end_to_end.world.deals import Deal
from tests.end_to_end.world.script import HOUR, TURNAROUND, Story
from tests.support.market import Agent
from tests.support.proofs import DAY
from tests.support.trade import PRICE
from tools.kernel.keys import public_key_of

DOMAINS = ("sela.example.com", "zoe.example.com", "otto.example.com", "second-sela.example.com")


async def renamed(world: World, agent: Agent, handle: str, name: str) -> Story:
    """Change the handle, later the name."""
    world.note(await world.call("update_me", agent, "live", handle=handle))
    agent.handle = handle
    yield 6 * HOUR
    world.note(
        await world.call(
            "update_me", agent, "live", name=name, endpoints={"homepage": f"https://{handle}.example.org/"}
        )
    )


async def rotated(world: World, agent: Agent, seed: bytes) -> Story:
    """Rotate the root key: the old one becomes invalid, and API keys remain valid."""
    new = SigningKey(seed)
    told = bytes(new.verify_key).hex()
    text = f"service:rotate:{agent.id}:{public_key_of(agent.seed).hex()}:{told}"
    old = Agent(agent.id, agent.handle, agent.keys, agent.seed)
    proof = new.sign(text.encode()).signature.hex()
    await world.call("rotate_key", agent, new_public_key=told, proof=proof)
    agent.seed = seed
    yield 60
    await world.refused("unauthenticated", "recover_agent", old)
    world.note(await world.call("get_me", agent))


async def recovered(world: World, agent: Agent) -> Story:
    """Replace all API keys; the old ones become invalid."""
    old = Agent(agent.id, agent.handle, dict(agent.keys), agent.seed)
    made = await world.call("recover_agent", agent, revoke_existing=True)
    agent.keys = dict(made["api_keys"])
    yield 5
    for on in ("live", "test"):
        await world.refused("unauthenticated", "get_me", old, on)
        await world.call("get_me", agent, on)


async def another_api_key(world: World, agent: Agent) -> Story:
    """Add a second key for a day, then revoke it."""
    first = dict(agent.keys)
    made = await world.call("create_api_key", agent, env="test", name="for a day")
    agent.keys = first | {"test": made["key"]}
    yield 20 * HOUR
    agent.keys = first
    await world.call("revoke_api_key", agent, key_id=made["id"])
    await world.refused("unauthenticated", "get_me", Agent(agent.id, agent.handle, {"test": made["key"]}, agent.seed))


async def another_wallet(world: World, agent: Agent, number: int) -> Story:
    """Bind another wallet. Open payments keep the agreed wallets."""
    yield 30
    await world.bind(agent, world.account(number))


async def proven(world: World, agent: Agent, domain: str) -> None:
    world.note({**await world.call("get_me", agent), "verified_domain": domain})
    await world.read_ctx.verified(agent, domain, "live")
    assert (await world.call("get_me", agent))["verified_domain"] is not None


async def domains(world: World, sela: Agent, zoe: Agent, otto: Agent) -> Story:
    """Prove domains: one is taken over, one is lost with its record, and one agent proves two."""
    for agent, domain in ((sela, DOMAINS[0]), (zoe, DOMAINS[1]), (otto, DOMAINS[2]), (sela, DOMAINS[3])):
        await proven(world, agent, domain)
        yield HOUR
    await proven(world, world.cast[TAKER], DOMAINS[1])
    (taken,) = await world.read_ctx.events(zoe, "agent.domain_revoked")
    assert (taken["domain"], taken["reason"]) == (DOMAINS[1], "claimed_by_other_agent")
    del world.read_ctx.zone.records[f"_service.{DOMAINS[2]}"]
    for _ in range(3):
        yield DAY + HOUR
        await world.work()
    (lost,) = await world.read_ctx.events(otto, "agent.domain_revoked")
    assert (lost["domain"], lost["reason"]) == (DOMAINS[2], "challenge_missing")
    assert [(await world.call("get_me", one))["verified_domain"] for one in (zoe, otto)] == [None, None]


async def leaves(world: World, waiting: Deal, paid: Deal) -> Story:
    """Delete a seller: new jobs are declined, paid jobs expire and stay owed."""
    await waiting.order()
    await paid.order("upfront")
    await paid.sells("accept_job")
    await paid.pay()
    yield 60
    agent = world.cast[LEAVER]
    await world.call("delete_me", agent, "live", confirm=agent.handle)
    await world.work()
    await waiting.ends("declined", seen_by=(waiting.buyer,))
    yield TURNAROUND + HOUR + 60
    await paid.buys("cancel_job")
    await paid.ends("cancelled", PRICE, seen_by=(paid.buyer,))
