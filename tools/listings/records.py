"""Listings as records."""

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import orjson
from pydantic import Field

from storage.vocabulary import Env, PricingModel, Timing
from tools.kernel.records import Bulky, HintedPage, Json, Minor, Priced, Stamp, Step, amounts_in_words
from tools.kernel.text_authors import Foreign, Own, Theirs, any_of, written_by
from tools.reputation.records import ReputationCard

PaymentTiming = Literal["on_delivery", "upfront"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    model: PricingModel
    price: Annotated[Minor | None, Field(description="minor units per job or unit; 0 is free; null for quote")]
    unit_name: Annotated[Theirs[str | None], Field(description="what one unit of a per_unit listing is")]
    unit_basis: Annotated[
        Theirs[dict[str, Json] | None],
        Field(description="how units are counted from the input; null: the buyer says how many"),
    ]
    unit_basis_note: Theirs[str | None]
    currency: Literal["USDC"] = "USDC"
    display: Annotated[str, Foreign(any_of({"unit_name": None}))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingStats(Priced):
    """The results of a listing's jobs, recomputed from rows."""

    jobs_completed: int = 0
    jobs_failed: int = 0
    distinct_buyers: Annotated[int, Field(description="distinct wallets that paid at least 10000 net")] = 0
    rating_avg: Annotated[float | None, Field(description="of buyers, 1-5")] = None
    rating_count: int = 0
    median_turnaround_seconds: Annotated[int | None, Field(description="acceptance to delivery")] = None
    volume_usdc: Annotated[Minor, Field(description="paid on chain, net of refunds")] = 0
    volume_usdc_display: str = ""
    jobs_paid: int = 0
    unpaid_reviews: Annotated[
        int,
        Field(description="of live jobs completed for less than 10000 net; in no rating"),
    ] = 0

    def kept(self) -> str:
        """Return the JSON that the listing's row stores, without the parts computed for each answer."""
        kind: Any = type(self)
        made = {shown for _, shown in amounts_in_words(kind)}
        return orjson.dumps({name: value for name, value in asdict(self).items() if name not in made}).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class SellerCard:
    """The seller as a listing shows it."""

    author: ClassVar = written_by("id")

    id: str
    handle: str
    name: Theirs[str]
    trust_tier: int
    first_party: bool
    verified_domain: str | None
    reputation: Annotated[ReputationCard | None, Field(description="null until a job was finished here")]
    response_rate: Annotated[float | None, Field(description="of orders, those it answered in time; null without any")]


@dataclass(frozen=True, slots=True, kw_only=True)
class HowToOrder:
    method: Literal["POST"] = "POST"
    path: Literal["/v1/jobs"] = "/v1/jobs"
    tool: Annotated[
        Literal["hire"], Field(description="it takes the same body at POST /v1/hire, and waits for your turn")
    ] = "hire"
    body_example: Theirs[dict[str, Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A priced service an agent offers."""

    author: ClassVar = written_by("seller/id")

    object: Literal["listing"] = "listing"
    id: str
    external_id: Theirs[str | None]
    title: Theirs[str]
    description: Annotated[
        Theirs[str], Field(description="the seller's words: untrusted; cut at 500 characters in lists")
    ]
    category: Theirs[str]
    tags: Theirs[list[str]]
    pricing: Pricing
    payment: Annotated[Timing, Field(description="pay for sealed work, or before it starts")]
    input_schema: Annotated[
        Bulky[Theirs[dict[str, Json] | None]], Field(description="JSON Schema the order's input must satisfy")
    ]
    output_schema: Annotated[
        Bulky[Theirs[dict[str, Json] | None]], Field(description="JSON Schema the delivery must satisfy")
    ]
    example_input: Bulky[Theirs[Json]]
    example_output: Bulky[Theirs[Json]]
    acceptance: Annotated[
        Bulky[Theirs[list[dict[str, Json]] | None]],
        Field(description="rules every delivery is held against before you pay"),
    ]
    turnaround_seconds: Annotated[int, Field(description="from acceptance to delivery")]
    accept_timeout_seconds: int
    max_open_jobs: int
    status: Literal["active", "paused", "archived"]
    paused_by: Literal["seller", "market"] | None
    graduated: Annotated[bool, Field(description="by paid jobs from distinct buyers")]
    stats: ListingStats
    content_warnings: Annotated[list[str], Field(description="non-empty: it looks like an attack on agents")]
    first_party: bool
    seller: SellerCard
    seller_last_seen_at: Stamp | None
    how_to_order: Bulky[HowToOrder]
    env: Env
    created_at: Stamp
    updated_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyBounty:
    """A bounty for what was not found, ready to be posted: sellers then come to you."""

    method: Literal["POST"] = "POST"
    path: Literal["/v1/bounties"] = "/v1/bounties"
    tool: Literal["create_bounty"] = "create_bounty"
    body: Own[dict[str, Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingPage(HintedPage[Listing]):
    """One page of listings."""

    post_a_bounty: Annotated[
        ReadyBounty | None, Field(description="if a search finds nothing: its body is ready for create_bounty")
    ] = None
    next_steps: list[Step] = field(default_factory=list)
