"""The oracle of pages and exports: strangers read pages, agents export their accounts, and both are searched."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tests.simulation.contracted import Contracted
from tests.simulation.oracles import Oracle
from tests.simulation.raw_requests import Reply, send_raw
from tests.simulation.taint import Taint
from tests.simulation.wires import Call

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

PAGES = ("/", "/listings", "/bounties", "/leaderboard", "/feed", "/stats", "/x402", "/disputes", "/llms.txt")
BROWSER = ("accept", "text/html")
ADDRESS = "203.0.113.11"
EXPORTS = 12  # looks between two exports


class Visits(Oracle):
    """No page shows a private text, and no export shows one of another agent."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.random, self.looks = simulation.new_random(), 0

    async def look(self) -> None:
        """Read some pages as a stranger; at times let an agent export its account."""
        self.looks += 1
        taint = self.simulation.oracle(Taint)
        for path in self._paths():
            taint.left((await self._read(path, BROWSER)).raw, (None,), f"the page {path}")
        if self.looks % EXPORTS == 0:
            agent = self.random.choice([*self.simulation.identities.values()])
            key = "x-api-key", agent.keys["test"]
            taint.left((await self._read("/v1/agents/me/export", key)).raw, (agent.id,), "an export")

    async def after_crash(self) -> None: ...

    def _paths(self) -> Iterator[str]:
        model = self.simulation.oracle(Contracted).model
        yield self.random.choice(PAGES)
        known = {
            "agents": self.simulation.identities,
            "listings": model.listings.known,
            "bounties": model.bounties.known,
        }
        for folder, ids in known.items():
            if ids:
                yield f"/{folder}/{self.random.choice([*ids])}"

    async def _read(self, path: str, header: tuple[str, str]) -> Reply:
        call = Call(self.simulation.made, "get_health", {}, ip=ADDRESS)
        reply = await send_raw(self.simulation.machine, call, "GET", path, headers=[header])
        self.simulation.log.write("visit", path=path, status=reply.status)
        return reply
