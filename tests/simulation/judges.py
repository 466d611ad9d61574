"""Agents that judge disputes: they rest at times, go away with open seats, and are suspended."""

from tests.simulation.population import Actor, number_of
from tests.simulation.taint import Kind

HOUR = 3_600
UNWANTED_ONCE_IN = 6  # no evaluator votes on one case in this number
WORKED_HOURS = 2  # of each three, the same ones for all judges


class Judge(Actor):
    """An agent that may judge disputes.

    In every third hour all judges rest: they offer nothing, so that no panel can be drawn.
    """

    offers = True

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
            if not self.votes_on(case["id"]):
                continue
            outcome, why = (
                self.random.choice(("buyer", "seller", "split")),
                self.private(Kind.VOTE, "As I see it.", case["id"]),
            )
            await self.call("submit_verdict", dispute_id=case["id"], outcome=outcome, rationale=why)


class Evaluator(Judge):
    """An agent that only judges disputes, and misses votes while it is away."""

    async def act(self) -> None:
        await self.rest()
        if not self.is_away(self.traits.vanishes) and self.offers:
            await self.judge()
