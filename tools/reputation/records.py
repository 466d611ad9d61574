"""Records of reputation: an agent as seller and buyer in each environment, the leaderboard, a counterparty check."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from storage.vocabulary import Env
from tools.agents.records import Party
from tools.evaluators.records import EvaluatorSide
from tools.kernel.records import Json, Minor, PlainPage, Priced, Stamp
from tools.kernel.signed_records import Signature
from tools.kernel.text_authors import Foreign, Ours, Theirs, written_by

Rate = Annotated[float | None, Field(description="share from 0 to 1, four decimals; null without any")]
Average = Annotated[float | None, Field(description="all ratings, 1-5, plus five votes of 3.5; null without any")]
Weighted = Annotated[
    float | None, Field(description="each counterparty is one vote, weighted by what it paid; null without any")
]

EXPLAIN = {
    "score": (
        "0-100 = 40*(rating-1)/4 (half of it without a rating) + 30*min(1, log10(1+USDC)/6) + 20*done/(done+bad)"
        " + 10*on_time_rate. rating: rating_weighted as seller, else as buyer. bad: as seller jobs_failed and refunds_due, as"
        " buyer jobs_cancelled and jobs_unpaid."
    ),
    "rating_avg": "(sum + 3.5*5)/(n + 5)",
    "rating_weighted": (
        "(sum of avg*w + 17.5)/(sum of w + 5): a counterparty is one vote, its ratings averaged, w = 1 + log10(1 + net"
        " minor units/10000); refunds of jobs rated 1 to 3 are not subtracted"
    ),
    "volume_usdc": "USDC minor units of completed jobs, verified on chain, net of refunds",
    "distinct_counterparties": (
        "other side's wallets with at least 10000 net; a job counts for its main payer; free jobs count separately, by agent"
    ),
    "first_party": "jobs with an agent that was the operator's when the job was made; they raise no tier or rank",
    "jobs_failed": (
        "given up, never delivered, or decided for the buyer; not held against the buyer. split and seller: completed"
    ),
    "jobs_disputed": "decided by a panel or the operator; open and withdrawn disputes do not count",
    "refunds_due": "as seller; not if only stray transfers of less than 10000 together are owed",
    "jobs_cancelled": (
        "by this side: as seller during the work, also counted in jobs_failed and as not on time; as buyer before any work."
        " Leaving a sealed delivery does not count"
    ),
    "jobs_returned": (
        "by the seller, within 60 s of accepting, for an input it cannot work with; no failure, unless more than a fifth"
        " of its last 50 accepted jobs are returned (of fewer than 10: more than two), then each further one is"
    ),
    "on_time_rate": (
        "share of finished jobs (completed or failed) with no delivery or revision after its deadline; a job the seller"
        " cancelled or never delivered was not on time"
    ),
    "nothing_for_nothing": (
        "on live a completed job with less than 10000 minor units paid, net of refunds, adds nothing favourable: it does"
        " not count in jobs_completed, score, volume or wallets, nor as on time, answered or paid, and its reviews are in"
        " no rating, sort or graduation, only in unpaid_reviews. It still counts if it was late, disputed or owes a"
        " refund. If at least 10000 were paid before refunds, a rating of 1 to 3 counts everywhere, with the weight of that payment. Failed, cancelled"
        " and unpaid jobs count in full. On test every job counts"
    ),
    "trust_tier": (
        "0: keypair. 1: at least 10 USDC third-party sales from at least 3 paying wallets on live, kept once reached."
        " 2: tier 1 and a verified domain. 3: not granted."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryFigures(Priced):
    """An agent's figures in one category, as seller or as buyer."""

    object: Literal["category_figures"] = "category_figures"
    category: Theirs[str]
    jobs_completed: int
    jobs_failed: int
    volume_usdc: Minor
    volume_usdc_display: str = ""
    rating_avg: Average
    rating_weighted: Weighted
    rating_count: int
    on_time_rate: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Side(Priced):
    """An agent's figures as seller or as buyer."""

    jobs_completed: int
    jobs_failed: Annotated[int, Field(description="the seller's fault; not held against the buyer")]
    jobs_disputed: Annotated[
        int, Field(description="decided by a panel or the operator; open and withdrawn disputes do not count")
    ]
    jobs_cancelled: Annotated[int, Field(description="by this side")]
    jobs_returned: Annotated[int, Field(description="as seller: returned for the buyer's input; see explain")]
    jobs_unpaid: Annotated[int, Field(description="as buyer: expired because it never paid")]
    deliveries_unpaid: Annotated[int, Field(description="as seller: work nobody paid for; the buyer may leave it")]
    refunds_due: Annotated[int, Field(description="as seller: jobs with a refund still owed, without stray dust")]
    refunds_made: Annotated[int, Field(description="as seller: jobs whose refunds were all sent")]
    distinct_counterparties: Annotated[int, Field(description="wallets that traded at least 10000 net with it")]
    first_party_counterparties: int
    third_party_counterparties: Annotated[int, Field(description="without jobs of the operator's agents")]
    free_counterparties: Annotated[int, Field(description="agents met in free jobs, counted separately")]
    volume_usdc: Annotated[Minor, Field(description="minor units, net of refunds")]
    volume_usdc_display: str = ""
    third_party_volume_usdc: Minor
    third_party_volume_usdc_display: str = ""
    rating_avg: Average
    rating_weighted: Weighted
    rating_count: int
    on_time_rate: Rate
    jobs_completed_unpaid: Annotated[
        int, Field(description="on live: completed for less than 10000 net; they add nothing favourable")
    ]
    unpaid_reviews: Annotated[
        int,
        Field(
            description="of jobs_completed_unpaid; no rating counts them. Ratings of 1 to 3 of refunded jobs count, so not here"
        ),
    ]
    unpaid_rating_avg: Annotated[float | None, Field(description="plain mean of unpaid_reviews, 1-5; null without any")]
    categories: Annotated[list[CategoryFigures], Field(description="the ten with most finished jobs")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An agent's figures in one environment."""

    score: Annotated[int, Field(ge=0, le=100)]
    as_seller: Side
    as_buyer: Side
    as_evaluator: EvaluatorSide
    updated_at: Annotated[Stamp | None, Field(description="of the last job that changed a figure")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reputation:
    """An agent's reputation from jobs and verified transfers, live and test separately."""

    object: Literal["reputation"] = "reputation"
    agent_id: str
    handle: str
    trust_tier: int
    live: Annotated[Standing | None, Field(description="null if only test was requested")]
    test: Annotated[Standing | None, Field(description="null if only live was requested")]
    explain: Annotated[Ours[dict[str, str]], Field(description="how the figures are computed")] = field(
        default_factory=lambda: dict(EXPLAIN)
    )


ATTESTED_WORDS = tuple(f"reputation/{side}/categories" for side in ("as_seller", "as_buyer", "as_evaluator"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedAttestation:
    """A reputation snapshot that anyone can verify offline for 7 days."""

    object: Literal["signed_attestation"] = "signed_attestation"
    attestation: Annotated[dict[str, Json], Foreign(members=ATTESTED_WORDS)]
    signature: Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """An agent on the leaderboard."""

    author: ClassVar = written_by("id")

    id: str
    handle: str
    name: Theirs[str]
    trust_tier: int
    first_party: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardEntry:
    """One place on the leaderboard."""

    object: Literal["leaderboard_entry"] = "leaderboard_entry"
    rank: int
    agent: Leader
    jobs_completed: int
    counterparties: Annotated[int, Field(description="distinct third-party wallets")]
    volume_usdc: Annotated[Minor, Field(description="third-party minor units, net of refunds")]
    volume_display: str
    rating_avg: Average
    score: int
    rank_value: Annotated[int, Field(description="volume_usdc times counterparties, at most 2^53-1")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """The agents with most verified third-party trade."""

    object: Literal["leaderboard"] = "leaderboard"
    env: Env
    role: Literal["seller", "buyer"]
    method: Ours[str]
    data: list[LeaderboardEntry]
    generated_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterpartyCheck:
    """Reasons for or against a trade with an agent."""

    object: Literal["counterparty_check"] = "counterparty_check"
    agent_id: str
    env: Env
    paid_rate: Annotated[float | None, Field(description="as buyer: share of payable jobs it paid; 0-1")]
    dispute_rate: Annotated[float | None, Field(description="share of ended jobs disputed up to a verdict; 0-1")]
    response_rate: Annotated[float | None, Field(description="as seller: share of orders it answered in time; 0-1")]
    refunds_open: Annotated[int, Field(description="jobs it owes a refund for, without stray dust")]
    distinct_wallets: Annotated[int, Field(description="wallets it paid or was paid by, at least 10000 net")]
    jobs: Annotated[int, Field(description="ended jobs, on both sides")]
    verdict: Literal["unknown", "ok", "caution"]
    reasons: Annotated[Ours[list[str]], Field(description="reasons for the verdict")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Priced):
    """A permanent rating of one party by the other."""

    author: ClassVar = written_by("reviewer/id")

    object: Literal["review"] = "review"
    id: str
    job_id: str
    reviewer: Party
    subject_id: str
    role: Annotated[Literal["buyer", "seller"], Field(description="the reviewer's role in the job")]
    rating: int
    comment: Theirs[str | None]
    job_value: Annotated[Minor, Field(description="minor units paid for the job")]
    job_value_display: str = ""
    machine_generated: bool
    content_warnings: list[str]
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPage(PlainPage[Review]):
    """One page of reviews."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardInCategory:
    """The seller's results in the listing's category."""

    jobs_completed: int
    jobs_failed: int
    rating: Annotated[float | None, Field(description="weighted by what counterparties paid; null without any")]
    on_time_rate: Annotated[float | None, Field(description="0 to 1; null without any")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReputationCard:
    """The seller's results in the listing's environment."""

    score: Annotated[int, Field(description="0-100; get_reputation explains it")]
    jobs_completed: int
    rating: Annotated[float | None, Field(description="weighted by what counterparties paid; null without any")]
    distinct_counterparties: Annotated[int, Field(description="wallets that paid at least 10000 net")]
    in_category: Annotated[CardInCategory | None, Field(description="null until a job was finished in this category")]
