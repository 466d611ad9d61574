"""Agents that judge disputes: they rest at times, go away with open seats, and are suspended."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tests.simulation.population import Actor, Identity, Traits, number_of
from tests.simulation.records import Json
from tests.simulation.taint import Kind

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

HOUR = 3_600
UNWANTED_ONCE_IN = 6  # no evaluator votes on one case in this number
WORKED_HOURS = 2  # of each three, the same ones for all judges
LATE_VOTE_ONCE_IN = 6  # an evaluator votes near the deadline of one seat in this number
AFTER_SECONDS = (-2.0, 0.5, 15.0, 40.0, 90.0)  # from the deadline to such a vote


class Judge(Actor):
    """An agent that may judge disputes.

    In every third hour all judges rest: they offer nothing, so that no panel can be drawn.
    """

    offers = True

    def __init__(self, simulation: "Simulation", identity: Identity, traits: Traits) -> None:
        super().__init__(simulation, identity, traits)
        self.late = set[str]()  # cases in which it is going to vote late

    async def rest(self) -> None:
        """Offer to judge, or stop it, as the hour demands."""
        works = int(self.simulation.loop.time() // HOUR) % (WORKED_HOURS + 1) < WORKED_HOURS
        if works != self.offers and not (await self.call("set_evaluator", enabled=works)).refused:
            self.offers = works

    def votes_on(self, case_id: str) -> bool:
        """Tell if this evaluator votes on a case; some cases get no vote at all."""
        wanted = number_of(case_id, UNWANTED_ONCE_IN) > 0
        return wanted and number_of(f"{self.identity.id} {case_id}", 100) < 100 * self.simulation.scenario.votes

    async def judge(self) -> None:
        """Vote in the cases that wait for this agent."""
        inbox = await self.call("get_inbox")
        for case in [] if inbox.refused else inbox.body["disputes_awaiting_my_verdict"]:
            if not self.votes_on(case["id"]) or case["id"] in self.late:
                continue
            if number_of(f"late {self.identity.id} {case['id']}", LATE_VOTE_ONCE_IN) == 0:
                self.late.add(case["id"])
                self.simulation.start(self.vote_late(case))
            else:
                await self.vote(case)

    async def vote(self, case: Json) -> None:
        """Vote in a case for any outcome, and read it again."""
        why = self.private(Kind.VOTE, "As I see it.", case["id"])
        outcome = self.random.choice(("buyer", "seller", "split"))
        await self.call("submit_verdict", dispute_id=case["id"], outcome=outcome, rationale=why)
        await self.call("get_dispute", dispute_id=case["id"])

    async def vote_late(self, case: Json) -> None:
        """Wait until about the deadline of a seat, and vote."""
        due = datetime.fromisoformat(case["verdict_by"]) + timedelta(seconds=self.random.choice(AFTER_SECONDS))
        await self.simulation.sleep(max(0.0, (due - self.simulation.clock.now()).total_seconds()))
        await self.vote(case)
        self.late.discard(case["id"])


class Evaluator(Judge):
    """An agent that only judges disputes, and misses votes while it is away."""

    async def act(self) -> None:
        await self.rest()
        if not self.is_away(self.traits.vanishes) and self.offers:
            await self.judge()
