"""Check answers as such: idempotency, reviews, lists, the inbox and deliveries."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import orjson

from tests.simulation.model.job import Job
from tests.simulation.model.jobs import Jobs
from tests.simulation.model.lifecycle import ACTIONS, BUYER, ROLES, SELLER, kind, reviewable
from tests.simulation.model.observe import Doubts, Observation, Rule, Sight, Span, later

_READS = ("get_", "list_", "search_", "find_", "check_", "verify_", "stream_", "export_")
_NOT_HASHED = ("api_key", "idempotency_key", "wait_seconds", "detail")
_KEPT_SECONDS = 86_400
_PRESENT = ("hire",)  # may answer a repeated call with the same job in its present state
_MOST_SHOWN = 50  # of the jobs in an inbox that wait; with more, some are left out


class Idempotency:
    """Answers by key and caller."""

    def __init__(self, doubts: Doubts) -> None:
        self.doubts = doubts
        self.kept: dict[tuple[str | None, str, str], tuple[bytes, bytes, Span]] = {}
        self.lost: dict[tuple[str | None, str, str], list[tuple[bytes, Span]]] = {}

    def repeats(self, sight: Sight) -> bool:
        """Say if an answer repeats an earlier one, which then is no news. Raises Violation."""
        seen = sight.seen
        if not seen.idempotency_key or seen.operation.startswith(_READS):
            return False
        name = (seen.agent, seen.env, seen.idempotency_key)
        call = fingerprint(seen)
        if seen.succeeded:  # MCP and A2A answer terms without an error; REST refuses with them, and keeps no refusal
            return not seen.asks_for_payment and self._answered(name, call, sight)
        if seen.unknown:
            self.lost.setdefault(name, []).append((call, sight.span))
        if seen.code == "idempotency_key_reused":
            self.doubts.add(sight.span, lambda: self._reused(name, call, sight))
        return False

    def _answered(self, name: tuple[str | None, str, str], call: bytes, sight: Sight) -> bool:
        kept = self.kept.get(name)
        if kept is None or later(kept[2].ended, _KEPT_SECONDS) < sight.span.ended:
            self.kept[name] = (call, _result(sight.seen), sight.span)
            return self._late(name, call, sight)
        sight.check(kept[0] == call, Rule.IDEMPOTENCY, "one key made two different calls", name[2])
        same = _result(sight.seen) == kept[1]
        if sight.seen.operation not in _PRESENT:
            sight.check(same, Rule.IDEMPOTENCY, "one key has two answers", name[2])
        return same

    def _late(self, name: tuple[str | None, str, str], call: bytes, sight: Sight) -> bool:
        """Widen the span of an answer that may be an earlier call's, whose own answer was lost."""
        earlier = [span for lost, span in self.lost.get(name, ()) if lost == call]
        if earlier:
            spans = (sight.span, *earlier)  # an attempt before the lost one may have had the effect too
            low, began = min(one.low for one in spans), min(one.began for one in spans)
            sight.span = Span(low, sight.span.high, began, sight.span.ended)
        return False

    def _reused(self, name: tuple[str | None, str, str], call: bytes, sight: Sight) -> None:
        kept = self.kept.get(name)
        other = kept is not None and kept[0] != call and kept[2].may_precede(sight.span)
        lost = any(one != call for one, _ in self.lost.get(name, ()))
        sight.check(other or lost, Rule.IDEMPOTENCY, "the key is refused without another call", name[2])


def fingerprint(seen: Observation) -> bytes:
    """Return the operation and its arguments as one comparable value."""
    given = {name: value for name, value in seen.arguments.items() if name not in _NOT_HASHED}
    return sha256(orjson.dumps([seen.operation, given], option=orjson.OPT_SORT_KEYS)).digest()


def _result(seen: Observation) -> bytes:
    """Return what a repeated call answers again, as one comparable value."""
    return sha256(orjson.dumps([seen.status, seen.body], option=orjson.OPT_SORT_KEYS)).digest()


class Reviews:
    """Reviews by job and reviewer."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.kept: dict[tuple[str, str], Any] = {}

    def made(self, sight: Sight) -> None:
        """Take in the answer of review_job."""
        seen = sight.seen
        job = self.jobs.known.get(str(seen.arguments["job_id"]))
        if seen.succeeded:
            self.show(seen.body, sight)
            given = (seen.agent, seen.arguments["rating"])
            shown = (seen.body["reviewer"]["id"], seen.body["rating"])
            sight.check(shown == given, Rule.REVIEW, f"the review is {shown}, not {given}", seen.body["job_id"])
            if job is not None:
                self.jobs.doubts.add(sight.span, lambda: self._finished(job, sight))
        elif seen.unknown:
            self.jobs.reviewed.setdefault((str(seen.arguments["job_id"]), str(seen.agent)), sight.lost)
        elif job is not None and seen.code in ("already_reviewed", "job_not_settled", "not_found"):
            self.jobs.doubts.add(sight.span, lambda: self._refused(job, sight))

    def show(self, record: Any, sight: Sight) -> None:
        """Take in a review record."""
        who = (record["job_id"], record["reviewer"]["id"])
        fixed = {
            name: record[name] for name in ("id", "subject_id", "role", "rating", "comment", "job_value", "created_at")
        }
        kept = self.kept.setdefault(who, fixed)
        sight.check(kept["id"] == fixed["id"], Rule.REVIEW, "a second review of one party", who[0])
        sight.check(kept == fixed, Rule.REVIEW, "a review has changed", who[0])
        sight.check(
            type(record["rating"]) is int and 1 <= record["rating"] <= 5,
            Rule.REVIEW,
            f"rating {record['rating']}",
            who[0],
        )
        job = self.jobs.known.get(who[0])
        if job is not None:
            parties = {job.buyer: (job.seller, BUYER), job.seller: (job.buyer, SELLER)}.get(who[1])
            right = parties == (record["subject_id"], record["role"])
            sight.check(right, Rule.REVIEW, "the reviewer or subject is no party", who[0])
        first = self.jobs.reviewed.get(who)
        if first is None or sight.span.high < first.high:
            self.jobs.reviewed[who] = sight.span

    def _finished(self, job: Job, sight: Sight) -> None:
        states = job.possible(sight.span)
        sight.check(any(map(reviewable, states)), Rule.REVIEW, f"a review in {sorted(states)}", job.id)

    def _refused(self, job: Job, sight: Sight) -> None:
        seen, states = sight.seen, job.possible(sight.span)
        party = job.role(seen.agent) is not None and job.env == seen.env
        done = self.jobs.reviewed.get((job.id, str(seen.agent)))
        if seen.code == "already_reviewed":
            sight.check(bool(done and done.may_precede(sight.span)), Rule.REFUSAL, "no review was given", job.id)
        elif seen.code == "job_not_settled":
            settled = bool(states) and all(map(reviewable, states))
            sight.check(not settled, Rule.REFUSAL, "the job is settled", job.id)
        else:
            sight.check(
                not party or seen.agent in self.jobs.left, Rule.PARTY, "the job is hidden from its party", job.id
            )


class Lists:
    """Lists of jobs, settlements and reviews, and the inbox."""

    def __init__(self, jobs: Jobs, reviews: Reviews) -> None:
        self.jobs, self.reviews = jobs, reviews

    def got_job(self, sight: Sight) -> None:
        """Take in the answer of get_job."""
        seen = sight.seen
        if seen.succeeded:
            sight.check(seen.body["id"] == seen.arguments["job_id"], Rule.RESULT, "the answer is of another job")
            self.jobs.show(seen.body, sight)
        elif seen.code == "not_found":
            self._hidden(sight)

    def _hidden(self, sight: Sight) -> None:
        seen = sight.seen
        job = self.jobs.known.get(str(seen.arguments["job_id"]))
        party = job is not None and job.env == seen.env and job.role(seen.agent) and seen.agent not in self.jobs.left
        sight.check(not party, Rule.PARTY, "the job is hidden from its party", str(seen.arguments["job_id"]))

    def listed_jobs(self, sight: Sight) -> None:
        """Take in the answer of list_jobs."""
        seen, given = sight.seen, sight.seen.arguments
        if not seen.succeeded:
            return
        self._ordered(seen.body["data"], given, sight)
        wanted = given["status"].split(",") if isinstance(given.get("status"), str) else given.get("status")
        for record in seen.body["data"]:
            self.jobs.show(record, sight)
            fits = record["role"] == given.get("role", record["role"]) and (not wanted or record["status"] in wanted)
            fits = fits and given.get("reference") in (None, record["reference"])
            sight.check(fits, Rule.LIST, "a job that the filters exclude", record["id"])

    def _ordered(self, records: Iterable[Any], given: Any, sight: Sight) -> None:
        ids = [one["id"] for one in records]
        newest_first = ids == sorted(set(ids), reverse=True)
        sight.check(newest_first and len(ids) <= given.get("limit", 20), Rule.LIST, "not newest first, or too many")

    def listed_settlements(self, sight: Sight) -> None:
        """Take in the answer of list_settlements: the caller's own, newest first."""
        seen = sight.seen
        if not seen.succeeded:
            return
        records = seen.body["data"]
        self._ordered(records, seen.arguments, sight)
        for record in records:
            sight.check(record["direction"] is not None, Rule.PARTY, "another agent's transfer", record["job_id"])
            self.jobs.money.show(record, sight)
        if seen.arguments.get("cursor") is None:
            full = len(records) >= seen.arguments.get("limit", 20)
            shown = {record["id"] for record in records}
            expected = self.jobs.money.known_to(str(seen.agent), sight, min(shown) if full else "")
            sight.check(expected <= shown, Rule.LIST, f"the transfers {expected - shown} are missing")

    def listed_reviews(self, sight: Sight) -> None:
        """Take in the answer of list_reviews."""
        if sight.seen.succeeded:
            for record in sight.seen.body["data"]:
                self.reviews.show(record, sight)

    # -- the inbox ---------------------------------------------------------------------------------------------------

    def inbox(self, sight: Sight) -> None:
        """Take in the answer of get_inbox."""
        seen = sight.seen
        if not seen.succeeded:
            return
        waiting = seen.body["jobs_awaiting_my_action"]
        for entry in waiting:
            self._entry(entry, sight)
        self.jobs.doubts.add(sight.span, lambda: self._inbox_fits(sight, waiting))

    def _entry(self, entry: Any, sight: Sight) -> None:
        job = self.jobs.known.get(entry["id"])
        if job is None:
            return
        role = job.role(sight.seen.agent)
        sight.check(role == entry["role"] and job.env == sight.seen.env, Rule.INBOX, "another agent's job", job.id)
        right = role in ROLES.get(entry["action_needed"], ())
        sight.check(right, Rule.INBOX, f"{entry['action_needed']} is no action of the {role}", job.id)

    def _inbox_fits(self, sight: Sight, waiting: Any) -> None:
        named = {entry["id"]: entry for entry in waiting}
        for name, entry in named.items():
            states = self.jobs.known[name].possible(sight.span) if name in self.jobs.known else set()
            shown = {_status(one) for one in states}
            sight.check(
                not states or entry["status"] in shown, Rule.INBOX, f"{entry['status']} is not {sorted(shown)}", name
            )
            acts = any(self._acts(self.jobs.known[name], entry, one, sight.span) for one in states)
            sight.check(
                not states or acts, Rule.INBOX, f"{entry['action_needed']} cannot be done in {sorted(states)}", name
            )
        if len(waiting) < _MOST_SHOWN:
            self._inbox_complete(sight, named)

    def _acts(self, job: Job, entry: Any, state: str, span: Span) -> bool:
        if entry["action_needed"] == "refund":
            return self.jobs.may_owe(job, state, span)
        if entry["action_needed"] == "pay" and state.startswith("unpaid"):
            return True
        return entry["action_needed"] in ACTIONS[entry["role"]].get(kind(state), ())

    def _inbox_complete(self, sight: Sight, named: Any) -> None:
        seen = sight.seen
        for job in self.jobs.living(self.jobs.of_agent, (seen.env, str(seen.agent)), sight.span):
            needs = _NEEDS[str(job.role(seen.agent))]
            if job.id in named or job.origin is None or not job.origin.precedes(sight.span):
                continue
            states = job.possible(sight.span)
            missing = bool(states) and all(kind(one) in needs for one in states)
            sight.check(not missing, Rule.INBOX, f"a job that waits in {sorted(states)} is missing", job.id)

    # -- deliveries --------------------------------------------------------------------------------------------------

    def delivery(self, sight: Sight) -> None:
        """Take in the answer of get_delivery."""
        seen = sight.seen
        if not seen.succeeded:
            return
        record, job = seen.body, self.jobs.known.get(str(seen.arguments["job_id"]))
        role = job.role(seen.agent) if job else record["role"]
        sight.check(
            record["role"] == role, Rule.PARTY, f"a delivery for {seen.agent} as {record['role']}", record["job_id"]
        )
        hidden = (
            record["output"] is None
            and record["output_salt"] is None
            and (role == SELLER or record["output_hash"] is None)
        )
        sight.check(not record["output_sealed"] or hidden, Rule.SEALED, "a sealed delivery is shown", record["job_id"])
        if job is not None:
            wrong = job.digest(record["revision"], record, str(role), sealed=record["output_sealed"])
            sight.check(not wrong, Rule.DIGEST, f"{wrong} of delivery {record['revision']} changed", job.id)


def _status(state: str) -> str:
    """Return the public status of a state."""
    return {"sealed": "delivered", "revealed": "delivered", "unpaid": "expired", "unpaid_sealed": "expired"}.get(
        kind(state), kind(state)
    )


_NEEDS = {
    SELLER: ("open", "quote_requested", "in_progress"),
    BUYER: ("sealed", "revealed", "quoted", "awaiting_payment"),
}
