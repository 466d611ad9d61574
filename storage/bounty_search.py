"""Search among the open bounties of one environment, newest first (storage.recency_index)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from storage.listing_search_tokens import ENVIRONMENTS, MAX_PRICE, Conjunction, filter_token, price_tokens, up_to
from storage.recency_index import FoundNewest, RecencyIndex
from storage.tables.bounties import BountyRow
from storage.tables.search_indexes import BountySearchRow
from storage.transaction import Tx
from storage.vocabulary import BountyStatus

FTS = "search_bounties"  # SQLite's table
BOUNTIES = RecencyIndex(BountySearchRow, "bounty_id", FTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class BountySearch:
    """A search among the open bounties of one environment. Budgets in USDC minor units."""

    env: str
    terms: tuple[str, ...] = ()  # as returned by tools.kernel.search_terms.query_terms
    any_terms: bool = False  # one term is enough; otherwise all are required
    category: str | None = None
    tag: str | None = None
    min_budget: int = 0
    first_party: bool | None = None
    after: int = -1  # key of the last hit of the previous page
    limit: int = 20


def find_bounties(tx: Tx, search: BountySearch) -> FoundNewest:
    """Return one page of hits.

    If no bounty has all the terms, the first page and the following ones accept any of them.
    """
    found = _page(tx, search)
    if found.hits or search.after >= 0 or search.any_terms or len(search.terms) < 2:
        return found
    return _page(tx, replace(search, any_terms=True))


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
        _first_party(bounty.first_party),
        *(filter_token("t", tag) for tag in bounty.tags),
        *("w" + term for term in terms),
        *price_tokens(_below_most(bounty.budget_max)),
    ]
    return " ".join(dict.fromkeys(ENVIRONMENTS[bounty.env] + kind for kind in kinds))


def conjunction(search: BountySearch) -> Conjunction:
    """Return groups of tokens; a found bounty has at least one token of each group.

    Without terms and filters the only group is the token that every bounty of the environment has.
    """
    words = tuple("w" + term for term in search.terms)
    groups: list[tuple[str, ...]] = [words] if search.any_terms else [(word,) for word in words]
    filters = (("t", search.tag), ("c", search.category))
    groups += [(filter_token(kind, value),) for kind, value in filters if value is not None]
    if search.first_party is not None:
        groups.append((_first_party(search.first_party),))
    if search.min_budget > 0:
        groups.append(up_to(_below_most(search.min_budget)))
    env = ENVIRONMENTS[search.env]
    return tuple(tuple(env + kind for kind in group) for group in groups if group) or ((env + "a",),)


def _below_most(budget: int) -> int:
    """Return how far a budget is below MAX_PRICE.

    Budgets of at least X are those that are at most as far below it as X.
    """
    return MAX_PRICE - min(budget, MAX_PRICE)


def _first_party(run_by_operator: bool) -> str:
    return f"o{int(run_by_operator)}"


def _page(tx: Tx, search: BountySearch) -> FoundNewest:
    return BOUNTIES.page(tx, conjunction(search), search.after, search.limit, any_terms=search.any_terms)
