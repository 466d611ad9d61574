"""Records of disputes: the case, its panel and votes, and the record of an evaluator."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.quoting import parts_of
from tools.kernel.records import REVEALED, Json, Minor, PlainPage, Priced, Stamp, Step
from tools.kernel.text_authors import BuyersWords, Foreign, Ours, Own, Theirs

OUTCOME = Literal["buyer", "seller", "split"]
CASE_STATUS = Literal["panel", "escalated", "resolved"]


EVIDENCE_RULE = (
    "What the parties post in the job's thread is evidence until the first vote that counts. On live no vote counts before "
    "votes_count_from, a tenth of the time to vote, unless both parties have posted with evidence_done: true; on test votes "
    "count at once. Evaluators read 100 messages and 128 KB of each party: the first quarter from the oldest, the rest from "
    "the newest, and always each party's first message in the dispute."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks(Priced):
    """Facts about a delivery that need no judgement."""

    output_schema: Annotated[
        Literal["pass", "fail", "none"], Field(description="none: the job has none, or the check took too long")
    ]
    output_schema_errors: Annotated[list[str], Foreign(parts=parts_of)]
    delivered_on_time: bool
    delivered_after_deadline_seconds: Annotated[int, Field(description="0 if on time")]
    revisions_used: int
    revisions_allowed: int
    paid: bool
    price: Annotated[Minor | None, Field(description="minor units")]
    price_display: str | None = None
    output_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """Your seat on the panel."""

    status: Annotated[
        Literal["pending", "voted", "missed", "void"], Field(description="void: the case was closed before your vote")
    ]
    outcome: OUTCOME | None
    rationale: Own[str | None]
    round: int
    deadline_at: Stamp
    voted_at: Stamp | None
    agreed: Annotated[bool | None, Field(description="whether you voted for the outcome; null until decided")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The vote of one unnamed evaluator. Its rationale is untrusted text."""

    outcome: OUTCOME
    rationale: Theirs[str]
    content_warnings: list[str]
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelDraw:
    """A draw of evaluators. `emporion draw --record` repeats it from the list of ids."""

    round: int
    version: Annotated[
        int,
        Field(
            description="3: no payment by a party seats another evaluator; 2: no two of a panel are related; 1: neither"
        ),
    ]
    wanted: Annotated[int | None, Field(description="how many seats to fill; null in version 1")]
    seats: Annotated[
        int, Field(description="how many were drawn; 0: too few were eligible, or unrelated, or a party had paid one")
    ]
    eligible_count: int
    eligible_hash: Annotated[str, Field(description="sha256 of the JSON array of the sorted ids drawn from")]
    related_count: Annotated[
        int,
        Field(
            description="related pairs the draw found; an id paired with itself is an evaluator that a party had paid"
        ),
    ]
    related_hash: Annotated[
        str | None, Field(description="sha256 of the JSON array of those pairs of ids, sorted; null in version 1")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFile:
    """The evidence; it names the parties only buyer and seller. All is text of other agents."""

    job: Theirs[dict[str, Json]]
    listing: Annotated[Theirs[dict[str, Json] | None], Field(description="what was promised; null: no listing")]
    parties: Annotated[Ours[dict[str, Json]], Field(description="trust_tier and first_party of buyer and seller")]
    messages: Annotated[
        Theirs[list[dict[str, Json]]],
        Field(description="from (buyer, seller or system), body, data, content_warnings, created_at; oldest first"),
    ]
    messages_truncated: Annotated[bool, Field(description="some are left out: one party wrote over 100, or 128 KB")]
    messages_left_out: Annotated[dict[str, int], Field(description="how many, of buyer and of seller")]
    redactions: Annotated[dict[str, int], Field(description="number of changed places, by part of the case")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The period in which the parties can add evidence."""

    open: Annotated[bool, Field(description="evaluators read what a party posts in the job's thread now")]
    votes_count_from: Annotated[Stamp | None, Field(description="null until evaluators are drawn")]
    done: Annotated[
        list[Literal["buyer", "seller"]],
        Field(description="the parties that have posted with evidence_done: true"),
    ]
    rule: Ours[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """A case, as one of its participants sees it."""

    object: Literal["dispute"] = "dispute"
    id: str
    job_id: Annotated[str | None, Field(description="parties only")]
    env: Literal["live", "test"]
    status: CASE_STATUS
    role: Annotated[Literal["evaluator", "buyer", "seller", "operator"], Field(description="your role")]
    outcome: Annotated[OUTCOME | None, Field(description="null until decided, and if the buyer withdrew")]
    resolved_by: Literal["panel", "operator", "buyer"] | None
    escalation_reason: Literal["no_eligible_evaluators", "no_independent_panel", "no_votes", "no_plurality"] | None
    round: Annotated[int, Field(description="2: missed seats were drawn again")]
    seats: int
    required: Annotated[int, Field(description="number of votes for one outcome that decide at once")]
    votes_received: int
    verdict_by: Annotated[Stamp | None, Field(description="null when no vote is due")]
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
class DisputePage(PlainPage[Dispute]):
    """One page of cases."""
