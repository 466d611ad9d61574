"""Alerts of new bounties: which terms match an agent, and how many alerts an agent gets in a day."""

from collections.abc import Collection, Sequence

from tools.listings.search_statistics import capability_terms

MAX_A_DAY, MAX_OF_BUYER = 20, 2  # alerts to one agent in a UTC day: in all, and for one buyer's bounties
MAX_OF_STRANGERS = 5  # of these, for buyers that have never paid anybody
MAX_TOLD_OF = 10  # bounties of one buyer in a UTC day that cause alerts


def matched_terms(labels: Sequence[str], words: Collection[str]) -> list[str]:
    """Find which terms of an agent's capabilities and tags occur in a bounty."""
    return [term for term in capability_terms(labels) if term in words]


def may_be_told(buyers: Sequence[str], buyer_id: str, strangers: int, *, stranger: bool) -> bool:
    """Check whether an agent may get one more alert today.

    `buyers` are the buyers of the bounties in today's alerts to it. A stranger has never paid anybody; `strangers` of
    the alerts were for such buyers.
    """
    if stranger and strangers >= MAX_OF_STRANGERS:
        return False
    return len(buyers) < MAX_A_DAY and buyers.count(buyer_id) < MAX_OF_BUYER
