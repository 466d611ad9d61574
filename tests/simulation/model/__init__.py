"""Model jobs, bounties, disputes, purchases and quotas from the contract, not from the market's rules.

`Model.observe` takes every answer in the order of completion. It accepts what some legal order of the calls explains,
and raises `Violation` for all else. A judgement that depends on calls still in flight waits until they are observed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.simulation.model.actions import Actions
from tests.simulation.model.answers import Idempotency, Lists, Reviews
from tests.simulation.model.bounties import Bounties
from tests.simulation.model.disputes import Disputes
from tests.simulation.model.job import Job
from tests.simulation.model.jobs import Jobs
from tests.simulation.model.lifecycle import ACTION
from tests.simulation.model.listings import Listings
from tests.simulation.model.money import Money
from tests.simulation.model.observe import (
    NO_ANSWER,
    Contract,
    Doubts,
    Observation,
    Order,
    Rule,
    Sight,
    Violation,
    later,
)
from tests.simulation.model.purchases import Purchases

__all__ = ["NO_ANSWER", "Contract", "Model", "Observation", "Open", "Rule", "Violation"]

_GRACE = timedelta(seconds=300)


@dataclass(frozen=True, slots=True)
class Open:
    """A thing that has not ended.

    `ends_by` is None while it waits for a person without a deadline.
    """

    kind: str
    id: str
    state: str
    ends_by: datetime | None


class Model:
    """The state of a market by the contract, from all answers seen so far."""

    def __init__(
        self,
        contract: Contract | None = None,
        *,
        grace: timedelta = _GRACE,
        oldest: Callable[[], float] | None = None,
    ) -> None:
        self.contract = contract or Contract()
        self.order, self.doubts = Order(), Doubts(grace, oldest)
        self.jobs = Jobs(self.contract, self.doubts, Money())
        self.actions = Actions(self.jobs)
        self.listings, self.reviews = Listings(self.jobs), Reviews(self.jobs)
        self.bounties, self.disputes = Bounties(self.jobs), Disputes(self.jobs)
        self.idempotency, self.lists = Idempotency(self.doubts), Lists(self.jobs, self.reviews)
        self.purchases = Purchases(self.jobs, self.listings)
        self.handlers = self._handlers()

    def observe(self, seen: Observation) -> None:
        """Take in an answer. Raises Violation."""
        sight = Sight(seen, self.order.span(seen))
        if seen.agent is not None:
            self.jobs.callers.add(seen.agent)
        handler = self.handlers.get(seen.operation)
        news = not seen.arguments.get("dry_run") and not self.idempotency.repeats(sight)
        if handler is not None and news:
            handler(sight)
        self.doubts.settle(seen.ended)

    @property
    def observed(self) -> int:
        """Return how many answers were observed: the `after` of a call that begins now."""
        return len(self.order.ends)

    def unfinished(self) -> list[Open]:
        """Return all open things with their latest deadlines."""
        jobs = [
            Open("job", job.id, job.history.last.state, self._job_ends(job))
            for job in self.jobs.known.values()
            if self._runs(job)
        ]
        bounties = [
            Open("bounty", one.id, "open", one.history.last.due)
            for one in self.bounties.known.values()
            if one.history.last.state == "open"
        ]
        cases = [
            Open("dispute", one.id, one.history.last.state, self._case_ends(one.id))
            for one in self.disputes.known.values()
            if one.history.last.state != "resolved"
        ]
        return jobs + bounties + cases

    def check_liveness(self, now: datetime, grace: timedelta = timedelta()) -> None:
        """Check that nothing open is past its last deadline. Raises Violation.

        First read everything in `unfinished`: an end that no answer has shown is not known here.
        """
        self.doubts.settle(now + self.doubts.grace)
        for one in self.unfinished():
            if one.ends_by is not None and one.ends_by + grace < now:
                raise Violation(Rule.LIVENESS, f"{one.kind} is {one.state} after {one.ends_by}, at {now}", None, one.id)

    def _runs(self, job: Job) -> bool:
        state = job.history.last.state
        return not job.history.graph.final(state) and not state.startswith("unpaid")

    def _job_ends(self, job: Job) -> datetime | None:
        dispute = job.once.get("dispute_id")
        last = job.history.last
        return self._case_ends(dispute) if dispute and last.state == "disputed" else last.due

    def _case_ends(self, dispute_id: str) -> datetime | None:
        case = self.disputes.known.get(dispute_id)
        if case is None or case.history.last.state != "panel":
            return None
        window = self.contract.verdict_seconds[case.agreed["env"]]
        return later(datetime.fromisoformat(case.agreed["created_at"]), window * self.contract.rounds)

    def _handlers(self) -> Mapping[str, Callable[[Sight], None]]:
        return {
            **dict.fromkeys(ACTION, self.actions.acted),
            "create_job": self.listings.ordered,
            "hire": self.listings.ordered,
            **dict.fromkeys(("create_listing", "update_listing", "archive_listing", "get_listing"), self._listing),
            **dict.fromkeys(("search_listings", "list_my_listings"), self._list_of_listings),
            "get_job": self.lists.got_job,
            "list_jobs": self.lists.listed_jobs,
            "get_inbox": self._inbox,
            "get_delivery": self.lists.delivery,
            "list_settlements": self.lists.listed_settlements,
            "buy_with_x402": self.purchases.bought,
            "review_job": self.reviews.made,
            "list_reviews": self.lists.listed_reviews,
            "create_bounty": self.bounties.posted,
            "close_bounty": self.bounties.closed,
            "award_bounty": self.bounties.awarded,
            "propose_on_bounty": self.bounties.proposed,
            "withdraw_proposal": self.bounties.proposed,
            "list_proposals": self.bounties.listed,
            "get_bounty": self._bounty,
            **dict.fromkeys(("list_my_bounties", "search_bounties"), self._list_of_bounties),
            "get_dispute": self._dispute,
            "list_disputes": self._list_of_disputes,
            "submit_verdict": self.disputes.voted,
            "withdraw_dispute": self.disputes.withdrawn,
            "resolve_job": self.disputes.ruled,
            "set_wallet_address": self._bound,
            "delete_me": self._left,
            "set_agent_status": self._left,
        }

    def _listing(self, sight: Sight) -> None:
        changed = self.listings.known.get(str(sight.seen.arguments.get("listing_id")))
        if sight.seen.succeeded:
            self.listings.show(sight.seen.body, sight)
            if changed is not None:
                changed.unanswered.discard(sight.seen.number)
        elif changed is not None and sight.seen.unknown and sight.seen.operation != "get_listing":
            changed.unanswered.add(sight.seen.number)

    def _list_of_listings(self, sight: Sight) -> None:
        for record in sight.seen.body["data"] if sight.seen.succeeded else ():
            self.listings.show(record, sight)

    def _bounty(self, sight: Sight) -> None:
        if sight.seen.succeeded:
            self.bounties.show(sight.seen.body, sight)

    def _list_of_bounties(self, sight: Sight) -> None:
        for record in sight.seen.body["data"] if sight.seen.succeeded else ():
            self.bounties.show(record, sight)

    def _inbox(self, sight: Sight) -> None:
        self.lists.inbox(sight)
        self.disputes.awaited(sight)

    def _dispute(self, sight: Sight) -> None:
        if sight.seen.succeeded:
            self.disputes.show(sight.seen.body, sight)

    def _list_of_disputes(self, sight: Sight) -> None:
        for record in sight.seen.body["data"] if sight.seen.succeeded else ():
            self.disputes.show(record, sight)

    def _bound(self, sight: Sight) -> None:
        """Remember a wallet that an agent may have bound."""
        if sight.seen.succeeded or sight.seen.unknown:
            wallet = str(sight.seen.arguments["address"]).lower()
            self.jobs.holders.setdefault(wallet, set()).add(str(sight.seen.agent))

    def _left(self, sight: Sight) -> None:
        """Remember an agent whose account may have been deleted or suspended."""
        seen = sight.seen
        if seen.succeeded or seen.unknown:
            self.jobs.left.add(str(seen.arguments.get("agent_id") or seen.agent))
