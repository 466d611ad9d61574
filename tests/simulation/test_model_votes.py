"""Answers about votes that break a rule, which test_model.py replays, and those that the contract allows."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.simulation.model import Model, Observation, Rule
from tests.simulation.model.story import Change, Story, second

WINDOW = 600  # seconds to vote on test
LATE = WINDOW + 1  # seconds, so that the deadline is over


def late(story: Story, name: str, **seat: Any) -> Mapping[str, Observation]:
    """Make a call after its deadline."""
    changed = story.named[name]
    body = changed.body | {"my_vote": changed.body["my_vote"] | seat}
    began, ended = (one + timedelta(seconds=LATE) for one in (changed.began, changed.ended))
    return story.with_answer(name, body=body, began=began, ended=ended)


def late_and_told(story: Story) -> Mapping[str, Observation]:
    voted = story.named["vote 1"].body["my_vote"]["voted_at"]
    return late(story, "vote 1", voted_at=second(voted, LATE))


def seen(story: Story, status: str, seconds: int = 0, **more: Any) -> Mapping[str, Observation]:
    """Let another judge read the case after the first vote."""
    vote, until = story.named["vote 0"], [*story.named][: [*story.named].index("vote 0") + 1]
    empty = {"outcome": None, "rationale": None, "voted_at": None, "status": status}
    body = vote.body | {"my_vote": vote.body["my_vote"] | empty} | more
    moment = vote.ended + timedelta(seconds=seconds)
    read = replace(
        vote, agent=story.named["vote 2"].agent, operation="get_dispute", arguments={"dispute_id": body["id"]},
        idempotency_key=None, body=body, began=moment, ended=moment, after=len(until),
    )  # fmt: skip
    return {name: story.named[name] for name in until} | {"read": read}


def again(story: Story, **seat: Any) -> Mapping[str, Observation]:
    """Let the first judge send its vote again, with other words."""
    first = story.named["vote 0"]
    given = dict(first.arguments) | {"rationale": "Other words."}
    body = first.body | {"my_vote": first.body["my_vote"] | seat}
    until = [*story.named][: [*story.named].index("vote 0") + 1]
    twice = replace(first, arguments=given, idempotency_key=None, body=body, after=len(until))
    return {name: story.named[name] for name in until} | {"again": twice}


def missed(story: Story, seconds: int, told: int = 0) -> Mapping[str, Observation]:
    """Refuse a vote because of its deadline."""
    found = story.refused("vote 1", "deadline_missed")
    until = datetime.fromisoformat(story.named["case"].body["verdict_by"])
    error = {"code": "deadline_missed", "details": {"deadline_at": (until + timedelta(seconds=told)).isoformat()}}
    moment = until + timedelta(seconds=seconds)
    return {**found, "vote 1": replace(found["vote 1"], body={"error": error}, began=moment, ended=moment)}


def missed_though_cast(story: Story) -> Mapping[str, Observation]:
    """Refuse a second vote, after its deadline, as if the first one had not been cast."""
    refusal = [*missed(story, WINDOW).values()][-1]
    until = [*story.named][: [*story.named].index("vote 0") + 1]
    found = replace(refusal, agent=story.named["vote 0"].agent, after=len(until))
    return {name: story.named[name] for name in until} | {"too late": found}


def vacated(story: Story, operation: str, **given: Any) -> Mapping[str, Observation]:
    """Refuse a vote because its seat is void, after a call that may have voided it."""
    found = story.refused("vote 0", "dispute_closed")
    judge = found.pop("vote 0")
    call = replace(judge, operation=operation, arguments=given, idempotency_key=None, status=200, body={})
    calls = [*found.values(), *(replace(call, agent=one) for one in ("agt_operator", judge.agent)), judge]
    return {str(place): replace(one, after=place) for place, one in enumerate(calls)}


def awaited(story: Story, name: str, seconds: int = 0) -> Mapping[str, Observation]:
    """Show a judge, after its vote, an inbox in which the case waits."""
    vote, until = story.named["vote 0"], [*story.named][: [*story.named].index("vote 0") + 1]
    case = {"id": vote.body["id"], "round": 1, "verdict_by": vote.body["verdict_by"]}
    moment = vote.ended + timedelta(seconds=seconds)
    inbox = replace(
        vote, agent=story.named[name].agent, operation="get_inbox", arguments={}, idempotency_key=None, began=moment,
        ended=moment, body={"jobs_awaiting_my_action": [], "disputes_awaiting_my_verdict": [case]}, after=len(until),
    )  # fmt: skip
    return {name: story.named[name] for name in until} | {"votes awaited": inbox}


def decided_late(story: Story, seconds: int) -> Mapping[str, Observation]:
    """Show the job as disputed, and later as decided by a panel that had ended before."""
    disputed = story.named["dispute"]
    moment = disputed.ended + timedelta(seconds=2 * WINDOW)
    until = [*story.named][: [*story.named].index("dispute") + 1]
    end = second(disputed.ended.isoformat(), 2 * WINDOW + seconds)
    case = {"id": disputed.body["dispute_id"], "round": 2, "verdict_by": end}
    common = replace(disputed, idempotency_key=None, began=moment, ended=moment)
    inbox = replace(
        common, agent=story.named["vote 0"].agent, operation="get_inbox", arguments={}, after=len(until),
        began=disputed.ended, ended=disputed.ended,
        body={"jobs_awaiting_my_action": [], "disputes_awaiting_my_verdict": [case]},
    )  # fmt: skip
    read = replace(common, operation="get_job", arguments={"job_id": disputed.body["id"]}, after=len(until) + 1)
    resolved = disputed.body | {
        "status": "resolved", "resolution": {"outcome": "split", "note": None, "by": "panel"}, "waiting_on": None,
        "completed_at": end, "available_actions": ["message", "review"],
    }  # fmt: skip
    after = replace(read, body=resolved, after=len(until) + 2)
    return {name: story.named[name] for name in until} | {"votes awaited": inbox, "read": read, "decided": after}


VOTES: dict[str, tuple[Rule, Change]] = {
    "a vote after its deadline": (Rule.PUNCTUAL, late_and_told),
    "a late vote that seems to be in time": (Rule.PUNCTUAL, lambda s: late(s, "vote 0")),
    "a vote at another time than its call": (Rule.VOTE, lambda s: s.changed("vote 0", my_vote__voted_at=lambda one: second(one, -1))),
    "a vote with other words": (Rule.VOTE, lambda s: s.changed("vote 0", my_vote__rationale="Other words.")),
    "another outcome": (Rule.VOTE, lambda s: s.changed("vote 0", my_vote__outcome="buyer")),
    "no seat of an evaluator": (Rule.VOTE, lambda s: s.changed("vote 0", my_vote=None)),
    "the seat of a party": (Rule.VOTE, lambda s: s.changed("case", my_vote=s.named["vote 0"].body["my_vote"])),
    "a deadline of one seat alone": (Rule.DEADLINE, lambda s: s.changed("vote 0", my_vote__deadline_at=lambda one: second(one, 60))),
    "a second vote that counts": (Rule.VOTE, lambda s: again(s, rationale="Other words.")),
    "a second vote at another time": (Rule.VOTE, lambda s: again(s, voted_at=second(s.named["vote 0"].body["my_vote"]["voted_at"], 1))),
    "a seat that waits too long": (Rule.PUNCTUAL, lambda s: seen(s, "pending", LATE)),
    "a seat missed too early": (Rule.PUNCTUAL, lambda s: seen(s, "missed")),
    "a vote that was not sent": (Rule.VOTE, lambda s: seen(s, "voted", my_vote=s.named["vote 0"].body["my_vote"])),
    "a vote on a seat that waits": (Rule.VOTE, lambda s: seen(s, "pending", my_vote=s.named["vote 0"].body["my_vote"] | {"status": "pending"})),
    "agreed before the end": (Rule.VOTE, lambda s: s.changed("vote 0", my_vote__agreed=True)),
    "too few votes": (Rule.VOTE, lambda s: seen(s, "pending", votes_received=0)),
    "too many votes": (Rule.VOTE, lambda s: seen(s, "pending", votes_received=2)),
    "a verdict in other words": (Rule.VOTE, lambda s: s.changed("closed case", verdicts__0__rationale="Other words.")),
    "a vote awaited too long": (Rule.PUNCTUAL, lambda s: awaited(s, "vote 2", LATE)),
    "a vote awaited again": (Rule.INBOX, lambda s: awaited(s, "vote 0")),
    "a job disputed after its panel's end": (Rule.PUNCTUAL, lambda s: decided_late(s, 0)),
    "a refusal before the deadline": (Rule.REFUSAL, lambda s: missed(s, -1)),
    "a refusal for another deadline": (Rule.REFUSAL, lambda s: missed(s, 1, told=60)),
    "a refusal of a vote that counts": (Rule.REFUSAL, missed_though_cast),
}  # fmt: skip


@pytest.mark.parametrize(
    "unchanged",
    [
        lambda story: seen(story, "pending"),
        lambda story: seen(story, "missed", WINDOW),
        lambda story: again(story),
        lambda story: awaited(story, "vote 2"),
        lambda story: decided_late(story, 1),
        lambda story: missed(story, 1),
        lambda story: vacated(story, "set_agent_status", agent_id=story.named["vote 0"].agent),
        lambda story: vacated(story, "set_wallet_address", address="0xA"),
        lambda story: story.with_answer("vote 0", status=0, body=None),
    ],
)
def test_the_model_agrees_with_what_the_contract_allows(story: Story, unchanged: Change) -> None:
    assert isinstance(story.replayed(unchanged(story)), Model)
