"""Follow bounties and their proposals from post to award."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.model.history import Call, History, Visit
from tests.simulation.model.jobs import Jobs
from tests.simulation.model.lifecycle import BOUNTY, PROPOSAL
from tests.simulation.model.observe import Rule, Sight, Span, at, later

_AGREED = ("env", "title", "budget_max", "category", "expires_at", "created_at")
_HOUR_SECONDS, _WEEK_SECONDS = 3_600, 604_800


@dataclass(slots=True)
class Proposal:
    """One seller's proposal, with all prices that it may have named."""

    id: str
    seller: str
    history: History
    named: list[tuple[Any, Span]] = field(default_factory=list)  # price and payment

    def names(self, span: Span) -> list[Any]:
        """Return each price and payment that the proposal may have during a call."""
        before = [(one.high, terms) for terms, one in self.named if one.precedes(span)]
        beside = [terms for terms, one in self.named if one.may_precede(span) and not one.precedes(span)]
        last = max(before, key=lambda one: one[0], default=None)
        overlapping = [terms for terms, one in self.named if last and one.precedes(span) and one.high > last[0]]
        return beside + overlapping + ([last[1]] if last else [])


@dataclass(slots=True)
class Bounty:
    """One bounty and its proposals, by seller."""

    id: str
    buyer: str
    agreed: dict[str, Any]
    history: History
    created: Span | None = None
    awarded_job_id: str | None = None
    proposals: dict[str, Proposal] = field(default_factory=dict)


class Bounties:
    """All bounties that answers showed."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.known: dict[str, Bounty] = {}
        self.lost_posts: list[tuple[str, str, Span]] = []

    # -- records -----------------------------------------------------------------------------------------------------

    def show(self, record: Any, sight: Sight) -> Bounty:
        """Take in a bounty record."""
        found = self.known.get(record["id"])
        agreed = {name: record[name] for name in _AGREED}
        if found is None:
            found = Bounty(record["id"], record["buyer"]["id"], agreed, History(BOUNTY, record["id"]))
            self.known[found.id] = found
        same = (found.agreed, found.buyer) == (agreed, record["buyer"]["id"])
        sight.check(same, Rule.BOUNTY, "what was posted has changed", found.id)
        due = at(record["expires_at"])
        visit, new = found.history.show(record["status"], sight)
        visit.due = due if record["status"] == "open" else None
        expired = record["status"] == "open" and sight.span.began > due
        sight.check(not expired, Rule.PUNCTUAL, f"open after its end at {due}", found.id)
        self._award_shown(found, record, sight)
        if new:
            self.jobs.doubts.add(sight.span, lambda: self._caused(found, visit, sight))
        self.jobs.doubts.add(sight.span, lambda: self._counted(found, record, sight))
        return found

    def _award_shown(self, found: Bounty, record: Any, sight: Sight) -> None:
        job = record["awarded_job_id"]
        right = (job is not None) == (record["status"] == "awarded") and found.awarded_job_id in (None, job)
        sight.check(right, Rule.BOUNTY, f"{record['status']} with the job {job}", found.id)
        found.awarded_job_id = job

    def _caused(self, found: Bounty, visit: Visit, sight: Sight) -> None:
        caused = found.history.causes(visit, lambda name: name == "left:buyer" and found.buyer in self.jobs.left)
        sight.check(caused, Rule.BOUNTY, f"no call or deadline explains {visit.state}", found.id)

    def _counted(self, found: Bounty, record: Any, sight: Sight) -> None:
        """Check proposal_count of an open bounty: the pending proposals."""
        if record["status"] != "open" or any(one.state is None for one in found.history.calls):
            return
        states = [one.history.possible(sight.span) for one in found.proposals.values() if self._made(one, sight.span)]
        most, count = sum("pending" in one for one in states), record["proposal_count"]
        surely = [one for one in found.proposals.values() if one.named and one.named[0][1].precedes(sight.span)]
        least = sum(one.history.possible(sight.span) == {"pending"} for one in surely)
        sight.check(least <= count <= most, Rule.COUNT, f"{count} proposals, not {least} to {most}", found.id)

    def _made(self, found: Proposal, span: Span) -> bool:
        return not found.named or found.named[0][1].may_precede(span)

    def show_proposal(self, record: Any, sight: Sight) -> Proposal:
        """Take in a proposal record."""
        bounty = self.known.get(record["bounty_id"])
        seller = record["seller"]["id"]
        if bounty is None:
            return Proposal(record["id"], seller, History(PROPOSAL, record["id"]))
        found = bounty.proposals.setdefault(seller, Proposal(record["id"], seller, History(PROPOSAL, record["id"])))
        sight.check(found.id == record["id"], Rule.PROPOSAL, "a second proposal of one seller", bounty.id)
        sight.check(
            sight.seen.agent in (bounty.buyer, seller), Rule.PROPOSAL, "a proposal is shown to a third", bounty.id
        )
        within = 0 <= record["price"] <= bounty.agreed["budget_max"]
        sight.check(within, Rule.PROPOSAL, f"{record['price']} is over the budget", bounty.id)
        due = at(bounty.agreed["expires_at"])
        visit, _ = found.history.show(record["status"], sight)
        visit.due = due if record["status"] == "pending" else None
        expired = record["status"] == "pending" and sight.span.began > due
        sight.check(not expired, Rule.PUNCTUAL, f"pending after the end of its bounty at {due}", found.id)
        terms = (record["price"], record["payment"])
        self.jobs.doubts.add(sight.span, lambda: self._named(found, terms, sight))
        return found

    def _named(self, found: Proposal, terms: Any, sight: Sight) -> None:
        lost = any(one.state is None for one in found.history.calls)
        known = not found.named or lost or terms in [one for one, span in found.named if span.may_precede(sight.span)]
        sight.check(known, Rule.PROPOSAL, f"no proposal of {terms}", found.id)

    # -- calls -------------------------------------------------------------------------------------------------------

    def posted(self, sight: Sight) -> None:
        """Take in the answer of create_bounty."""
        seen, given = sight.seen, sight.seen.arguments
        if seen.succeeded:
            found = self.show(seen.body, sight)
            found.created = sight.span
            ends = later(at(seen.body["created_at"]), given.get("expires_in_seconds", _WEEK_SECONDS))
            sight.check(
                at(seen.body["expires_at"]) == ends, Rule.DEADLINE, f"the bounty does not end at {ends}", found.id
            )
            kept = (seen.body["budget_max"], seen.body["title"], found.buyer)
            sight.check(
                kept == (given["budget_max"], given["title"], seen.agent),
                Rule.RESULT,
                "another bounty is posted",
                found.id,
            )
            self.jobs.doubts.add(sight.span, lambda: self._limit(sight, surely=True))
        elif seen.unknown:
            self.lost_posts.append((seen.env, str(seen.agent), sight.lost))
        elif seen.code == "bounty_limit":
            self.jobs.doubts.add(sight.span, lambda: self._limit(sight, surely=False))

    def _limit(self, sight: Sight, surely: bool) -> None:
        """Check the number of the buyer's open bounties beside a post against the limit."""
        span, most = sight.span, self.jobs.contract.open_bounties
        sure, possible = 0, sum(one[:2] == (sight.seen.env, sight.seen.agent) for one in self.lost_posts)
        for one in self.known.values():
            mine = (one.buyer, one.agreed["env"]) == (sight.seen.agent, sight.seen.env)
            if mine and one.created and one.created != span:
                states = one.history.possible(span)
                sure += one.created.precedes(span) and states == {"open"}
                possible += one.created.may_precede(span) and "open" in states
        if surely:
            sight.check(sure < most, Rule.BOUNTY, f"{sure} other open bounties of {most}")
        else:
            sight.check(possible >= most, Rule.REFUSAL, f"bounty_limit with {possible} open bounties")

    def closed(self, sight: Sight) -> None:
        """Take in the answer of close_bounty."""
        self._moved(sight, "close:buyer", "closed")

    def _moved(self, sight: Sight, name: str, state: str) -> Bounty | None:
        seen = sight.seen
        found = self.known.get(str(seen.arguments["bounty_id"]))
        if seen.succeeded:
            record = seen.body.get("bounty", seen.body)
            found = self.show(record, sight)
            mine = (record["id"], record["status"]) == (
                seen.arguments["bounty_id"],
                state,
            ) and found.buyer == seen.agent
            sight.check(mine, Rule.RESULT, f"{name} by {seen.agent} answers {record['status']}", found.id)
            found.history.calls.append(Call(name, sight.span, state))
        elif found and seen.unknown and found.buyer == seen.agent:
            found.history.calls.append(Call(name, sight.lost))
        elif found:
            self.jobs.doubts.add(sight.span, lambda: self._refused(found, sight))
        return found

    def _refused(self, found: Bounty, sight: Sight) -> None:
        code, agent = sight.seen.code, sight.seen.agent
        states = found.history.possible(sight.span)
        if code in ("bounty_closed", "bounty_not_open"):
            sight.check(states != {"open"}, Rule.REFUSAL, f"{code} on an open bounty", found.id)
        if code == "not_found" and sight.seen.operation in ("close_bounty", "list_proposals"):
            right = agent == found.buyer and sight.seen.env == found.agreed["env"] and agent not in self.jobs.left
            sight.check(not right, Rule.BOUNTY, "the bounty is hidden from its buyer", found.id)
        if code in ("proposal_not_pending", "proposal_changed"):
            self._proposal_refused(found, sight)

    def _proposal_refused(self, found: Bounty, sight: Sight) -> None:
        given = sight.seen.arguments
        proposal = next((one for one in found.proposals.values() if one.id == given["proposal_id"]), None)
        if proposal is None or not proposal.named:
            return
        if sight.seen.code == "proposal_not_pending":
            self._still_pending(found, proposal, sight)
            return
        lost = any(one.state is None for one in proposal.history.calls)
        changed = lost or any(not _reads(terms, given) for terms in proposal.names(sight.span))
        sight.check(changed, Rule.REFUSAL, "the proposal has not changed", found.id)

    def proposed(self, sight: Sight) -> None:
        """Take in the answer of propose_on_bounty or withdraw_proposal."""
        seen, given = sight.seen, sight.seen.arguments
        bounty = self.known.get(str(given["bounty_id"]))
        withdrawn = seen.operation == "withdraw_proposal"
        if seen.succeeded:
            found = self.show_proposal(seen.body, sight)
            mine = (found.seller, seen.body["status"]) == (seen.agent, "withdrawn" if withdrawn else "pending")
            sight.check(mine, Rule.PROPOSAL, f"{seen.operation} answers {seen.body['status']}", found.id)
            if withdrawn:
                found.history.calls.append(Call("withdraw:seller", sight.span, "withdrawn"))
            else:
                found.named.append(((given["price"], given.get("payment", "on_delivery")), sight.span))
                shown = (seen.body["price"], seen.body["payment"])
                sight.check(
                    shown == found.named[-1][0], Rule.PROPOSAL, "another price than the given one stands", found.id
                )
                self._open(bounty, sight)
        elif bounty:
            self._not_proposed(bounty, sight)

    def _not_proposed(self, bounty: Bounty, sight: Sight) -> None:
        found = bounty.proposals.get(str(sight.seen.agent))
        if sight.seen.unknown and found:
            found.history.calls.append(Call("withdraw:seller", sight.lost))
        elif sight.seen.unknown:
            bounty.history.calls.append(Call("propose:seller", sight.lost))
        elif sight.seen.code == "bounty_closed":
            self.jobs.doubts.add(sight.span, lambda: self._refused(bounty, sight))
        elif sight.seen.code == "proposal_final" and found and found.named:
            self.jobs.doubts.add(sight.span, lambda: self._still_pending(bounty, found, sight))

    def _still_pending(self, bounty: Bounty, found: Proposal, sight: Sight) -> None:
        states = bounty.history.possible(sight.span) | found.history.possible(sight.span)
        pending = states == {"open", "pending"}
        sight.check(not pending, Rule.REFUSAL, "the proposal is pending", found.id)

    def _open(self, bounty: Bounty | None, sight: Sight) -> None:
        if bounty:
            self.jobs.doubts.add(sight.span, lambda: self._was_open(bounty, sight))

    def _was_open(self, bounty: Bounty, sight: Sight) -> None:
        states = bounty.history.possible(sight.span)
        sight.check("open" in states, Rule.BOUNTY, f"a proposal is taken while {sorted(states)}", bounty.id)

    def awarded(self, sight: Sight) -> None:
        """Take in the answer of award_bounty: the bounty, and its only job."""
        seen, given = sight.seen, sight.seen.arguments
        if seen.unknown and str(given["bounty_id"]) in self.known:
            self.jobs.lost_orders.append((seen.env, str(seen.agent), str(given["bounty_id"]), sight.lost))
        bounty = self._moved(sight, "award:buyer", "awarded")
        if not seen.succeeded or bounty is None:
            return
        record = seen.body["job"]
        job, view = self.jobs.show(record, sight)
        view.check(record["bounty_id"] == bounty.id, Rule.BOUNTY, "the job is of another bounty")
        view.check(record["id"] == bounty.awarded_job_id, Rule.BOUNTY, "a bounty has a second job")
        proposal = bounty.proposals.get(job.seller)
        if job.origin is None:
            job.origin = sight.span
            job.offered = (given.get("turnaround_seconds", _HOUR_SECONDS),)
            if proposal is not None:
                self._accepted(proposal, record, sight)

    def _accepted(self, proposal: Proposal, record: Any, sight: Sight) -> None:
        given = sight.seen.arguments
        sight.check(proposal.id == given["proposal_id"], Rule.BOUNTY, "another proposal is accepted", record["id"])
        proposal.history.calls.append(Call("award:buyer", sight.span, "accepted"))
        proposal.history.show("accepted", sight)
        terms = (record["price"], record["payment"]["timing"])
        sight.check(_reads(terms, given), Rule.PRICE, f"the job begins with {terms}", record["id"])
        self.jobs.doubts.add(sight.span, lambda: self._stood(proposal, terms, sight, record["id"]))

    def _stood(self, proposal: Proposal, terms: Any, sight: Sight, job_id: str) -> None:
        lost = any(one.state is None for one in proposal.history.calls)
        stands = not proposal.named or lost or terms in proposal.names(sight.span)
        sight.check(stands, Rule.PRICE, f"{terms} was not proposed", job_id)

    def listed(self, sight: Sight) -> None:
        """Take in the answer of list_proposals: all for the buyer, a seller's own for the seller."""
        if sight.seen.succeeded:
            for record in sight.seen.body["data"]:
                self.show_proposal(record, sight)


def _reads(terms: Any, given: Mapping[str, Any]) -> bool:
    """Say if the terms are those that the call says it has read."""
    price, payment = terms
    return given.get("price") in (None, price) and given.get("payment") in (None, payment)
