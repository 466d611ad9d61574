"""Tables of reputation: the mark of each job, and sums by agent, category and counterparty."""

from datetime import datetime

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row, StateOfAgentInEnv


class ContributionRow(Row, name="job_marks"):
    """A job's mark: its result for its buyer and its seller.

    It is JSON, because rules read it whole.
    """

    job_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    mark: Mapped[str]  # JSON, without empty values


class PendingContributionRow(Row, name="unmarked_jobs"):
    """A job whose mark must be computed again.

    It ended before marks existed, or their meaning has changed.
    """

    job_id: Mapped[str] = mapped_column(primary_key=True)


REPUTATION_INDEXES = [  # in the order of the leaderboard, so that equal ranks are not sorted
    Index(
        f"ix_reputations_{role}",
        "env",
        *map(text, (f"{role}_rank DESC", "score DESC", f"{role}_jobs DESC")),
        "agent_id",
    )
    for role in ("seller", "buyer")
]


class ReputationRow(StateOfAgentInEnv, name="reputations", parts=REPUTATION_INDEXES):
    """An agent's figures in one environment.

    Lock this row to write any row of the agent's reputation in the environment.
    """

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
    """An agent's figures in one role and one category."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    env: Mapped[str] = mapped_column(primary_key=True)
    role: Mapped[str] = mapped_column(primary_key=True)
    category: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    figures: Mapped[str]  # JSON
    jobs: Mapped[int]  # finished; the largest categories are shown


class CounterpartyRow(Row, name="reputation_counterparties"):
    """Sums of an agent's jobs in one role with one counterparty.

    The counterparty is a wallet, or an agent if no money moved.
    """

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    env: Mapped[str] = mapped_column(primary_key=True)
    role: Mapped[str] = mapped_column(primary_key=True)
    category: Mapped[str] = mapped_column(primary_key=True)  # empty: all categories
    counterparty: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    paid_minor: Mapped[int]
    third_party_minor: Mapped[int]
    free_jobs: Mapped[int]
    rating_sum: Mapped[int]
    rating_count: Mapped[int]
    returned_minor: Mapped[int] = mapped_column(default=0)
