"""Judge the actions on jobs: results, refusals, and calls whose answer never came."""

from hashlib import sha256
from typing import Any

import rfc8785

from tests.simulation.model.history import Call, label
from tests.simulation.model.job import Job
from tests.simulation.model.jobs import Jobs
from tests.simulation.model.lifecycle import ACTION, BUYER, RESULTS, ROLES, kind
from tests.simulation.model.observe import Rule, Sight, at, later
from tests.simulation.model.records import View


class Actions:
    """The answers of actions on jobs."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs, self.money, self.doubts, self.contract = jobs, jobs.money, jobs.doubts, jobs.contract

    def acted(self, sight: Sight) -> None:
        """Take in the answer of an action on a job."""
        seen = sight.seen
        job, action = self.jobs.known.get(str(seen.arguments.get("job_id"))), ACTION[seen.operation]
        if seen.succeeded and seen.body["object"] == "job":
            self._done(*self.jobs.show(seen.body, sight), action, sight)
        elif job is not None and action == "pay" and "already_paid" in seen.body:
            self._terms(job, seen.body, sight)
        elif seen.unknown and job is not None:
            self._lost(job, action, sight)
        elif job is not None:
            self._refused(job, action, sight)

    def _terms(self, job: Job, terms: Any, sight: Sight) -> None:
        """Check the sums of the terms of payment, and that they were due."""
        sums = (terms["job_id"], terms["price"], terms["amount"] + terms["already_paid"])
        sight.check(sums == (job.id, job.price, job.price), Rule.TERMS, f"{sums} is not the price {job.price}", job.id)
        sight.check(sight.seen.agent == job.buyer, Rule.PARTY, "terms for another agent than the buyer", job.id)
        if terms.get("gasless"):  # the market then looks for the payment itself
            job.history.calls.append(Call("pay:buyer", sight.lost))
        self.doubts.add(sight.span, lambda: self._terms_due(job, terms, sight))

    def _terms_due(self, job: Job, terms: Any, sight: Sight) -> None:
        states = job.possible(sight.span)
        payable = any(kind(one) in ("awaiting_payment", "sealed", "unpaid", "unpaid_sealed") for one in states)
        sight.check(payable, Rule.RESULT, f"terms are answered in {sorted(states)}", job.id)
        paid = self.money.arrived(job.id)
        least = sum(one.amount for one in paid if one.surely(sight.span))
        most = sum(one.amount for one in paid if one.maybe(sight.span))
        open_end = self.money.hidden(job.env, job.id, "pay_job", sight.span)
        fits = least <= terms["already_paid"] and (open_end or terms["already_paid"] <= most)
        sight.check(fits, Rule.TERMS, f"{terms['already_paid']} has arrived, not {least} to {most}", job.id)

    def _done(self, job: Job, view: View, action: str, sight: Sight) -> None:
        role, seen = view.role, sight.seen
        view.check(job.id == seen.arguments["job_id"], Rule.RESULT, "the answer is of another job")
        view.check(role in ROLES[action], Rule.PARTY, f"the {role} cannot {action}")
        name = label(action, role)
        results = RESULTS.get(name)
        view.check(results is None or view.kind in results, Rule.RESULT, f"{action} ends in {view.state}")
        job.history.calls.append(Call(name, sight.span, view.state))
        self._detail(job, view, action, sight)

    def _detail(self, job: Job, view: View, action: str, sight: Sight) -> None:
        given, record = sight.seen.arguments, view.record
        if action == "quote":
            view.check(
                record["quoted_price"] == given["price"], Rule.PRICE, "another price than the given one is quoted"
            )
            job.quotes.append((given["price"], sight.span))
        if action == "accept_quote" and given.get("price") is not None:
            view.check(record["price"] == given["price"], Rule.PRICE, "another price than the read one is agreed")
        if action == "deliver":
            self._delivered(job, view, given["output"])
        if action == "cancel" and view.kind == "cancelled":
            self._cancelled(job, view)
        if action == "pay":
            view.check(
                record["payment"]["status"] in ("paid", "none"), Rule.RESULT, "pay succeeds and the job is unpaid"
            )
            self.money.submitted(sight)
        if action == "refund":
            self.money.submitted(sight)

    def _delivered(self, job: Job, view: View, output: Any) -> None:
        made = sha256(rfc8785.dumps(output)).hexdigest()
        view.check(view.record["output_hash"] == made, Rule.DIGEST, "another output than the given one is kept")

    def _cancelled(self, job: Job, view: View) -> None:
        """Check that a buyer that stopped work in progress did so after the grace."""
        late = at(view.record["deadlines"]["deliver_by"])
        working = [one.state for one in job.history.visits if one.state != "cancelled"][-1:]
        if view.role == BUYER and late and working and kind(working[0]) == "in_progress":
            grace = later(late, self.contract.grace_seconds)
            view.check(view.before(grace) is not True, Rule.PUNCTUAL, f"the buyer stopped the work before {grace}")

    def _lost(self, job: Job, action: str, sight: Sight) -> None:
        role = job.role(sight.seen.agent)
        if action == "pay" and not (sight.seen.arguments.get("transaction") or sight.seen.arguments.get("gasless")):
            return
        if role and role in ROLES[action]:
            job.history.calls.append(Call(label(action, role), sight.lost))
        if action in ("pay", "refund"):
            self.money.submitted(sight)

    def _refused(self, job: Job, action: str, sight: Sight) -> None:
        seen, role = sight.seen, job.role(sight.seen.agent)
        if seen.code == "not_found":
            hidden = role is not None and seen.agent not in self.jobs.left and job.env == seen.env
            sight.check(not hidden, Rule.PARTY, "the job is hidden from its party", job.id)
        if role is None or job.env != seen.env:
            return
        if seen.code == "invalid_transition":
            self.doubts.add(sight.span, lambda: self._forbidden(job, action, role, sight))
        if seen.code == "quote_changed":
            self.doubts.add(sight.span, lambda: self._quote_changed(job, sight))
        if seen.code == "job_not_payable" and not seen.error.get("details", {}).get("settlement"):
            self.doubts.add(sight.span, lambda: self._not_payable(job, sight))
        self._transfer_refused(job, action, sight)

    def _forbidden(self, job: Job, action: str, role: str, sight: Sight) -> None:
        name = label(action, role)
        states = job.possible(sight.span)
        legal = states and all(self._legal(job, name, state, sight) for state in states)
        sight.check(not legal, Rule.REFUSAL, f"the {role} may {action} in {sorted(states)}", job.id)

    def _legal(self, job: Job, name: str, state: str, sight: Sight) -> bool:
        """Say if a call must succeed in a state: it is a move, or repeats the caller's own move."""
        if any(one.label == name and one.state == state and one.span.precedes(sight.span) for one in job.history.calls):
            return name not in ("deliver:seller", "request_revision:buyer", "quote:seller", "pay:buyer")
        if name == "request_revision:buyer" and kind(state) == "revealed":
            return int(state.partition(":")[2]) < int(job.agreed["max_revisions"])
        if name == "cancel:buyer" and kind(state) == "in_progress":
            return self._overdue(job, state, sight)
        if name == "pay:buyer" and kind(state).startswith("unpaid"):
            return False
        if name == "deliver:seller" and state == "open":
            return bool(job.agreed["timing"] == "on_delivery")
        if name == "quote:seller" and state == "quoted":
            return True
        if name == "refund:seller":
            return False
        return any(one == name for one, _ in job.history.graph.moves[state])

    def _overdue(self, job: Job, state: str, sight: Sight) -> bool:
        deliver_by: str | None = job.due.get(state, (None, None, None, None))[2]
        return bool(deliver_by) and later(at(deliver_by), self.contract.grace_seconds) < sight.span.began

    def _quote_changed(self, job: Job, sight: Sight) -> None:
        given = sight.seen.arguments.get("price")
        before = [(span.high, price) for price, span in job.quotes if span.precedes(sight.span)]
        beside = [price for price, span in job.quotes if span.may_precede(sight.span) and not span.precedes(sight.span)]
        lost = any(one.label == "quote:seller" and one.state is None for one in job.history.calls)
        standing = [max(before)[1]] if before else []
        justified = lost or any(price != given for price in standing + beside)
        sight.check(justified, Rule.REFUSAL, f"the quote stands at {standing}", job.id)

    def _not_payable(self, job: Job, sight: Sight) -> None:
        states = job.possible(sight.span)
        payable = states and all(kind(state) in ("awaiting_payment", "sealed") for state in states)
        sight.check(not payable, Rule.REFUSAL, f"the job is payable in {sorted(states)}", job.id)

    def _transfer_refused(self, job: Job, action: str, sight: Sight) -> None:
        details = sight.seen.error.get("details") or {}
        if details.get("settlement"):
            self.money.show(details["settlement"], sight)
        if details.get("reason") != "amount_too_low" or not details.get("recorded"):
            return
        self.money.submitted(sight)
        if action == "pay":
            sums = (details["transferred"] + details["remaining"], details["required"])
            sight.check(sums == (job.price, job.price), Rule.TERMS, f"{details} do not add up to {job.price}", job.id)
            sight.check(details["remaining"] > 0, Rule.TERMS, "nothing remains and the payment is refused", job.id)
