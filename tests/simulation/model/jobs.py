"""Follow each job through its records: what it promised, what became of it, and what is owed."""

from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import Any

import orjson

from tests.simulation.model.history import VERDICT, Call, History, Visit
from tests.simulation.model.job import Job, Stamps
from tests.simulation.model.lifecycle import AWARDED_JOB, JOB, SELLER, kind, reviewable
from tests.simulation.model.money import Money
from tests.simulation.model.observe import Contract, Doubts, Rule, Sight, Span, at
from tests.simulation.model.records import RECORD_RULES, View, due_of
from tests.simulation.model.votes import Ballots

_AGREED = (
    "env",
    "listing_id",
    "bounty_id",
    "title",
    "units",
    "max_revisions",
    "thread_id",
    "created_at",
    "panel_seed_hash",
)
_ONCE = ("accepted_at", "completed_at", "dispute_id", "reference", "max_price")
_BUYERS_OWN = ("reference", "max_price")  # not shown to the seller
_FORGET_AFTER = 5_000  # answers; no call is in flight for so long
_EARLY = ("declined", "cancelled", "expired", "unpaid", "unpaid_sealed")


class Jobs:
    """All jobs that answers showed."""

    def __init__(self, contract: Contract, doubts: Doubts, money: Money) -> None:
        self.contract, self.doubts, self.money = contract, doubts, money
        self.known: dict[str, Job] = {}
        self.ballots: dict[str, Ballots] = {}  # by case
        self.of_listing: dict[str, list[Job]] = {}
        self.of_buyer: dict[tuple[str, str], list[Job]] = {}
        self.of_agent: dict[tuple[str, str], list[Job]] = {}
        self.completed: Counter[str] = Counter()  # forgotten completed jobs, by listing
        self.expired: dict[str, set[str]] = {}  # by listing: the buyers of forgotten expired jobs
        self.left: set[str] = set()  # agents whose account was deleted or suspended
        self.holders: dict[str, set[str]] = {}  # by wallet: the agents that may have bound it
        self.callers: set[str] = set()  # agents that have made a call
        self.bought: dict[str, set[tuple[str, str]]] = {}  # by listing: the payments of clients without an account
        self.purchased: Counter[str] = Counter()  # the jobs of such clients, by listing
        self.lost_orders: list[tuple[str, str, str, Span]] = []  # environment, buyer, listing, span
        self.reviewed: dict[tuple[str, str], Span] = {}

    def living(self, index: dict[Any, list[Job]], key: Any, span: Span) -> list[Job]:
        """Return the jobs of an index that had not ended long before a call; forget the others."""
        jobs = index.get(key, [])
        jobs[:] = [one for one in jobs if not self._forgotten(one, span, count=index is self.of_listing)]
        return jobs

    def _forgotten(self, job: Job, span: Span, *, count: bool) -> bool:
        last = job.history.last
        gone = job.history.graph.final(last.state) and last.first_high < span.low - _FORGET_AFTER
        if gone and count and reviewable(last.state):
            self.completed[job.agreed["listing_id"]] += 1
        if gone and count and last.state == "expired":
            self.expired.setdefault(job.agreed["listing_id"], set()).add(job.buyer)
        return gone

    def may_lose_seat(self, agent: str) -> bool:
        """Say if an evaluator may lose a seat: it was suspended, or shares a wallet with another."""
        return agent in self.left or any(agent in held and len(held) > 1 for held in self.holders.values())

    # -- a record ----------------------------------------------------------------------------------------------------

    def show(self, record: Any, sight: Sight) -> tuple[Job, View]:
        """Take in a job record of any answer. Raises Violation."""
        job = self.known.get(record["id"]) or self._new(record, sight)
        view = View.of(record, sight, self.contract, purchased=job.purchased > 0)
        for rule in RECORD_RULES:
            rule(view)
        self._agreed(job, record, sight)
        visit, new = job.history.show(view.state, sight)
        if visit.due is None:
            visit.due = due_of(view)
        if new:
            job.stamps[view.state] = Stamps.of(record)
            self.doubts.add(sight.span, lambda: self._caused(job, visit, sight))
        self._shown_again(job, view)
        self._decided(job, view)
        self._deadlines_stay(job, view)
        self._price(job, view)
        self._deliveries(job, view)
        self._review_offered(job, view)
        self._settlements(job, view)
        return job, view

    def _new(self, record: Any, sight: Sight) -> Job:
        buyer, seller = record["buyer"]["id"], record["seller"]["id"]
        graph = AWARDED_JOB if record["bounty_id"] else JOB
        agreed = {name: record[name] for name in _AGREED} | {"timing": record["payment"]["timing"]}
        job = Job(record["id"], record["env"], buyer, seller, agreed, History(graph, record["id"]))
        self.known[job.id] = job
        if record["listing_id"] in self.bought and buyer not in self.callers:
            self._purchased(job, sight)
        self.of_buyer.setdefault((job.env, buyer), []).append(job)
        for agent in (buyer, seller):
            self.of_agent.setdefault((job.env, agent), []).append(job)
        if record["listing_id"]:
            self.of_listing.setdefault(record["listing_id"], []).append(job)
        return job

    def _purchased(self, job: Job, sight: Sight) -> None:
        """Remember a job of a client without an account.

        The market may pay, accept or cancel it at any time.
        """
        self.purchased[job.agreed["listing_id"]] += 1
        job.purchased = self.purchased[job.agreed["listing_id"]]
        at_any_time = replace(sight.lost, low=-1, began=at(job.agreed["created_at"]))
        job.history.calls += [Call(name, at_any_time) for name in ("purchase", "pay:buyer", "accept:buyer")]

    def _agreed(self, job: Job, record: Any, sight: Sight) -> None:
        shown = {name: record[name] for name in _AGREED} | {"timing": record["payment"]["timing"]}
        parties = (record["buyer"]["id"], record["seller"]["id"])
        changed = [name for name, value in shown.items() if job.agreed[name] != value]
        sight.check(
            not changed and parties == (job.buyer, job.seller), Rule.AGREED, f"{changed or 'a party'} changed", job.id
        )
        for name in _ONCE:
            if record[name] is not None:
                job.since.setdefault(name, sight.span)
                kept = job.once.setdefault(name, record[name])
                sight.check(kept == record[name], Rule.AGREED, f"{name} was {kept} and is {record[name]}", job.id)
        self._input(job, record, sight)

    def _input(self, job: Job, record: Any, sight: Sight) -> None:
        if record.get("archived_at"):
            return
        found = sha256(orjson.dumps(record["input"], option=orjson.OPT_SORT_KEYS)).digest()
        job.input = job.input or found
        sight.check(job.input == found, Rule.AGREED, "the input changed", job.id)

    def _shown_again(self, job: Job, view: View) -> None:
        """Check that nothing which was shown once has vanished."""
        for name in (one for one in _ONCE if view.record[one] is None and one in job.since):
            # A clock that is set back takes back the end that a deadline made.
            undone = name == "completed_at" and bool(self.contract.clock_seconds)
            hidden = name in _BUYERS_OWN and view.role == SELLER
            vanished = job.since[name].precedes(view.sight.span) and not undone and not hidden
            view.check(not vanished, Rule.AGREED, f"{name} was {job.once[name]} and is null")

    def ballots_of(self, case: str) -> Ballots:
        return self.ballots.setdefault(case, Ballots(case, self.contract.clock_seconds))

    def _decided(self, job: Job, view: View) -> None:
        """Check that a job which its panel decides is not disputed after the last deadline.

        That deadline decides or escalates a case, and the panel does not decide an escalated one.
        """
        if view.kind == "disputed":
            job.disputed_at = max(job.disputed_at or view.sight.span.began, view.sight.span.began)
        resolution = view.record["resolution"] or {}
        if view.kind == "resolved" and resolution.get("by") == "panel":
            due = at(self.ballots_of(view.record["dispute_id"]).deadlines.get(self.contract.rounds))
            in_time = None in (due, job.disputed_at) or job.disputed_at < due
            view.check(in_time, Rule.PUNCTUAL, f"disputed at {job.disputed_at}, after its panel's end at {due}")

    def _deadlines_stay(self, job: Job, view: View) -> None:
        found = view.record["deadlines"]
        shown = tuple(found[name] for name in ("accept_by", "pay_by", "deliver_by", "review_by"))
        if job.purchased and view.kind == "sealed":  # while its payment is under way, it has more time
            shown = (*shown[:1], *shown[2:])
        kept = job.due.setdefault(view.state, shown)
        view.check(kept == shown, Rule.DEADLINE, f"deadlines of {view.state} were {kept} and are {shown}")

    def _price(self, job: Job, view: View) -> None:
        price = view.record["price"]
        if price is not None:
            view.check(job.price in (None, price), Rule.PRICE, f"the price was {job.price} and is {price}")
            job.price = price
        quoted = view.record["quoted_price"]
        view.check(
            quoted is None or price in (None, quoted), Rule.PRICE, f"the price {price} is not the quote {quoted}"
        )
        if quoted is not None and quoted not in [amount for amount, _ in job.quotes]:
            self.doubts.add(view.sight.span, lambda: self._quoted(job, view, quoted))

    def _quoted(self, job: Job, view: View, quoted: int) -> None:
        lost = any(one.label == "quote:seller" and one.state is None for one in job.history.calls)
        amounts = [amount for amount, span in job.quotes if span.low < view.sight.span.high]
        view.check(lost or quoted in amounts, Rule.PRICE, f"no quote of {quoted}, only {amounts}")

    def _deliveries(self, job: Job, view: View) -> None:
        record = view.record
        if record["delivered_at"] is None or record.get("archived_at"):
            return
        listed = [one["revision"] for one in record["deliveries"]]
        made = record["revision_count"] + (view.kind != "in_progress")
        allowed = (made, made - 1) if view.kind == "cancelled" else (made,)
        view.check(listed in [list(range(one)) for one in allowed], Rule.DELIVERIES, f"{listed} listed in {view.state}")
        for one in record["deliveries"]:
            self._digest(job, view, one["revision"], one)
        self._digest(job, view, made - 1 if view.kind != "cancelled" else listed[-1], record)

    def _digest(self, job: Job, view: View, revision: int, shown: Any) -> None:
        wrong = job.digest(revision, shown, view.role, sealed=view.sealed)
        view.check(not wrong, Rule.DIGEST, f"{wrong} of delivery {revision} changed")

    def _review_offered(self, job: Job, view: View) -> None:
        if not reviewable(view.state):
            return
        reviewed = self.reviewed.get((job.id, str(view.sight.seen.agent)))
        offered = "review" in view.record["available_actions"]
        view.check(
            not (offered and reviewed and reviewed.precedes(view.sight.span)),
            Rule.ACTIONS,
            "a second review is offered",
        )
        if not offered:
            self.doubts.add(view.sight.span, lambda: self._has_reviewed(job, view))

    def _has_reviewed(self, job: Job, view: View) -> None:
        found = self.reviewed.get((job.id, str(view.sight.seen.agent)))
        view.check(found is not None and found.may_precede(view.sight.span), Rule.ACTIONS, "review is missing")

    def _settlements(self, job: Job, view: View) -> None:
        paid = view.record["payment"]
        for found, kind_ in ((paid["settlement"], "payment"), (view.record["refund"], "refund")):
            if found:
                right = found["job_id"] == job.id and found["kind"] == kind_
                view.check(right, Rule.TRANSFER, f"a {found['kind']} of {found['job_id']} stands as {kind_}")
                self.money.show(found, view.sight)
        if paid["settlement"] and paid["pay_to"]:
            right = paid["settlement"]["pay_to"].lower() == paid["pay_to"].lower()
            view.check(right, Rule.TRANSFER, f"paid to {paid['settlement']['pay_to']}, not {paid['pay_to']}")
        if paid["paid_at"]:
            settled = bool(paid["settlement"]) and paid["settlement"]["settled_at"] == paid["paid_at"]
            view.check(settled, Rule.TRANSFER, "paid without a transfer that settled then")
        if paid["paid_at"] or job.id in self.money.of_job or view.record["refund_due"]:
            self.doubts.add(view.sight.span, lambda: self._owed(job, view))

    def _owed(self, job: Job, view: View) -> None:
        span, found = view.sight.span, view.record["refund_expected"] or 0
        if job.purchased:
            self._owed_for_purchase(job, view, found)
            return
        least, most = self.money.owed(job.id, self._share(job, view), view.kind in _EARLY, span)
        hidden = self.money.hidden(job.env, job.id, "pay_job", span)
        back = self.money.hidden(job.env, job.id, "refund_job", span)
        holds = (back or least <= found) and (hidden or found <= most)
        view.check(holds, Rule.REFUND, f"{found} is owed back, not {least} to {most}")
        arrived = sum(one.amount for one in self.money.arrived(job.id))
        enough = view.record["payment"]["paid_at"] is None or hidden or arrived >= (job.price or 0)
        view.check(enough, Rule.TRANSFER, f"paid with {arrived} of {job.price}")

    def _owed_for_purchase(self, job: Job, view: View, found: int) -> None:
        """Check what is owed back for a purchase.

        That is its whole payment if it arrived after the job had ended.
        """
        late = job.paid_late is not None and job.paid_late[1].precedes(view.sight.span)
        right = found in (0, job.price) and (found or view.record["refund"] or not late)
        view.check(bool(right), Rule.UNCHARGED, f"{found} of {job.price} is owed back, paid late: {job.paid_late}")

    def may_owe(self, job: Job, state: str, span: Span) -> bool:
        """Say if the seller may owe something back in a state."""
        share = 2 if kind(state) in ("cancelled", "resolved") else 0
        most = self.money.owed(job.id, share, kind(state) in _EARLY, span)[1]
        return most > 0 or self.money.hidden(job.env, job.id, "pay_job", span)

    def _share(self, job: Job, view: View) -> int:
        """Return how many halves of the payment are owed back."""
        outcome = (view.record["resolution"] or {}).get("outcome")
        if view.kind == "resolved":
            return {"buyer": 2, "split": 1}.get(str(outcome), 0)
        return 2 if view.kind == "cancelled" else 0

    # -- a move ------------------------------------------------------------------------------------------------------

    def _caused(self, job: Job, visit: Visit, sight: Sight) -> None:
        """Check that calls or deadlines explain a state, once all calls beside it are known."""
        if not job.history.stands(visit):
            return
        caused = job.history.causes(visit, lambda name: self._other_cause(job, name))
        sight.check(caused, Rule.CAUSE, f"no call or deadline explains {visit.state}", job.id)
        known = job.origin is not None or self._paid_for(job) or self._lost_order(job, visit)
        sight.check(known, Rule.CAUSE, "no call created the job", job.id)
        self._turnaround(job, visit, sight)
        moment, labels = job.stamps[visit.state].of_move(visit.state, job)
        before = job.history.before(visit)
        if moment is not None and not job.purchased and (before or visit is job.history.visits[0]):
            spans = [one.span for one in job.history.calls if one.label in labels and one.state in (None, visit.state)]
            within = any(one.began <= moment <= one.ended for one in spans)
            timed = before is not None and moment == before.due
            sight.check(within or timed, Rule.MOMENT, f"{visit.state} since {moment}, when no call made it so", job.id)

    def _turnaround(self, job: Job, visit: Visit, sight: Sight) -> None:
        """Check that the first deliver_by counts from the payment or the acceptance."""
        shown = job.stamps[visit.state]
        began = shown.paid if job.agreed["timing"] == "upfront" and job.price else shown.accepted
        if visit.state == "in_progress:0" and began and shown.deliver_by:
            job.turnaround = (shown.deliver_by - began).total_seconds()
            fits = not job.offered or job.turnaround in job.offered
            sight.check(fits, Rule.DEADLINE, f"{job.turnaround} s to deliver, not {job.offered}", job.id)

    def _other_cause(self, job: Job, name: str) -> bool:
        party = {"left:seller": job.seller, "left:buyer": job.buyer}.get(name)
        return name == VERDICT or party in self.left

    def _paid_for(self, job: Job) -> bool:
        """Say if clients without an account sent a payment for a job and for each one before it."""
        return 0 < job.purchased <= len(self.bought[job.agreed["listing_id"]])

    def _lost_order(self, job: Job, visit: Visit) -> bool:
        order = (job.env, job.buyer, job.agreed["listing_id"] or job.agreed["bounty_id"])
        return any(one[:3] == order and one[3].low < visit.first_high for one in self.lost_orders)
