"""The records of an agent's reputation: its standing in an environment, the card of its listings, its reviews."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from storage.reputation import categories_among, largest_categories
from storage.tables import AgentRow, ReputationRow, ReviewRow
from storage.transaction import Tx
from storage.vocabulary import Actor, Env
from tools.agents.records import Party
from tools.evaluators.logic import evaluator_side
from tools.kernel.records import record_from, stamp_or_none
from tools.reputation.counterparty import response_rate
from tools.reputation.logic import figures_in, tally_in
from tools.reputation.records import CardInCategory, CategoryFigures, ReputationCard, Review, Side, Standing
from tools.reputation.rules import (
    EMPTY,
    MAX_CATEGORIES,
    Figures,
    on_time_rate,
    rating_avg,
    rating_weighted,
    score,
    unpaid_rating,
)


def figures_by_role(tx: Tx, agent_id: str, env: Env) -> tuple[Figures, Figures]:
    """Return the agent's figures as seller and as buyer; all are 0 before its first job."""
    row = tx.get(ReputationRow, agent_id, env)
    return (EMPTY, EMPTY) if row is None else (figures_in(row, Actor.SELLER), figures_in(row, Actor.BUYER))


def reputation_in_env(tx: Tx, agent: AgentRow, env: Env, now: datetime, *, own: bool = False) -> Standing:
    """Return an agent's reputation in one environment; `own`: for the agent itself.

    The number of reads does not depend on the number of its jobs.
    """
    row = tx.get(ReputationRow, agent.id, env)
    seller, buyer = figures_by_role(tx, agent.id, env)
    return Standing(
        score=score(seller, buyer),
        as_seller=_side(seller, _categories(tx, agent.id, env, Actor.SELLER)),
        as_buyer=_side(buyer, _categories(tx, agent.id, env, Actor.BUYER)),
        as_evaluator=evaluator_side(tx, agent, env, now, own=own),
        updated_at=None if row is None else stamp_or_none(row.updated_at),
    )


@dataclass(frozen=True, slots=True)
class SellerRecord:
    """The seller's record that a listing shows; no card until the seller has finished a job."""

    card: ReputationCard | None = None
    response_rate: float | None = None


def records_of(tx: Tx, seller_id: str, env: Env, categories: Iterable[str]) -> dict[str, SellerRecord]:
    """Return the seller's record for listings of each of these categories, in two reads."""
    row, wanted = tx.get(ReputationRow, seller_id, env), list(dict.fromkeys(categories))
    tally = EMPTY if row is None else figures_in(row, Actor.SELLER)
    answered = response_rate(tally)
    if row is None or not tally.jobs:
        return dict.fromkeys(wanted, SellerRecord(None, answered))
    found = tx.all(categories_among, agent_id=seller_id, env=env, role=Actor.SELLER.value, categories=wanted)
    inside = {one.category: _in_category(tally_in(one.figures)) for one in found if one.jobs}
    figures = {"score": row.score, "rating": rating_weighted(tally), "distinct_counterparties": tally.wallets}
    return {
        category: SellerRecord(
            record_from(ReputationCard, tally, **figures, in_category=inside.get(category)), answered
        )
        for category in wanted
    }


def _in_category(tally: Figures) -> CardInCategory:
    return record_from(CardInCategory, tally, rating=rating_weighted(tally), on_time_rate=on_time_rate(tally))


def _side(tally: Figures, categories: list[CategoryFigures]) -> Side:
    return record_from(
        Side,
        tally,
        distinct_counterparties=tally.wallets,
        first_party_counterparties=tally.first_party_wallets,
        third_party_counterparties=tally.third_party_wallets,
        free_counterparties=tally.free_agents,
        volume_usdc=tally.volume_minor,
        third_party_volume_usdc=tally.third_party_minor,
        **_rates(tally),
        jobs_completed_unpaid=tally.unpaid_completed,
        unpaid_rating_avg=unpaid_rating(tally),
        categories=categories,
    )


def _rates(tally: Figures) -> dict[str, float | None]:
    return {
        "rating_avg": rating_avg(tally),
        "rating_weighted": rating_weighted(tally),
        "on_time_rate": on_time_rate(tally),
    }


def _categories(tx: Tx, agent_id: str, env: Env, role: Actor) -> list[CategoryFigures]:
    rows = tx.all(largest_categories, agent_id=agent_id, env=env, role=role.value, limit=MAX_CATEGORIES)
    return [_category(row.category, tally_in(row.figures)) for row in rows if row.jobs]


def _category(category: str, tally: Figures) -> CategoryFigures:
    return record_from(CategoryFigures, tally, category=category, volume_usdc=tally.volume_minor, **_rates(tally))


def review_record(row: ReviewRow, handle: str) -> Review:
    """Return the record of a review; `handle` is the reviewer's."""
    return record_from(Review, row, reviewer=Party(id=row.reviewer_id, handle=handle))
