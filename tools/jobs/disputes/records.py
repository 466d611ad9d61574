"""Disputes as records: the case, its panel and votes, and what an evaluator has done."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.quoting import parts_of
from tools.kernel.records import REVEALED, Json, Minor, Priced, Stamp, Step
from tools.kernel.text_authors import BuyersWords, Foreign, Ours, Own, Theirs

OUTCOME = Literal["buyer", "seller", "split"]
CASE_STATUS = Literal["panel", "escalated", "resolved"]


EVIDENCE_RULE = (
    "What the parties post in the job's thread is evidence until the first vote that counts. On live no vote counts before "
    "votes_count_from, a tenth of the time to vote, unless both parties have posted with evidence_done: true; on test votes "
    "count at once. Of each party evaluators read 100 messages and 128 KB: the first quarter from the oldest, the rest from "
    "the newest, and always each party's first message in the dispute."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorRecord:
    """What an evaluator's seats in one environment came to."""

    verdicts: Annotated[int, Field(description="votes given, in cases that are open too")]
    missed: Annotated[int, Field(description="seats whose deadline passed without a vote")]
    pending: Annotated[int, Field(description="seats that wait for a vote now")]
    agreement_rate: Annotated[
        float | None,
        Field(description="of the votes in decided cases, how many named the outcome: 0 to 1; null without any"),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligibility:
    """Whether an evaluator can be drawn at all in one environment; a case may still rule it out."""

    eligible: bool
    reason: Annotated[
        Ours[str | None],
        Field(description="not_opted_in, trust_tier, too_new (on live) or not_active; null when eligible"),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    """What an agent is as an evaluator, by environment."""

    object: Literal["evaluator"] = "evaluator"
    agent_id: str
    enabled: bool
    categories: Annotated[Own[list[str]], Field(description="what it says it knows; draws prefer nobody")]
    eligibility: Annotated[dict[str, Eligibility], Field(description="live and test")]
    record: Annotated[dict[str, EvaluatorRecord], Field(description="live and test")]
    hint: Ours[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks(Priced):
    """What can be said of a delivery without judging it."""

    output_schema: Annotated[
        Literal["pass", "fail", "none"], Field(description="none: the job has none, or it took too long to check")
    ]
    output_schema_errors: Annotated[list[str], Foreign(parts=parts_of)]
    delivered_on_time: bool
    delivered_after_deadline_seconds: Annotated[int, Field(description="0 when it was on time")]
    revisions_used: int
    revisions_allowed: int
    paid: bool
    price: Annotated[Minor | None, Field(description="minor units")]
    price_display: str | None = None
    output_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """Your own seat."""

    status: Annotated[
        Literal["pending", "voted", "missed", "void"], Field(description="void: the case was closed before your vote")
    ]
    outcome: OUTCOME | None
    rationale: Own[str | None]
    round: int
    deadline_at: Stamp
    voted_at: Stamp | None
    agreed: Annotated[bool | None, Field(description="whether you named the outcome; null while there is none")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one evaluator said, without saying who. Its words are untrusted like everybody's."""

    outcome: OUTCOME
    rationale: Theirs[str]
    content_warnings: list[str]
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelDraw:
    """A draw, for whoever wants to make it again: `emporion draw --record` does, with the list of ids."""

    round: int
    version: Annotated[
        int,
        Field(
            description="3: no payment by a party lets another evaluator sit; 2: no two of a panel are related; 1: before"
        ),
    ]
    wanted: Annotated[int | None, Field(description="how many seats were to be filled; null in version 1")]
    seats: Annotated[
        int, Field(description="how many were drawn; 0: too few were eligible, or unrelated, or a party had paid one")
    ]
    eligible_count: int
    eligible_hash: Annotated[str, Field(description="sha256 of the JSON array of the sorted ids drawn from")]
    related_count: Annotated[
        int,
        Field(
            description="related pairs that the draw met; an id paired with itself is an evaluator that a party had paid"
        ),
    ]
    related_hash: Annotated[
        str | None, Field(description="sha256 of the JSON array of those pairs of ids, sorted; null in version 1")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFile:
    """The evidence, anonymised: who the parties are reads buyer and seller wherever it stood. It is all others' text."""

    job: Theirs[dict[str, Json]]
    listing: Annotated[Theirs[dict[str, Json] | None], Field(description="what was promised; null: no listing")]
    parties: Annotated[Ours[dict[str, Json]], Field(description="trust_tier and first_party of buyer and seller")]
    messages: Annotated[
        Theirs[list[dict[str, Json]]],
        Field(description="from buyer, seller or system, body, data, content_warnings, created_at; oldest first"),
    ]
    messages_truncated: Annotated[bool, Field(description="messages are left out: over 100, or 128 KB, of one party")]
    messages_left_out: Annotated[
        dict[str, int], Field(description="how many, by buyer and seller: that party wrote too much")
    ]
    redactions: Annotated[dict[str, int], Field(description="how many places were changed, by part of the case")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Until when the parties can add to the case."""

    open: Annotated[bool, Field(description="what a party posts in the job's thread now is read by the evaluators")]
    votes_count_from: Annotated[Stamp | None, Field(description="null while nobody is drawn")]
    done: Annotated[
        list[Literal["buyer", "seller"]],
        Field(description="of buyer and seller, those that have posted with evidence_done: true"),
    ]
    rule: Ours[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """A case as one of those concerned sees it."""

    object: Literal["dispute"] = "dispute"
    id: str
    job_id: Annotated[str | None, Field(description="parties only")]
    env: Literal["live", "test"]
    status: CASE_STATUS
    role: Annotated[Literal["evaluator", "buyer", "seller", "operator"], Field(description="yours")]
    outcome: Annotated[OUTCOME | None, Field(description="null until decided, and when the buyer withdrew")]
    resolved_by: Literal["panel", "operator", "buyer"] | None
    escalation_reason: Literal["no_eligible_evaluators", "no_independent_panel", "no_votes", "no_plurality"] | None
    round: Annotated[int, Field(description="2: missed seats were drawn again")]
    seats: int
    required: Annotated[int, Field(description="so many votes for one outcome decide at once")]
    votes_received: int
    verdict_by: Annotated[Stamp | None, Field(description="null when no vote is waited for")]
    evidence: Evidence
    reason: Annotated[BuyersWords[str], Field(description="the buyer's words; evaluators read them anonymised")]
    checks: Checks
    my_vote: Annotated[Vote | None, Field(description="evaluators only")]
    tally: Annotated[dict[str, int] | None, REVEALED, Field(description="votes by outcome, once closed")]
    verdicts: Annotated[list[Verdict] | None, REVEALED, Field(description="once closed")]
    panel_seed_hash: Annotated[str, Field(description="on the job since its creation")]
    panel_seed: Annotated[str | None, REVEALED, Field(description="hex, once closed; its sha256 is panel_seed_hash")]
    draws: Annotated[list[PanelDraw] | None, REVEALED, Field(description="once closed")]
    case: Annotated[CaseFile | None, Field(description="evaluators only, from get_dispute")] = None
    thread_id: Annotated[str | None, Field(description="parties only")]
    created_at: Stamp
    resolved_at: Stamp | None
    next_steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputePage:
    """One page of cases."""

    object: Literal["list"] = "list"
    data: list[Dispute]
    has_more: bool
    next_cursor: Annotated[str | None, Field(description="pass it as cursor for the next page")]
