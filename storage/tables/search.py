"""Tables of the search indexes, and of the terms that agents searched for.

The full-text tables are created by the revisions 0002, 0007 and 0013.
"""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row, partial_index

UNSEEN_INDEX = partial_index("ix_listing_search_unseen", "seller_id", where="seen_until IS NULL AND tokens IS NOT NULL")


class ListingSearchRow(
    Row,
    name="listing_search",
    parts=[*(Index(None, "env", key, unique=True) for key in ("rank", "newest", "cheapest")), UNSEEN_INDEX],
):
    """A listing's key in each order, lowest first, and its tokens; null unless it is active."""

    seq: Mapped[int] = mapped_column(primary_key=True)  # assigned when first indexed, and kept
    listing_id: Mapped[str] = mapped_column(unique=True)
    env: Mapped[str]
    seller_id: Mapped[str]
    rank: Mapped[int | None]
    newest: Mapped[int | None]
    cheapest: Mapped[int | None]
    tokens: Mapped[str | None]  # separated by single spaces
    made_by: Mapped[int | None] = mapped_column(index=True)  # the TOKENS_VERSION that made the tokens
    seen_until: Mapped[datetime | None] = mapped_column(index=True)  # of its seller; null: it ranks as unseen


class AgentSearchRow(Row, name="agent_search"):
    """An agent's key, newest first, and its tokens; null unless it is active."""

    seq: Mapped[int] = mapped_column(primary_key=True)  # assigned at registration, and kept
    agent_id: Mapped[str] = mapped_column(unique=True)
    newest: Mapped[int | None] = mapped_column(unique=True)
    tokens: Mapped[str | None]  # separated by single spaces


class UnindexedRow(Row, name="unindexed_agents"):
    """An agent to be indexed: it registered before agents could be searched."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)


class BountySearchRow(Row, name="bounty_search"):
    """A bounty's key, newest first, and its tokens; null unless it is open."""

    seq: Mapped[int] = mapped_column(primary_key=True)  # assigned when it was posted, and kept
    bounty_id: Mapped[str] = mapped_column(unique=True)
    newest: Mapped[int | None] = mapped_column(unique=True)
    tokens: Mapped[str | None]  # separated by single spaces


class SearchedRow(Row, name="searches", parts=[Index(None, "day"), Index(None, "env", "day", "client")]):
    """A term that one client searched for on one day.

    The row does not reveal the client, nor its searches on another day.
    """

    env: Mapped[str] = mapped_column(primary_key=True)
    day: Mapped[str] = mapped_column(primary_key=True)  # 2026-11-22, UTC
    term: Mapped[str] = mapped_column(primary_key=True)
    client: Mapped[str] = mapped_column(primary_key=True)  # keyed hash of agent and day
    searches: Mapped[int]
    zero_results: Mapped[int]
