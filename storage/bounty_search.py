"""Search among the open bounties of one environment, newest first (storage.search_index)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from storage.search_index import Found, Hit, Order, SearchIndex, all_or_any, keep_newest
from storage.search_tokens import ENVIRONMENTS, MAX_PRICE, Filters, Search, groups_of, join_tokens, price_tokens, up_to
from storage.tables.bounties import BountyRow
from storage.tables.search import BountySearchRow
from storage.transaction import Tx
from storage.vocabulary import BountyStatus

FTS = "search_bounties"  # SQLite's table
NEWEST = Order(FTS, BountySearchRow.newest, BountySearchRow.bounty_id)
BOUNTIES = SearchIndex(BountySearchRow, "bounty_id", {"newest": NEWEST})


@dataclass(frozen=True, slots=True, kw_only=True)
class BountySearch(Search):
    """A search among the open bounties of one environment. Budgets in USDC minor units."""

    FILTERS: ClassVar = {"t": "tag", "c": "category", "o": "first_party"}

    env: str
    category: str | None = None
    tag: str | None = None
    min_budget: int = 0
    first_party: bool | None = None


def find_bounties(tx: Tx, search: BountySearch) -> Found:
    return all_or_any(_hits, tx, search)


def _hits(tx: Tx, search: BountySearch) -> list[Hit]:
    bounds = [up_to(_below_most(search.min_budget))] if search.min_budget > 0 else []
    return NEWEST.after(tx, groups_of(search, bounds, ENVIRONMENTS[search.env]), search)


def index_bounty(tx: Tx, bounty: BountyRow, terms: Sequence[str]) -> None:
    """Update a bounty's index entry; remove it unless the bounty is open."""
    keep_newest(tx, BOUNTIES, bounty.id, bounty_tokens(bounty, terms) if bounty.status is BountyStatus.OPEN else None)


def bounty_tokens(bounty: BountyRow, terms: Sequence[str]) -> str:
    """Return a bounty's tokens, separated by spaces.

    Each begins with the letter of its environment and the letter of its kind.
    """
    filters: Filters = {"c": [bounty.category], "o": [bounty.first_party], "t": bounty.tags}
    return join_tokens(filters, terms, price_tokens(_below_most(bounty.budget_max)), ENVIRONMENTS[bounty.env])


def _below_most(budget: int) -> int:
    """Return how far a budget is below MAX_PRICE.

    Budgets of at least X are those that are at most as far below it as X.
    """
    return MAX_PRICE - min(budget, MAX_PRICE)
