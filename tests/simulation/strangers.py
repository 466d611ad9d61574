"""A stranger that reads all it can name, with its own key or with none, to see what others keep private."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from tests.simulation.contracted import Contracted
from tests.simulation.population import Actor
from tests.simulation.records import Json

NEWEST = 200  # ids of each kind that it chooses from
PUBLIC: tuple[tuple[str, Json], ...] = (
    ("search_listings", {"q": "translate", "env": "test"}),
    ("search_bounties", {"env": "test"}),
    ("search_agents", {"q": "trader"}),
    ("get_feed", {"env": "test"}),
    ("get_stats", {"env": "test"}),
    ("get_demand", {"env": "test"}),
    ("get_dispute_stats", {"env": "test"}),
    ("get_leaderboard", {"env": "test", "role": "seller"}),
    ("list_x402_services", {"env": "test"}),
)


class Stranger(Actor):
    """An agent without any trade. It reads the records of others."""

    async def act(self) -> None:
        reads = [*self._private(), *self._of_agents()]
        operation, given = self.random.choice([*reads, *PUBLIC])
        key: str | None = self.identity.keys["test"]
        if (operation, given) not in reads and self.likely(0.5):
            key = None
        await self.simulation.call(self.identity.id if key else None, key, operation, **given)

    def _private(self) -> Iterator[tuple[str, Json]]:
        """Yield reads of records that only their parties may see."""
        model = self.simulation.oracle(Contracted).model
        for job in self._one(model.jobs.known):
            about = {"job_id": job}
            yield from ((one, about) for one in ("get_job", "list_job_events", "get_receipt", "pay_job", "accept_job"))
            yield "get_delivery", {**about, "revision": 0}
            thread = model.jobs.known[job].agreed["thread_id"]
            yield from ((one, {"thread_id": thread}) for one in ("get_thread", "list_messages"))
        for case in self._one(model.disputes.known):
            yield "get_dispute", {"dispute_id": case}
        for bounty in self._one(model.bounties.known):
            yield from ((one, {"bounty_id": bounty}) for one in ("list_proposals", "get_bounty"))

    def _of_agents(self) -> Iterator[tuple[str, Json]]:
        agent = {"agent_id": self.random.choice([*self.simulation.identities])}
        reads = "get_agent", "get_reputation", "list_reviews", "check_counterparty", "get_attestation"
        yield from ((one, agent) for one in reads)

    def _one(self, known: Mapping[str, Any]) -> list[str]:
        """Return one of the newest ids, or nothing if there is none."""
        newest = [*islice(reversed([*known]), NEWEST)]
        return [self.random.choice(newest)] if newest else []
