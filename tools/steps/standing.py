"""An agent's reputation as others read it: its standing in an environment, and the card its listings show."""

from collections.abc import Iterable
from datetime import datetime

import orjson

from storage.reputation import categories_among, largest_categories
from storage.tables import AgentRow, CategoryRow, ReputationRow
from storage.unit import Tx
from tools.ports import Env
from tools.records.base import stamp_or_none
from tools.records.listings import CardInCategory, ReputationCard
from tools.records.reputation import CategoryFigures, Side, Standing
from tools.rules.lifecycle import Actor
from tools.rules.reputation import EMPTY, MOST_CATEGORIES, Tally, on_time_rate, rating_avg, rating_weighted, score
from tools.steps.evaluators import evaluator_side
from tools.steps.reputation import figures_in, tally_in


def sides_of(tx: Tx, agent_id: str, env: Env) -> tuple[Tally, Tally]:
    """The agent's figures as seller and as buyer; all zero before its first job."""
    row = tx.get(ReputationRow, agent_id, env)
    return (EMPTY, EMPTY) if row is None else (figures_in(row, Actor.SELLER), figures_in(row, Actor.BUYER))


def standing_of(tx: Tx, agent: AgentRow, env: Env, now: datetime, *, own: bool = False) -> Standing:
    """What is known of an agent in one environment, in a handful of reads whatever it has done; `own`: by itself."""
    row = tx.get(ReputationRow, agent.id, env)
    seller, buyer = sides_of(tx, agent.id, env)
    return Standing(
        score=score(seller, buyer),
        as_seller=_side(seller, _categories(tx, agent.id, env, Actor.SELLER)),
        as_buyer=_side(buyer, _categories(tx, agent.id, env, Actor.BUYER)),
        as_evaluator=evaluator_side(tx, agent, env, now, own=own),
        updated_at=None if row is None else stamp_or_none(row.updated_at),
    )


def cards_of(tx: Tx, seller_id: str, env: Env, categories: Iterable[str]) -> dict[str, ReputationCard | None]:
    """What listings of these categories show of their seller; None until it has finished a job here. Two reads."""
    wanted = list(dict.fromkeys(categories))
    row = tx.get(ReputationRow, seller_id, env)
    tally = EMPTY if row is None else figures_in(row, Actor.SELLER)
    if row is None or not tally.jobs:
        return dict.fromkeys(wanted)
    named = orjson.dumps(wanted).decode()
    found = tx.all(categories_among, agent_id=seller_id, env=env, role=Actor.SELLER.value, categories=named)
    inside = {one.category: _in_category(tally_in(one.figures)) for one in found if one.jobs}
    return {
        category: ReputationCard(
            score=row.score,
            jobs_completed=tally.jobs_completed,
            rating=rating_weighted(tally),
            distinct_counterparties=tally.wallets,
            in_category=inside.get(category),
        )
        for category in wanted
    }


def _in_category(tally: Tally) -> CardInCategory:
    return CardInCategory(
        jobs_completed=tally.jobs_completed,
        jobs_failed=tally.jobs_failed,
        rating=rating_weighted(tally),
        on_time_rate=on_time_rate(tally),
    )


def _side(tally: Tally, categories: list[CategoryFigures]) -> Side:
    return Side(
        jobs_completed=tally.jobs_completed,
        jobs_failed=tally.jobs_failed,
        jobs_disputed=tally.jobs_disputed,
        jobs_cancelled=tally.jobs_cancelled,
        jobs_unpaid=tally.jobs_unpaid,
        deliveries_unpaid=tally.deliveries_unpaid,
        refunds_due=tally.refunds_due,
        refunds_made=tally.refunds_made,
        distinct_counterparties=tally.wallets,
        first_party_counterparties=tally.first_party_wallets,
        third_party_counterparties=tally.third_party_wallets,
        free_counterparties=tally.free_agents,
        volume_usdc=tally.volume_minor,
        third_party_volume_usdc=tally.third_party_minor,
        rating_avg=rating_avg(tally),
        rating_weighted=rating_weighted(tally),
        rating_count=tally.rating_count,
        on_time_rate=on_time_rate(tally),
        categories=categories,
    )


def _categories(tx: Tx, agent_id: str, env: Env, role: Actor) -> list[CategoryFigures]:
    rows = tx.all(largest_categories, agent_id=agent_id, env=env, role=role.value, limit=MOST_CATEGORIES)
    return [_category(row, tally_in(row.figures)) for row in rows if row.jobs]


def _category(row: CategoryRow, tally: Tally) -> CategoryFigures:
    return CategoryFigures(
        category=row.category,
        jobs_completed=tally.jobs_completed,
        jobs_failed=tally.jobs_failed,
        volume_usdc=tally.volume_minor,
        rating_avg=rating_avg(tally),
        rating_weighted=rating_weighted(tally),
        rating_count=tally.rating_count,
        on_time_rate=on_time_rate(tally),
    )
