"""Search among the open bounties of one environment, newest first (storage.search_index)."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.search_index import Found, RecencyIndex, all_or_any
from storage.search_tokens import (
    ENVIRONMENTS,
    MAX_PRICE,
    Conjunction,
    Search,
    filter_token,
    groups_of,
    price_tokens,
    up_to,
)
from storage.tables.bounties import BountyRow
from storage.tables.search import BountySearchRow
from storage.transaction import Tx
from storage.vocabulary import BountyStatus

FTS = "search_bounties"  # SQLite's table
BOUNTIES = RecencyIndex(BountySearchRow, "bounty_id", FTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class BountySearch(Search):
    """A search among the open bounties of one environment. Budgets in USDC minor units."""

    env: str
    category: str | None = None
    tag: str | None = None
    min_budget: int = 0
    first_party: bool | None = None


def find_bounties(tx: Tx, search: BountySearch) -> Found:
    return all_or_any(_page, tx, search)


def index_bounty(tx: Tx, bounty: BountyRow, terms: Sequence[str]) -> None:
    """Update a bounty's index entry; remove it unless the bounty is open."""
    BOUNTIES.keep(tx, bounty.id, bounty_tokens(bounty, terms) if bounty.status is BountyStatus.OPEN else None)


def bounty_tokens(bounty: BountyRow, terms: Sequence[str]) -> str:
    """Return a bounty's tokens, separated by spaces.

    Each begins with the letter of its environment and the letter of its kind.
    """
    kinds = [
        "a",
        filter_token("c", bounty.category),
        filter_token("o", bounty.first_party),
        *(filter_token("t", tag) for tag in bounty.tags),
        *("w" + term for term in terms),
        *price_tokens(_below_most(bounty.budget_max)),
    ]
    return " ".join(dict.fromkeys(ENVIRONMENTS[bounty.env] + kind for kind in kinds))


def conjunction(search: BountySearch) -> Conjunction:
    """Return groups of tokens; a found bounty has at least one token of each group."""
    filters = [("t", search.tag), ("c", search.category), ("o", search.first_party)]
    bounds = [up_to(_below_most(search.min_budget))] if search.min_budget > 0 else []
    return groups_of(search, filters, bounds, ENVIRONMENTS[search.env])


def _below_most(budget: int) -> int:
    """Return how far a budget is below MAX_PRICE.

    Budgets of at least X are those that are at most as far below it as X.
    """
    return MAX_PRICE - min(budget, MAX_PRICE)


def _page(tx: Tx, search: BountySearch) -> Found:
    return BOUNTIES.page(tx, conjunction(search), search)
