"""Random walks: hypothesis chooses agents, operations, faults and times, and shortens a failing walk."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.end_to_end.walk import arguments, moves
from tests.end_to_end.walk.ground import TROUBLES, Ground
from tests.end_to_end.walk.walk import begun
from tests.support.market import Agent

SECONDS = (1, 59, 61, 301, 601, 901, 1_801, 3_601, 7_300, 86_401, 3 * 86_400, 91 * 86_400)
BIDDING = ("create_bounty", "propose_on_bounty", "award_bounty", "withdraw_proposal", "close_bounty", "list_proposals")
PRICED = ("sealed", "revealed", "completed", "awaiting payment", "paid first", "owing")
TO_AND_FRO = ("buyer pay", "seller refund", "buyer cancel", "seller cancel")
MONEY = ("sealed", "awaiting payment", "owing")  # where a party has to send money
STEPS = (
    "all",
    "sweep",
    "judge",
    "expire bounties",
    "tell",
    "fire",
    "send",
    "wind down",
    "keep house",
    "probe",
    "write touches",
    "index",
)


class Market(RuleBasedStateMachine):
    """One walk.

    The drawn values of a step are shown; the first of several choices is the usual one.
    """

    def __init__(self, ground: Ground) -> None:
        super().__init__()
        self.ground, self.broken = ground, False
        self.walk = ground.run(begun(ground))

    @initialize(places=st.lists(st.sampled_from(sorted(moves.PATHS)), min_size=1, max_size=4))
    def some_jobs_are_under_way(self, places: list[str]) -> None:
        for number, place in enumerate(places):
            self.take(moves.reach(self.walk, place, self.walk.buyers[number % 2]))

    @rule(data=st.data(), operations=st.lists(st.sampled_from(sorted(arguments.PLAUSIBLE)), min_size=2, max_size=8))
    def somebody_calls(self, data: Any, operations: list[str]) -> None:
        for operation in operations:
            agent = self.one_of(self.here(), data)
            self.take(arguments.call(self.walk, operation, agent, self.pick(data)))

    @rule(data=st.data())
    def a_buyer_orders(self, data: Any) -> None:
        buyer = self.one_of(self.here()[-3:], data)
        self.take(self.walk.order(buyer, data.draw(st.integers(0, len(self.walk.listings) - 1), "listing")))

    @rule(data=st.data(), operations=st.lists(st.sampled_from(BIDDING), min_size=2, max_size=5))
    def bounties_are_posted_proposed_on_and_decided(self, data: Any, operations: list[str]) -> None:
        for operation in operations:
            self.take(arguments.call(self.walk, operation, self.one_of(self.here(), data), self.pick(data)))

    @rule(data=st.data())
    def a_party_does_what_it_can(self, data: Any) -> None:
        self._try(data, st.sampled_from)

    @rule(data=st.data())
    def both_parties_go_on(self, data: Any) -> None:
        for _ in range(3):
            self._try(data, st.sampled_from)

    @rule(data=st.data(), action=st.sampled_from(sorted(moves.MAKES)))
    def a_party_tries_anything(self, data: Any, action: str) -> None:
        self._try(data, lambda _: st.just(action))

    @rule(data=st.data(), place=st.sampled_from(MONEY), trouble=st.sampled_from(TROUBLES))
    def money_moves_while_the_chain_fails(self, data: Any, place: str, trouble: str) -> None:
        if not self.walk.gone:
            buyer = self.one_of(self.walk.buyers, data)
            self.take(moves.move_money(self.walk, place, buyer, trouble, self.pick(data)))

    @rule(
        data=st.data(),
        place=st.sampled_from(PRICED),
        steps=st.lists(st.sampled_from(TO_AND_FRO), min_size=2, max_size=6),
    )
    def money_goes_to_and_fro(self, data: Any, place: str, steps: list[str]) -> None:
        walk = self.walk
        job_id = None if walk.gone else self.take(moves.reach(walk, place, walk.buyers[0]))
        for step in steps if job_id else ():
            role, action = step.split()
            self.take(moves.attempt(walk, job_id, walk.jobs[job_id][role == "seller"], action, self.pick(data)))

    @rule(data=st.data(), votes=st.integers(0, 3), gone_by=st.sampled_from([0, 601]))
    def a_dispute_is_judged(self, data: Any, votes: int, gone_by: int) -> None:
        buyer = self.walk.buyers[0]
        if buyer.id in self.walk.gone or not self.take(moves.reach(self.walk, "disputed", buyer)):
            return
        for _ in range(votes):
            self.take(arguments.call(self.walk, "submit_verdict", buyer, self.pick(data)))
        self.walk.market.pass_seconds(gone_by)

    @rule(seconds=st.sampled_from(SECONDS))
    def time_passes(self, seconds: int) -> None:
        self.walk.market.pass_seconds(seconds)

    @rule(step=st.sampled_from(STEPS))
    def workers_work(self, step: str) -> None:
        self.take(self.walk.work(step))

    @rule(trouble=st.sampled_from(TROUBLES))
    def the_chain_fails(self, trouble: str) -> None:
        self.walk.troubles.begin(trouble)

    @rule()
    def the_chain_is_well(self) -> None:
        self.walk.troubles.end()

    @rule(status=st.sampled_from([200, 500, 410, 0]))
    def receivers_answer(self, status: int) -> None:
        self.walk.receivers.status = status

    def teardown(self) -> None:
        try:
            if not self.broken:
                self.take(self.walk.read_everything())
                self.take(self.walk.watch.at_the_end())
        finally:
            self.ground.run(self.walk.end())

    def take(self, step: Any) -> Any:
        """Run a step. After a failure, no further checks run."""
        try:
            return self.ground.run(step)
        except BaseException:
            self.broken = True
            raise

    def here(self) -> list[Agent]:
        """Return the agents that have not left, or the stranger if all others have."""
        walk = self.walk
        return [agent for agent in walk.agents if agent.id not in walk.gone] or [walk.stranger]

    def one_of(self, agents: list[Agent], data: Any) -> Agent:
        handle = data.draw(st.sampled_from([agent.handle for agent in agents]), "who")
        return next(agent for agent in agents if agent.handle == handle)

    def pick(self, data: Any) -> Any:
        return lambda choices: data.draw(st.sampled_from(choices))

    def _try(self, data: Any, among: Any) -> None:
        walk = self.walk
        job_id = data.draw(st.sampled_from([*reversed(walk.jobs)]), "job")
        parties = [agent for agent in walk.jobs[job_id] if agent.id not in walk.gone]
        if not parties:
            return
        agent = self.one_of(parties, data)
        job = self.take(walk.succeed("get_job", agent, job_id=job_id))
        action = data.draw(among(job["available_actions"] or sorted(moves.MAKES)), "action")
        self.take(moves.attempt(walk, job_id, agent, action, self.pick(data)))
