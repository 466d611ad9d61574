"""Judge the seats and votes of a case: each vote in time, once, and kept as it was cast."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.model.observe import Rule, Sight, Span, at

_KEPT = ("status", "outcome", "rationale", "voted_at", "round", "deadline_at")
_NOT_CAST = ("outcome", "rationale", "voted_at")


@dataclass(frozen=True, slots=True)
class Vote:
    """A vote as an evaluator sent it."""

    agent: str
    outcome: str
    rationale: str
    span: Span

    def became(self, seat: Any) -> bool:
        """Say if a seat keeps this vote, with a time within its call."""
        within = self.span.began <= at(seat["voted_at"]) <= self.span.ended
        return within and (self.outcome, self.rationale) == (seat["outcome"], seat["rationale"])


@dataclass(slots=True)
class Ballots:
    """All votes that were sent in one case, and the seats that answers showed."""

    case: str
    clock_seconds: float  # by which clocks may differ
    cast: dict[str, Vote] = field(default_factory=dict)  # the first accepted ones, by evaluator
    sent: list[Vote] = field(default_factory=list)  # accepted, or with an answer that never came
    lost: set[str | None] = field(default_factory=set)  # evaluators whose answer to a vote never came
    deadlines: dict[int, str] = field(default_factory=dict)  # by round
    ended: dict[str, tuple[dict[str, Any], Span]] = field(default_factory=dict)  # seats that wait no more
    seen: dict[str, str] = field(default_factory=dict)  # the deadline of each seat that was shown

    # -- seats -------------------------------------------------------------------------------------------------------

    def due(self, number: int, deadline: str, sight: Sight) -> None:
        """Check that all answers show one deadline of a round."""
        kept = self.deadlines.setdefault(number, deadline)
        sight.check(kept == deadline, Rule.DEADLINE, f"the deadline was {kept} and is {deadline}", self.case)

    def show(self, record: Any, sight: Sight) -> None:
        """Take in the caller's own seat."""
        seat = record["my_vote"]
        self.due(seat["round"], seat["deadline_at"], sight)
        kept = self.seen.setdefault(str(sight.seen.agent), seat["deadline_at"])
        sight.check(kept == seat["deadline_at"], Rule.VOTE, "an evaluator has two seats", self.case)
        self._in_time(record, seat, sight)
        empty = all(seat[name] is None for name in _NOT_CAST)
        sight.check(empty != (seat["status"] == "voted"), Rule.VOTE, f"a {seat['status']} seat is {seat}", self.case)
        decided = None not in (record["outcome"], seat["outcome"])
        agreed = seat["outcome"] == record["outcome"] if decided else None
        sight.check(seat["agreed"] == agreed, Rule.VOTE, f"agreed is {seat['agreed']}, not {agreed}", self.case)
        self._stays(seat, sight)

    def _in_time(self, record: Any, seat: Any, sight: Sight) -> None:
        status, due = seat["status"], at(seat["deadline_at"])
        if status == "pending":
            waits = sight.span.began <= due and record["status"] == "panel"
            sight.check(waits, Rule.PUNCTUAL, f"a seat waits after {due}", self.case)
        elif status == "missed":
            sight.check(due <= sight.span.ended, Rule.PUNCTUAL, f"a seat is missed before {due}", self.case)
        elif status == "voted":
            # The market compares both by one clock, so they are in order even if clocks differ.
            sight.check(at(seat["voted_at"]) <= due, Rule.PUNCTUAL, f"a vote after {due} counts: {seat}", self.case)

    def _stays(self, seat: Any, sight: Sight) -> None:
        """Check that a seat which waits no more stays as it was."""
        agent, shown = str(sight.seen.agent), {name: seat[name] for name in _KEPT}
        # A clock that is set back to before the deadline lets a missed seat wait again.
        final = ("voted", "void") if self.clock_seconds else ("voted", "void", "missed")
        if shown["status"] in final:
            kept, _ = self.ended.setdefault(agent, (shown, sight.span))
            sight.check(kept == shown, Rule.VOTE, f"the seat was {kept} and is {shown}", self.case)
        elif agent in self.ended:
            kept, span = self.ended[agent]
            sight.check(not span.precedes(sight.span), Rule.VOTE, f"the seat was {kept} and is {shown}", self.case)

    def was_sent(self, seat: Any, sight: Sight) -> None:
        """Check that a seat keeps a vote of its evaluator, once all calls beside it are known."""
        mine = [one for one in self.sent if one.agent == sight.seen.agent and one.span.may_precede(sight.span)]
        right = any(one.became(seat) for one in mine)
        sight.check(right, Rule.VOTE, f"{seat} is none of the votes {mine}", self.case)

    # -- calls -------------------------------------------------------------------------------------------------------

    def accept(self, sight: Sight) -> None:
        """Take in an accepted vote, with the seat that its answer shows."""
        seen, seat = sight.seen, sight.seen.body["my_vote"]
        vote = Vote(str(seen.agent), seen.arguments["outcome"], seen.arguments["rationale"], sight.span)
        right = seat is not None and seat["outcome"] == vote.outcome and seen.body["role"] == "evaluator"
        sight.check(right, Rule.VOTE, f"the vote {vote.outcome} is kept as {seat}", self.case)
        if vote.agent not in self.cast and vote.agent not in self.lost:
            early = vote.span.began <= at(seat["deadline_at"])
            sight.check(early, Rule.PUNCTUAL, f"a vote counts after {seat['deadline_at']}", self.case)
            sight.check(seat["rationale"] == vote.rationale, Rule.VOTE, f"the vote is kept as {seat}", self.case)
        self.sent.append(vote)
        kept = Vote(vote.agent, vote.outcome, seat["rationale"], sight.span)
        first = self.cast.setdefault(vote.agent, kept)
        sight.check(first.outcome == vote.outcome, Rule.VOTE, f"{seen.agent} has voted {first.outcome}", self.case)

    def lose(self, sight: Sight) -> None:
        """Take in a vote whose answer never came."""
        given = sight.seen.arguments
        self.lost.add(sight.seen.agent)
        self.sent.append(Vote(str(sight.seen.agent), given["outcome"], given["rationale"], sight.lost))

    def missed(self, sight: Sight) -> None:
        """Check the refusal of a vote whose deadline has passed."""
        seen = sight.seen
        told = (seen.error.get("details") or {}).get("deadline_at")
        known = self.seen.get(str(seen.agent))
        for one in filter(None, (told, known)):
            sight.check(at(one) <= sight.span.ended, Rule.REFUSAL, f"deadline_missed before {one}", self.case)
        cast = self.cast.get(str(seen.agent))
        sight.check(not (cast and cast.span.precedes(sight.span)), Rule.REFUSAL, "the vote counts already", self.case)

    # -- counts ------------------------------------------------------------------------------------------------------

    def counted(self, record: Any, sight: Sight) -> None:
        """Check votes_received against the votes that were sent, once all calls beside it are known."""
        least = sum(one.span.precedes(sight.span) for one in self.cast.values())
        most = len({one.agent for one in self.sent if one.span.may_precede(sight.span)})
        right = least <= record["votes_received"] <= most
        sight.check(right, Rule.VOTE, f"{record['votes_received']} votes, not {least} to {most}", self.case)

    def listed(self, record: Any, sight: Sight) -> None:
        """Check that the verdicts of a closed case are the votes that were sent, each in its words."""
        listed = Counter((one["outcome"], one["rationale"]) for one in record["verdicts"])
        cast = Counter((one.outcome, one.rationale) for one in self.cast.values())
        sent = {(one.outcome, one.rationale) for one in self.sent}
        sight.check(cast <= listed, Rule.VOTE, f"{cast - listed} were cast and are not listed", self.case)
        sight.check(listed.keys() <= sent, Rule.VOTE, f"{listed.keys() - sent} were never sent", self.case)
