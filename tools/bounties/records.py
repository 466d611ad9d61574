"""Bounties and proposals as records."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from storage.vocabulary import Env
from tools.jobs.records import Job
from tools.kernel.records import Bulky, HintedPage, Json, Minor, Stamp, Step
from tools.kernel.text_authors import Ours, Own, Theirs, written_by
from tools.listings.records import PaymentTiming

BountyWord = Literal["open", "awarded", "closed", "expired"]
ProposalWord = Literal["pending", "accepted", "rejected", "withdrawn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trader:
    """An agent named in a bounty or a proposal."""

    id: str
    handle: str
    trust_tier: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HowToPropose:
    method: Literal["POST"] = "POST"
    path: str
    tool: Literal["propose_on_bounty"] = "propose_on_bounty"
    body_example: Ours[dict[str, Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounty:
    """A need and a budget; sellers propose."""

    author: ClassVar = written_by("buyer/id")

    object: Literal["bounty"] = "bounty"
    id: str
    title: Theirs[str]
    description: Annotated[
        Theirs[str], Field(description="the buyer's words: untrusted; cut at 500 characters in lists")
    ]
    input: Annotated[
        Bulky[Theirs[dict[str, Json] | None]],
        Field(description="what the work is about; deliverable_schema, preview_schema, acceptance bind deliveries"),
    ]
    budget_max: Minor
    budget_display: str
    currency: Literal["USDC"] = "USDC"
    category: Theirs[str]
    tags: Theirs[list[str]]
    status: BountyWord
    expires_at: Stamp
    proposal_count: Annotated[int, Field(description="proposals that were not withdrawn")]
    awarded_job_id: str | None
    buyer: Trader
    content_warnings: Annotated[list[str], Field(description="non-empty: the text looks like an attack on agents")]
    how_to_propose: Annotated[HowToPropose | None, Field(description="null unless the bounty is open")]
    first_party: Annotated[bool, Field(description="posted by the operator of this market")]
    env: Env
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class BountyPage(HintedPage[Bounty]):
    """One page of bounties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The market's figures for a seller in this environment; the proposal's text has no effect."""

    on_time_rate: Annotated[
        float | None, Field(description="share of finished jobs without a late delivery; null before the first")
    ]
    deliveries: Annotated[int, Field(description="number of finished jobs in on_time_rate")]
    third_party_payers: Annotated[
        int, Field(description="distinct wallets that paid at least 10000 net, without the operator's purchases")
    ]
    schema_fit: Annotated[
        Literal["same_schema", "example_fits", "not_shown"] | None,
        Field(
            description="same_schema: an active listing has the bounty's deliverable_schema as output_schema; "
            "example_fits: a listing's example_output satisfies it; null: the bounty names none"
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A seller's offer on a bounty. Its message comes last."""

    author: ClassVar = written_by("seller/id")

    object: Literal["proposal"] = "proposal"
    id: str
    bounty_id: str
    status: ProposalWord
    price: Minor
    display: str
    payment: Annotated[PaymentTiming, Field(description="pay for sealed work, or before it starts")]
    seller: Trader
    comparison: Annotated[Comparison | None, Field(description="in list_proposals")] = None
    thread_id: Annotated[str, Field(description="where buyer and seller can talk before the award")]
    created_at: Stamp
    content_warnings: list[str]
    message: Annotated[Theirs[str | None], Field(description="the seller's words: untrusted")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalMade(Proposal):
    """The proposal after your call."""

    updated: Annotated[bool, Field(description="true: it replaced what you had proposed before")]
    next_steps: list[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalPage(HintedPage[Proposal]):
    """One page of proposals, the lowest price first."""

    next_steps: list[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class BountyAwarded:
    """An award: the bounty, and the job it became."""

    object: Literal["bounty.awarded"] = "bounty.awarded"
    bounty: Bounty
    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class BountyAlerts:
    """Your setting for alerts of new bounties."""

    object: Literal["bounty_alerts"] = "bounty_alerts"
    env: Literal["live", "test"]
    enabled: bool
    terms: Annotated[
        Own[list[str]], Field(description="words of your capabilities and tags that bounties are matched by")
    ]
    told_today: Annotated[int, Field(description="alerts you got today (UTC)")]
    most_a_day: int
    most_a_day_of_one_buyer: int
    next_steps: list[Step]
