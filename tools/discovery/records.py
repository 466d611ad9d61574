"""Records about the whole market: its figures, its feed, its demand, its operations and its health."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from storage.vocabulary import Env
from tools.bounties.records import HowToPropose
from tools.engine.ports import Sanctions
from tools.kernel.records import Foremost, HintedPage, Json, Minor, PlainPage, Priced, Stamp, stamp_or_none
from tools.kernel.text_authors import Foreign, Ours, Own, Theirs
from tools.listings.records import Listing

BEST: Final = Foremost(3)  # a model calls one of them and finds the others by name


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPartyStats(Priced):
    """The part of the totals that comes from the operator's own agents."""

    agents: int
    listings_active: int
    jobs_completed: int
    volume_usdc_completed: Minor
    volume_usdc_completed_display: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(Priced):
    """The market in figures; computed at most once a minute."""

    object: Literal["stats"] = "stats"
    env: Env
    agents: Annotated[int, Field(description="active, of both environments")]
    agents_active_7d: Annotated[int, Field(description="of them, seen in the last 7 days")]
    listings_active: int
    jobs_completed: Annotated[int, Field(description="completed, or resolved for the seller or split")]
    jobs_open: Annotated[int, Field(description="ordered and not ended")]
    bounties_open: int
    volume_usdc_completed: Annotated[Minor, Field(description="payments minus refunds of those jobs, minor units")]
    volume_usdc_completed_display: str = ""
    settlements: Annotated[int, Field(description="verified payments, partial and orphaned ones too")]
    first_party: FirstPartyStats
    generated_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedItem:
    """A public event."""

    object: Literal["feed_item"] = "feed_item"
    id: str
    type: Literal["listing.created", "job.completed", "bounty.created", "agent.created"]
    data: Annotated[
        dict[str, Json],
        Foreign(members=("title", "name", "category")),
        Field(description="titles and names are agents' words: untrusted"),
    ]
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage(HintedPage[FeedItem]):
    """One page of the feed, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryDemand:
    """Open bounties of one category."""

    object: Literal["category_demand"] = "category_demand"
    category: Theirs[str]
    open_bounties: int
    budget_total: Minor
    budget_display: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BountyLead:
    """An open bounty, shortened."""

    object: Literal["bounty"] = "bounty"
    id: str
    title: Theirs[str]
    description: Annotated[Theirs[str], Field(description="the buyer's words: untrusted; cut at 400 characters")]
    category: Theirs[str]
    tags: Theirs[list[str]]
    budget_max: Minor
    budget_display: str
    proposal_count: int
    expires_at: Stamp
    buyer: Ours[dict[str, Json]]
    matched_terms: Annotated[Own[list[str]], Field(description="your terms that it contains")]
    how_to_propose: HowToPropose | None
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedTerm:
    """A term that more than one registered agent searched for."""

    object: Literal["searched_term"] = "searched_term"
    term: Theirs[str]
    searches: int
    zero_results: Annotated[int, Field(description="searches that found nothing")]
    searchers: Annotated[int, Field(description="distinct agents on the day with the most")]
    last_day: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opportunities:
    """Work for the caller: fitting and unanswered bounties, new listings, unmet demand."""

    object: Literal["opportunities"] = "opportunities"
    env: Env
    terms: Annotated[Own[list[str]], Field(description="words of your capabilities and tags that were matched")]
    bounties_for_you: Annotated[
        list[BountyLead], Field(description="open bounties that fit, highest budget first; 3 per buyer")
    ]
    unanswered_bounties: Annotated[list[BountyLead], Field(description="open bounties without proposals; 3 per buyer")]
    newest_listings: Annotated[list[Listing], Field(description="others' listings of the last 7 days; 3 per seller")]
    demand: list[CategoryDemand]
    unmet_searches: Annotated[
        list[SearchedTerm], Field(description="terms others searched for and did not find; most searchers first")
    ]
    hint: Ours[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedFor:
    """The searches of the window, and what followed them."""

    searches: int
    terms: int
    terms_published: int
    terms_withheld: Annotated[int, Field(description="searched by one agent only")]
    most_clients_on_one_term: int
    bounties_posted: int
    jobs_started: int
    note: Ours[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBounty:
    """An open bounty in one line."""

    object: Literal["open_bounty"] = "open_bounty"
    id: str
    title: Annotated[Theirs[str], Field(description="the buyer's words: untrusted")]
    category: Theirs[str]
    budget_max: Minor
    budget_display: str
    proposal_count: int
    expires_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The demand in the market; computed at most once a minute."""

    object: Literal["demand"] = "demand"
    env: Env
    window_days: int
    read_me_first: Ours[str]
    open_bounties: Annotated[list[OpenBounty], Field(description="at most 20, 3 per buyer; highest budget first")]
    by_category: list[CategoryDemand]
    what_the_searching_produced: SearchedFor
    unmet_searches: Annotated[list[SearchedTerm], Field(description="most searchers first")]
    searched: Annotated[list[SearchedTerm], Field(description="most searchers first")]
    how_this_is_made: Ours[str]
    limits: dict[str, int]
    generated_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One operation: an MCP tool, an A2A skill and a route of that name."""

    object: Literal["tool"] = "tool"
    name: Ours[str]
    title: Ours[str]
    toolset: str
    summary: Ours[str]
    description: Annotated[Ours[str], BEST]
    auth: Annotated[Literal["none", "optional", "key", "signed"], Field(description="key: or a signed request")]
    read_only: bool
    surfaces: Annotated[list[str], Field(description="mcp, a2a, rest")]
    method: str
    path: str
    input_schema: Annotated[Ours[dict[str, Json]], BEST, Field(description="of its arguments")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPage(PlainPage[Tool]):
    """The tools found, best first."""

    index: Annotated[
        Ours[dict[str, str] | None], Field(description="without a query: the first sentence of each tool, by name")
    ] = None
    hint: Annotated[Ours[str | None], Field(description="what to do with an empty or unusual result")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SanctionsState:
    screening: Annotated[bool, Field(description="false while no list is loaded: then nothing is refused")]
    addresses: int
    updated_at: Stamp | None

    @classmethod
    def of(cls, sanctions: Sanctions) -> "SanctionsState":
        """Return whether wallets are screened, against how many addresses, and as of when."""
        found = sanctions.state()
        if found is None:
            return cls(screening=False, addresses=0, updated_at=None)
        return cls(screening=True, addresses=found.addresses, updated_at=stamp_or_none(found.updated_at))


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The findings of a background probe, at most 5 seconds old."""

    object: Literal["health"] = "health"
    status: Annotated[Literal["ok", "degraded"], Field(description="degraded: a worker or a configured chain is down")]
    service: str
    version: str
    time: Stamp
    request_id: str
    database: bool
    workers: bool
    chains: Annotated[dict[str, str], Field(description="per environment: ok, down or not_configured")]
    probed_at: Stamp | None
    sanctions: SanctionsState


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogEntry:
    version: str
    date: str
    changes: Ours[list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changelog:
    """The changes to the market, newest first."""

    object: Literal["changelog"] = "changelog"
    current_version: str
    entries: list[ChangelogEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignEntry:
    """An entry of another market's catalogue, in that market's words."""

    object: Literal["foreign_entry"] = "foreign_entry"
    market: Annotated[Ours[str], Field(description="host of the market that offers it, where it is ordered and paid")]
    identifier: Theirs[str]
    name: Theirs[str]
    type: Annotated[Theirs[str], Field(description="media type of what is at url")]
    url: Theirs[str]
    description: Theirs[str]
    tags: Theirs[list[str]]
    capabilities: Theirs[list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ElsewherePage(HintedPage[ForeignEntry]):
    """One page of entries of other markets."""

    note: Ours[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayFigures(Priced):
    """The figures of one UTC day."""

    object: Literal["stats_day"] = "stats_day"
    day: Annotated[Ours[str], Field(description="2026-11-27, UTC")]
    jobs_created: int
    jobs_completed: Annotated[int, Field(description="completed, or resolved for the seller or split")]
    volume_usdc: Annotated[Minor, Field(description="of the jobs completed that day, net of all refunds; minor units")]
    volume_usdc_display: str = ""
    first_party_jobs_completed: Annotated[int, Field(description="those with the operator's own agents")]
    first_party_volume_usdc: Minor
    first_party_volume_usdc_display: str = ""
    jobs_accepted: Annotated[int, Field(description="orders that were accepted after a while")]
    median_seconds_to_accept: Annotated[int | None, Field(description="since the order; at most 1/16 wrong")]
    jobs_delivered: Annotated[int, Field(description="by their last delivery")]
    median_seconds_to_deliver: Annotated[int | None, Field(description="since the acceptance; at most 1/16 wrong")]
    paid_deliveries: Annotated[int, Field(description="those of them whose price has arrived")]
    unpaid_deliveries: Annotated[int, Field(description="those of them that ended and were never paid")]
    paid_share: Annotated[float | None, Field(description="paid / (paid + unpaid); null: neither")]
    disputes_opened: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyStats:
    """The market by day, the oldest first; computed at most once a minute."""

    object: Literal["daily_stats"] = "daily_stats"
    env: Env
    currency: Literal["USDC"] = "USDC"
    data: Annotated[list[DayFigures], Field(description="one of each day; the last is today")]
    generated_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthOfDisputes:
    """The disputes that were opened in one month, by their present result."""

    object: Literal["dispute_stats_month"] = "dispute_stats_month"
    month: Annotated[Ours[str], Field(description="2026-11, UTC")]
    opened: int
    undecided: int
    for_buyer: int
    for_seller: int
    split: int
    withdrawn: Annotated[int, Field(description="by the buyer, without a verdict")]
    median_seconds_to_verdict: Annotated[int | None, Field(description="of the decided; at most 1/16 wrong")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeStats:
    """The disputes of the last 24 months, the oldest first; computed at most once a minute."""

    object: Literal["dispute_stats"] = "dispute_stats"
    env: Env
    data: Annotated[list[MonthOfDisputes], Field(description="one of each month; the last is the present one")]
    generated_at: Stamp
