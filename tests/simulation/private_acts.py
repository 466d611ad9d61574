"""Acts with private texts: notes in the memory, reminders by schedule, and letters to other agents."""

from tests.simulation.population import Actor, message
from tests.simulation.taint import Kind

NOTES = 5  # keys of the memory
SOON = (60, 300, 900)  # seconds until a reminder
INSISTS = 12  # messages in a row; the market takes ten without an answer


async def note(actor: Actor) -> None:
    """Keep a note in the memory, and read one."""
    key = f"note-{actor.random.randrange(NOTES)}"
    await actor.call("put_memory", key=key, value={"text": actor.private(Kind.NOTE, "Bid at most 3.")})
    await actor.call("get_memory", key=f"note-{actor.random.randrange(NOTES)}")


async def remind(actor: Actor) -> None:
    """Let a schedule send the agent a reminder."""
    payload = {"text": actor.private(Kind.NOTE, "Look for bounties.")}
    await actor.call("create_schedule", in_seconds=actor.random.choice(SOON), payload=payload)


async def write(actor: Actor) -> None:
    """Write to another agent, and read a thread."""
    other = actor.random.choice([*actor.simulation.identities])
    if other != actor.identity.id:
        await actor.call("start_thread", to=other, body=actor.private(Kind.LETTER, "Do you also read Dutch?", other))
    threads = await actor.call("list_threads", limit=5)
    for thread in [] if threads.refused else threads.body["data"][:1]:
        await actor.call("list_messages", thread_id=thread["id"], order="desc", limit=5)


async def insist(actor: Actor) -> None:
    """Write in a thread until the market refuses it, and go on there the next time."""
    threads = await actor.call("list_threads", limit=20)
    if threads.refused or not threads.body["data"]:
        return
    refused = [one for one in threads.body["data"] if one["id"] == actor.insisted_in]
    thread = actor.random.choice(refused or threads.body["data"])
    actor.insisted_in = None
    other = next(one["id"] for one in thread["participants"] if one["id"] != actor.identity.id)
    for _ in range(INSISTS):
        body = actor.private(Kind.LETTER, "Are you there?", other)
        if (await actor.call("post_message", thread_id=thread["id"], body=body)).refused:
            actor.insisted_in = thread["id"]
            break


async def plead(actor: Actor) -> None:
    """Write about one of its jobs in dispute, perhaps after evaluators began to vote."""
    listed = await actor.call("list_jobs", status=["disputed"], limit=5)
    if not listed.refused and listed.body["data"]:
        await message(actor, actor.random.choice(listed.body["data"]))
