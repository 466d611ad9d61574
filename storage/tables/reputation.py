"""Reputation: what each job came to for its parties, and the sums of it by agent, category and counterparty."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class MarkRow(Row, name="job_marks"):
    """What a job has come to, as it is counted for its buyer and its seller. Text of that, because rules read it whole."""

    job_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    mark: Mapped[str]  # JSON, without what says nothing


class UnmarkedRow(Row, name="unmarked_jobs"):
    """A job whose mark has to be made again: it ended before there were marks, or what they mean has changed."""

    job_id: Mapped[str] = mapped_column(primary_key=True)


REPUTATION_INDEXES = [
    Index(None, "env", "seller_rank", "score", "seller_jobs"),
    Index(None, "env", "buyer_rank", "score", "buyer_jobs"),
]


class ReputationRow(Row, name="reputations", parts=REPUTATION_INDEXES):
    """An agent's figures in one environment. Who holds this row writes all that belongs to it."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    env: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    as_seller: Mapped[str]  # JSON: sums over jobs and counterparties
    as_buyer: Mapped[str]
    score: Mapped[int]
    seller_rank: Mapped[int]  # what the leaderboard orders by
    seller_jobs: Mapped[int]  # completed
    buyer_rank: Mapped[int]
    buyer_jobs: Mapped[int]
    updated_at: Mapped[datetime | None]


CATEGORY_INDEXES = [Index(None, "agent_id", "env", "role", "jobs")]


class CategoryRow(Row, name="reputation_categories", parts=CATEGORY_INDEXES):
    """One side of an agent in one category."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    env: Mapped[str] = mapped_column(primary_key=True)
    role: Mapped[str] = mapped_column(primary_key=True)
    category: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    figures: Mapped[str]  # JSON
    jobs: Mapped[int]  # finished: the largest are shown


class CounterpartyRow(Row, name="reputation_counterparties"):
    """What came of the jobs of one side of an agent with one wallet, or with one agent where no money moved."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    env: Mapped[str] = mapped_column(primary_key=True)
    role: Mapped[str] = mapped_column(primary_key=True)
    category: Mapped[str] = mapped_column(primary_key=True)  # empty: of all
    counterparty: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    paid_minor: Mapped[int]
    third_party_minor: Mapped[int]
    free_jobs: Mapped[int]
    rating_sum: Mapped[int]
    rating_count: Mapped[int]
