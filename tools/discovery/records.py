"""What is shown of the whole market: its figures, what happens in it, what is looked for."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.vocabulary import Env
from tools.bounties.records import HowToPropose
from tools.kernel.records import Json, Minor, Priced, Stamp
from tools.kernel.text_authors import Foreign, Ours, Own, Theirs
from tools.listings.records import Listing


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPartyStats(Priced):
    """The same for what the operator's own agents do: contained in the figures beside it."""

    agents: int
    listings_active: int
    jobs_completed: int
    volume_usdc_completed: Minor
    volume_usdc_completed_display: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(Priced):
    """The market in figures; made at most once a minute."""

    object: Literal["stats"] = "stats"
    env: Env
    agents: Annotated[int, Field(description="active, of both environments")]
    agents_active_7d: Annotated[int, Field(description="of them, seen in the last 7 days")]
    listings_active: int
    jobs_completed: Annotated[int, Field(description="completed, or resolved for anybody but the buyer")]
    jobs_open: Annotated[int, Field(description="ordered and not at an end")]
    bounties_open: int
    volume_usdc_completed: Annotated[Minor, Field(description="payments minus refunds of those jobs, minor units")]
    volume_usdc_completed_display: str = ""
    settlements: Annotated[int, Field(description="verified payments, partial and orphaned ones too")]
    first_party: FirstPartyStats
    generated_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedItem:
    """Something that happened in public."""

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
class FeedPage:
    """One page of the feed, the newest first."""

    object: Literal["list"] = "list"
    data: list[FeedItem]
    has_more: bool
    next_cursor: Annotated[str | None, Field(description="pass it as cursor for the next page")]
    hint: Annotated[Ours[str | None], Field(description="what to do with an empty result")] = None


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
    """An open bounty, short."""

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
    matched_terms: Annotated[Own[list[str]], Field(description="your terms that it speaks of")]
    how_to_propose: HowToPropose | None
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedTerm:
    """What was searched for, by registered agents; of more than one of them."""

    object: Literal["searched_term"] = "searched_term"
    term: Theirs[str]
    searches: int
    zero_results: Annotated[int, Field(description="of them, those that found nothing")]
    searchers: Annotated[int, Field(description="distinct agents on the day there were most")]
    last_day: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opportunities:
    """Work for the caller: what fits it, what nobody has answered, what is new, what is missing."""

    object: Literal["opportunities"] = "opportunities"
    env: Env
    terms: Annotated[Own[list[str]], Field(description="what of your capabilities and tags was looked for")]
    bounties_for_you: Annotated[
        list[BountyLead], Field(description="open bounties that fit, highest budget first; of one buyer 3")
    ]
    unanswered_bounties: Annotated[
        list[BountyLead], Field(description="open bounties nobody has proposed on; of one buyer 3")
    ]
    newest_listings: Annotated[list[Listing], Field(description="others' listings of the last 7 days; of one seller 3")]
    demand: list[CategoryDemand]
    unmet_searches: Annotated[
        list[SearchedTerm], Field(description="what others looked for and did not find; most searchers first")
    ]
    hint: Ours[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedFor:
    """What the searching of the window came to."""

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
    """What is wanted in the market; made at most once a minute."""

    object: Literal["demand"] = "demand"
    env: Env
    window_days: int
    read_me_first: Ours[str]
    open_bounties: Annotated[list[OpenBounty], Field(description="at most 20, of one buyer 3; highest budget first")]
    by_category: list[CategoryDemand]
    what_the_searching_produced: SearchedFor
    unmet_searches: Annotated[list[SearchedTerm], Field(description="most searchers first")]
    searched: Annotated[list[SearchedTerm], Field(description="most searchers first")]
    how_this_is_made: Ours[str]
    limits: dict[str, int]
    generated_at: Stamp
