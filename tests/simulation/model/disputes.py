"""Follow cases: panel, votes, ruling, and what they mean for the job."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.simulation.model.history import PANEL, Call, History, Visit
from tests.simulation.model.jobs import Jobs
from tests.simulation.model.lifecycle import DISPUTE
from tests.simulation.model.observe import Rule, Sight, Span, at, later
from tests.simulation.model.votes import Ballots

_PARTIES = ("buyer", "seller")
_OUTCOMES = ("buyer", "seller", "split")
_AGREED = ("env", "created_at", "panel_seed_hash")
_CLOSED_ONLY = ("tally", "verdicts", "panel_seed", "draws", "outcome", "resolved_by")


@dataclass(slots=True)
class Dispute:
    """One case."""

    id: str
    agreed: dict[str, Any]
    history: History
    ballots: Ballots
    job_id: str | None = None
    ends: Any = None  # outcome, resolved_by and tally, once closed


class Disputes:
    """All cases that answers showed."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.known: dict[str, Dispute] = {}
        self.rulings: list[tuple[str, Span]] = []

    def show(self, record: Any, sight: Sight) -> Dispute:
        """Take in a case record."""
        agreed = {name: record[name] for name in _AGREED}
        found = self.known.get(record["id"]) or self._new(record["id"], agreed)
        sight.check(found.agreed == agreed, Rule.DISPUTE, f"{agreed} was {found.agreed}", found.id)
        self._job(found, record, sight)
        visit, new = found.history.show(record["status"], sight)
        visit.due = visit.due or at(record["verdict_by"])
        self._secrets(found, record, sight)
        self._panel(found, record, sight)
        self._votes(found, record, sight)
        if record["status"] == "resolved":
            self._closed(found, record, sight)
        if new:
            self.jobs.doubts.add(sight.span, lambda: self._caused(found, visit, sight))
        return found

    def _new(self, name: str, agreed: dict[str, Any]) -> Dispute:
        self.known[name] = Dispute(name, agreed, History(DISPUTE, name), self.jobs.ballots_of(name))
        return self.known[name]

    def _job(self, found: Dispute, record: Any, sight: Sight) -> None:
        if record["job_id"]:
            same = found.job_id in (None, record["job_id"])
            sight.check(same, Rule.DISPUTE, "the case is of another job", found.id)
            found.job_id = record["job_id"]
        job = self.jobs.known.get(found.job_id or "")
        role = job.role(sight.seen.agent) if job else None
        fits = job is None or record["role"] == "operator" or (record["role"] == (role or "evaluator"))
        sight.check(fits, Rule.DISPUTE, f"{sight.seen.agent} is no {record['role']}", found.id)

    def _secrets(self, found: Dispute, record: Any, sight: Sight) -> None:
        shown = [name for name in _CLOSED_ONLY if record[name] is not None]
        sight.check(record["status"] == "resolved" or not shown, Rule.VOTE, f"{shown} of an open case", found.id)

    def _panel(self, found: Dispute, record: Any, sight: Sight) -> None:
        required = record["seats"] // 2 + 1 if record["seats"] else 0  # a case without a panel
        fits = record["required"] == required and 0 <= record["votes_received"] <= record["seats"]
        sight.check(fits, Rule.VOTE, f"{record['votes_received']} votes, {record['required']} required", found.id)
        sight.check(record["round"] <= self.jobs.contract.rounds, Rule.DISPUTE, f"round {record['round']}", found.id)
        if record["status"] != "panel":
            sight.check(record["verdict_by"] is None, Rule.DISPUTE, "a deadline without a panel", found.id)
            return
        kept = record["verdict_by"]
        found.ballots.due(record["round"], kept, sight)
        self._punctual(found, record, sight)
        window = self.jobs.contract.verdict_seconds[record["env"]]
        first = later(at(record["created_at"]), window)
        # A vacant seat is drawn again before the deadline; Panels checks that no other seat waits then.
        moved = at(kept) == first if record["round"] == 1 else first <= at(kept) <= later(sight.span.ended, window)
        sight.check(moved, Rule.DEADLINE, f"verdict_by of round {record['round']} is {kept}", found.id)

    def _punctual(self, found: Dispute, record: Any, sight: Sight) -> None:
        """Check that no panel waits after its deadline.

        Only a call that writes draws seats again, so a read may show the first round longer.
        """
        ends = record["round"] == self.jobs.contract.rounds or sight.seen.operation == "submit_verdict"
        waits = not ends or sight.span.began <= at(record["verdict_by"])
        sight.check(waits, Rule.PUNCTUAL, f"the panel waits after {record['verdict_by']}", found.id)

    def _votes(self, found: Dispute, record: Any, sight: Sight) -> None:
        seat = record["my_vote"]
        sight.check((seat is not None) == (record["role"] == "evaluator"), Rule.VOTE, f"the seat is {seat}", found.id)
        if seat is not None:
            found.ballots.show(record, sight)
        if seat is not None and seat["status"] == "voted":
            self.jobs.doubts.add(sight.span, lambda: found.ballots.was_sent(seat, sight))
        self.jobs.doubts.add(sight.span, lambda: found.ballots.counted(record, sight))

    def _closed(self, found: Dispute, record: Any, sight: Sight) -> None:
        tally, outcome = record["tally"], record["outcome"]
        ends = (outcome, record["resolved_by"], tally)
        found.ends = found.ends or ends
        sight.check(found.ends == ends, Rule.DISPUTE, f"the ruling was {found.ends} and is {ends}", found.id)
        sight.check(sum(tally.values()) == record["votes_received"], Rule.VOTE, f"the tally is {tally}", found.id)
        listed = Counter(one["outcome"] for one in record["verdicts"])
        sight.check(
            all(listed[one] == tally.get(one, 0) for one in _OUTCOMES),
            Rule.VOTE,
            "verdicts differ from the tally",
            found.id,
        )
        if record["resolved_by"] == "panel":
            others = [count for name, count in tally.items() if name != outcome]
            sight.check(
                tally.get(outcome, 0) > max(others), Rule.VOTE, f"{outcome} has not the most of {tally}", found.id
            )
        by_operator = record["resolved_by"] != "operator" or record["escalation_reason"]
        sight.check(bool(by_operator), Rule.DISPUTE, "the operator ruled on a case that is the panel's", found.id)
        self.jobs.doubts.add(sight.span, lambda: self._tallied(found, record, sight))

    def _tallied(self, found: Dispute, record: Any, sight: Sight) -> None:
        """Check that each vote seen before the end counts, and that the job says the same."""
        found.ballots.listed(record, sight)
        cast = Counter(one.outcome for one in found.ballots.cast.values())
        counted = all(cast[one] <= record["tally"].get(one, 0) for one in _OUTCOMES)
        sight.check(counted, Rule.VOTE, f"{dict(cast)} were cast, {record['tally']} counted", found.id)
        job = self.jobs.known.get(found.job_id or "")
        if job is not None:
            states = job.possible(sight.span)
            expected = "completed" if record["resolved_by"] == "buyer" else "resolved"
            fits = bool(states & {expected, "disputed"}) or not states
            sight.check(fits, Rule.DISPUTE, f"the job is {sorted(states)}", found.id)

    def _caused(self, found: Dispute, visit: Visit, sight: Sight) -> None:
        ruled = any(job == found.job_id for job, _ in self.rulings)
        caused = found.history.causes(visit, lambda name: name == PANEL or (name == "resolve:operator" and ruled))
        sight.check(caused, Rule.DISPUTE, f"nothing explains {visit.state}", found.id)

    def awaited(self, sight: Sight) -> None:
        """Take in the cases of an inbox that wait for the caller's vote."""
        for entry in sight.seen.body["disputes_awaiting_my_verdict"] if sight.seen.succeeded else ():
            ballots = self.jobs.ballots_of(entry["id"])
            ballots.due(entry["round"], entry["verdict_by"], sight)
            waits = sight.span.began <= at(entry["verdict_by"])
            sight.check(waits, Rule.PUNCTUAL, f"a vote is awaited after {entry['verdict_by']}", entry["id"])
            cast = ballots.cast.get(str(sight.seen.agent))
            done = cast is not None and cast.span.precedes(sight.span)
            sight.check(not done, Rule.INBOX, "a vote is awaited that counts already", entry["id"])

    # -- calls -------------------------------------------------------------------------------------------------------

    def voted(self, sight: Sight) -> None:
        """Take in the answer of submit_verdict."""
        seen = sight.seen
        found = self.known.get(str(seen.arguments["dispute_id"]))
        if seen.succeeded:
            found = self.show(seen.body, sight)
            found.ballots.accept(sight)
            evidence = seen.body["evidence"]
            counts = sight.span.ended >= at(evidence["votes_count_from"]) or len(evidence["done"]) == len(_PARTIES)
            sight.check(counts, Rule.VOTE, "a vote counts before the evidence is complete", found.id)
        elif found is not None and seen.unknown:
            found.ballots.lose(sight)
            found.history.calls.append(Call(PANEL, sight.lost))
        elif found is not None and seen.code in ("already_voted", "dispute_closed", "deadline_missed"):
            self.jobs.doubts.add(sight.span, lambda: self._not_voted(found, sight))

    def _not_voted(self, found: Dispute, sight: Sight) -> None:
        seen, ballots = sight.seen, found.ballots
        if seen.code == "deadline_missed":
            ballots.missed(sight)
            return
        if seen.code == "already_voted":
            cast = ballots.cast.get(str(seen.agent))
            other = cast is not None and cast.outcome != seen.arguments["outcome"] and cast.span.may_precede(sight.span)
            sight.check(other or seen.agent in ballots.lost, Rule.REFUSAL, "the same vote again is refused", found.id)
            return
        states = found.history.possible(sight.span)
        closed = states != {"panel"} or self.jobs.may_lose_seat(str(seen.agent))
        sight.check(closed, Rule.REFUSAL, f"dispute_closed in {sorted(states)}", found.id)

    def withdrawn(self, sight: Sight) -> None:
        """Take in the answer of withdraw_dispute: only the buyer's, and only of an undecided case."""
        seen = sight.seen
        found = self.known.get(str(seen.arguments["dispute_id"]))
        if seen.succeeded:
            found = self.show(seen.body, sight)
            right = (seen.body["role"], seen.body["resolved_by"]) == ("buyer", "buyer")
            sight.check(right, Rule.DISPUTE, f"withdrawn by the {seen.body['role']}", found.id)
            self._withdraws(found, Call("withdraw:buyer", sight.span, "resolved"))
            self.jobs.doubts.add(sight.span, lambda: self._undecided(found, sight))
        elif found is not None and seen.unknown:
            self._withdraws(found, Call("withdraw:buyer", sight.lost))
        elif found is not None and seen.code == "dispute_closed":
            self.jobs.doubts.add(sight.span, lambda: self._was_open(found, sight))

    def _undecided(self, found: Dispute, sight: Sight) -> None:
        """Check that the panel's last deadline had not ended a case that is withdrawn."""
        due = at(found.ballots.deadlines.get(self.jobs.contract.rounds))
        spans = [one.span for one in found.history.calls if one.label == "withdraw:buyer"]
        in_time = due is None or sight.seen.body["escalation_reason"] or any(one.began <= due for one in spans)
        sight.check(bool(in_time), Rule.PUNCTUAL, f"withdrawn after the panel's end at {due}", found.id)

    def _withdraws(self, found: Dispute, call: Call) -> None:
        found.history.calls.append(call)
        job = self.jobs.known.get(found.job_id or "")
        if job is not None:
            job.history.calls.append(Call(call.label, call.span, "completed" if call.state else None))

    def _was_open(self, found: Dispute, sight: Sight) -> None:
        states = found.history.possible(sight.span)
        sight.check("resolved" in states, Rule.REFUSAL, f"dispute_closed in {sorted(states)}", found.id)

    def ruled(self, sight: Sight) -> None:
        """Take in the answer of resolve_job, the operator's."""
        seen = sight.seen
        if seen.succeeded or seen.unknown:
            self.rulings.append((str(seen.arguments["job_id"]), sight.span))
        if seen.succeeded and seen.body["object"] == "dispute":
            found = self.show(seen.body, sight)
            given = seen.arguments.get("verdict") or seen.arguments.get("outcome")
            sight.check(seen.body["outcome"] == given, Rule.DISPUTE, f"the ruling {given} is not kept", found.id)
            found.history.calls.append(Call("resolve:operator", sight.span, "resolved"))
