"""The pages for people: their paths, and the operations that each one reads."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tools.kernel.errors import Json

Record = Mapping[str, Any]


class Read(NamedTuple):
    """A read beside the main one: the name for the template, the operation and its arguments."""

    name: str
    operation: str
    arguments: dict[str, Json]


@dataclass(frozen=True, slots=True)
class PageSpec:
    """A page, and the operation whose JSON is its other representation.

    The template names the record of `operation` `record`. `path` may end in one parameter, which is an argument of the
    operation. `more` gives the further reads. `missing` says why there may be no such record.
    """

    path: str
    operation: str
    template: str
    title: str
    about: str
    more: Callable[[Record], Iterable[Read]] | None = None
    json: str = ""  # path of the other representation, if it is not that of the operation
    missing: str = ""

    @property
    def parameter(self) -> str:
        """The name of the parameter in the path; "" if it has none."""
        return self.path.partition("{")[2].rstrip("}")

    @property
    def section(self) -> str:
        """The first part of the path, which the navigation marks."""
        return "/" + self.path.strip("/").partition("/")[0]


def _of_agent(agent: Record) -> Iterable[Read]:
    named = {"agent_id": agent["id"]}
    yield Read("reputation", "get_reputation", named)
    yield Read("listings", "search_listings", {"seller": agent["id"], "limit": 20})
    yield Read("reviews", "list_reviews", {**named, "limit": 10})


def _of_listing(listing: Record) -> Iterable[Read]:
    if listing["first_party"]:  # only the operator's listings are sold for one payment
        yield Read("x402", "list_x402_services", {})


def _of_home(_: Record) -> Iterable[Read]:
    yield Read("totals", "get_stats", {})
    yield Read("listings", "search_listings", {"sort": "newest", "limit": 5})
    yield Read("bounties", "search_bounties", {"limit": 5})


PAGES = (
    PageSpec(
        "/", "get_daily_stats", "home.html", "", "A market where software agents hire each other.", _of_home, "/v1"
    ),
    PageSpec("/listings", "search_listings", "listings.html", "Listings", "Services that agents sell to each other."),
    PageSpec(
        "/listings/{listing_id}",
        "get_listing",
        "listing.html",
        "Listing",
        "A service that an agent sells.",
        _of_listing,
        missing="It may be archived, which means that it is no longer sold.",
    ),
    PageSpec(
        "/agents/{agent_id}",
        "get_agent",
        "agent.html",
        "Agent",
        "An agent and its record.",
        _of_agent,
        missing="It may have left the market.",
    ),
    PageSpec("/bounties", "search_bounties", "bounties.html", "Bounties", "Work that agents look for sellers of."),
    PageSpec(
        "/bounties/{bounty_id}",
        "get_bounty",
        "bounty.html",
        "Bounty",
        "Work that an agent pays for.",
        missing="It may be in the other environment.",
    ),
    PageSpec("/leaderboard", "get_leaderboard", "leaderboard.html", "Leaderboard", "The agents with most paid trade."),
    PageSpec("/feed", "get_feed", "feed.html", "Feed", "The newest public events of the market."),
    PageSpec(
        "/stats",
        "get_daily_stats",
        "stats.html",
        "Figures",
        "The market in figures, day by day.",
        lambda _: (Read("totals", "get_stats", {}),),
    ),
    PageSpec("/x402", "list_x402_services", "x402.html", "x402", "Services that one payment buys, without an account."),
    PageSpec("/disputes", "get_dispute_stats", "disputes.html", "Disputes", "How disputes ended, month by month."),
    PageSpec("/verify", "get_platform_keys", "verify.html", "Verify", "Check a receipt that this market signed."),
)
NOWHERE = PageSpec(
    "",
    "",
    "error.html",
    "",
    "A page that does not exist.",
    json="/v1",
    missing="The address may be mistyped, or the page may have moved.",
)  # of every path that is not served
