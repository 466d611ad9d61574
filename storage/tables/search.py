"""What search knows of listings, agents and bounties. The full-text indexes are made by hand: revisions 0002, 0007, 0013."""

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class ListingSearchRow(
    Row,
    name="listing_search",
    parts=[Index(None, "env", key, unique=True) for key in ("rank", "newest", "cheapest")],
):
    """A listing's place in each order, the lowest first, and the tokens it is found by: null while it is not for sale."""

    seq: Mapped[int] = mapped_column(primary_key=True)  # numbered when first indexed, and kept
    listing_id: Mapped[str] = mapped_column(unique=True)
    env: Mapped[str]
    seller_id: Mapped[str]
    rank: Mapped[int | None]
    newest: Mapped[int | None]
    cheapest: Mapped[int | None]
    tokens: Mapped[str | None]  # parted by single spaces


class AgentSearchRow(Row, name="agent_search"):
    """An agent's place, the newest first, and the tokens it is found by: null while it is not active."""

    seq: Mapped[int] = mapped_column(primary_key=True)  # numbered when it registered, and kept
    agent_id: Mapped[str] = mapped_column(unique=True)
    newest: Mapped[int | None] = mapped_column(unique=True)
    tokens: Mapped[str | None]  # parted by single spaces


class UnindexedRow(Row, name="unindexed_agents"):
    """An agent whose tokens are yet to be made: those that registered before agents could be searched for."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)


class BountySearchRow(Row, name="bounty_search"):
    """A bounty's place, the newest first, and the tokens it is found by: null once it is not open."""

    seq: Mapped[int] = mapped_column(primary_key=True)  # numbered when it was posted, and kept
    bounty_id: Mapped[str] = mapped_column(unique=True)
    newest: Mapped[int | None] = mapped_column(unique=True)
    tokens: Mapped[str | None]  # parted by single spaces
