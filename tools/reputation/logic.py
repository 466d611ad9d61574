"""Reputation: each result of a job updates both parties' figures in the same unit of work."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

import orjson

from storage.tables import AgentRow, CategoryRow, ContributionRow, CounterpartyRow, JobRow, ReputationRow
from storage.transaction import Tx
from storage.vocabulary import Actor, Env
from tools.agents.logic import set_tier
from tools.agents.trust_tiers import earns_tier_one
from tools.reputation.rules import (
    EMPTY,
    NOTHING,
    CounterpartyTotals,
    Figures,
    JobContribution,
    add,
    contribution,
    counterparty_figures,
    dealings_of,
    rank_value,
    score,
    subtract,
)

ALL = ""  # the category of all categories
NOTHING_YET = "{}"
DEALT = tuple(one.name for one in fields(CounterpartyTotals))


def count_mark(tx: Tx, job: JobRow, new: JobContribution, now: datetime) -> None:
    """Update both parties' figures with a job's present result; repeating it changes nothing.

    The caller holds the lock on the job. The parties' rows are locked in the order of their ids, so that two processes
    that close jobs of the same two agents cannot deadlock.
    """
    kept = tx.get(ContributionRow, job.id)
    old = NOTHING if kept is None else JobContribution(**orjson.loads(kept.mark))
    if new == old:
        return
    tx.add_or_change(ContributionRow, kept, {"job_id": job.id}, mark=mark_text(new))
    for agent_id, role in sorted(((job.buyer_id, Actor.BUYER), (job.seller_id, Actor.SELLER))):
        _move(tx, job, agent_id, role, old, new, now)


def mark_text(mark: JobContribution) -> str:
    """Return a mark as it is stored: only the values that are not the default."""
    values = {name: value for name, value in asdict(mark).items() if value != getattr(NOTHING, name)}
    return orjson.dumps(values).decode()


def tally_in(text: str) -> Figures:
    return Figures(**orjson.loads(text))


def tally_text(tally: Figures) -> str:
    return orjson.dumps({name: value for name, value in asdict(tally).items() if value}).decode()


def figures_in(row: ReputationRow, role: Actor) -> Figures:
    return tally_in(row.as_seller if role is Actor.SELLER else row.as_buyer)


def columns_of(seller: Figures, buyer: Figures) -> dict[str, Any]:
    """Return the columns of an agent's row in one environment, from its figures on both sides."""
    return {
        "as_seller": tally_text(seller),
        "as_buyer": tally_text(buyer),
        "score": score(seller, buyer),
        "seller_rank": rank_value(seller),
        "seller_jobs": seller.jobs_completed,
        "buyer_rank": rank_value(buyer),
        "buyer_jobs": buyer.jobs_completed,
    }


def _move(
    tx: Tx, job: JobRow, agent_id: str, role: Actor, old: JobContribution, new: JobContribution, now: datetime
) -> None:
    """Change one party's figures by the difference between the job's old and new mark."""
    first_party = job.first_party
    added, removed = (contribution(one, role, first_party=first_party) for one in (new, old))
    by_job = subtract(added, removed)
    other_id = job.buyer_id if role is Actor.SELLER else job.seller_id
    changes = _dealings_changed(role, other_id, old, new, first_party)
    if by_job == EMPTY and not changes:
        return
    row = _locked(tx, agent_id, job.env)
    before = figures_in(row, role)
    after = add(add(before, by_job), _move_dealings(tx, job, agent_id, role, ALL, changes))
    sides = {one: figures_in(row, one) for one in (Actor.SELLER, Actor.BUYER)} | {role: after}
    tx.change(row, **columns_of(sides[Actor.SELLER], sides[Actor.BUYER]), updated_at=now)
    _move_category(tx, job, agent_id, role, add(by_job, _move_dealings(tx, job, agent_id, role, job.category, changes)))
    seller = sides[Actor.SELLER]
    if before.jobs or seller.jobs or seller.orders_answered or seller.orders_ignored:
        tx.invalidate(f"seller:{agent_id}")  # its listings show the score and the response rate
    if role is Actor.SELLER and job.env == Env.LIVE and _earns(after) and not _earns(before):
        set_tier(tx, tx.need(AgentRow, agent_id, lock=True), reached_one=True)


def _earns(tally: Figures) -> bool:
    return earns_tier_one(tally.third_party_minor, tally.third_party_wallets)


def _locked(tx: Tx, agent_id: str, env: str) -> ReputationRow:
    """Return the agent's row, locked and made if missing; the lock guards all its figures."""
    row = tx.get(ReputationRow, agent_id, env, lock=True)
    if row is not None:
        return row
    tx.insert_if_absent(ReputationRow(agent_id=agent_id, env=env, updated_at=None, **columns_of(EMPTY, EMPTY)))
    return tx.need(ReputationRow, agent_id, env, lock=True)


def _dealings_changed(
    role: Actor, other_id: str, old: JobContribution, new: JobContribution, first_party: bool
) -> Sequence[tuple[str, CounterpartyTotals]]:
    """Return the change of the dealings with each counterparty."""
    changes = defaultdict[str, CounterpartyTotals](CounterpartyTotals)
    for mark, sign in ((old, -1), (new, 1)):
        counterparty, dealings = dealings_of(mark, role, other_id, first_party=first_party)
        changes[counterparty] = add(changes[counterparty], dealings, sign)
    return [one for one in sorted(changes.items()) if one[1] != CounterpartyTotals()]


def _move_dealings(
    tx: Tx, job: JobRow, agent_id: str, role: Actor, category: str, changes: Sequence[tuple[str, CounterpartyTotals]]
) -> Figures:
    """Write the changed dealings; return by how much that changes the agent's figures."""
    moved = EMPTY
    for counterparty, change in changes:
        key = {**_place(job, agent_id, role, category), "counterparty": counterparty}
        row = tx.get(CounterpartyRow, *key.values())
        before = CounterpartyTotals() if row is None else dealings_in(row)
        after = add(before, change)
        tx.add_or_change(CounterpartyRow, row, key, **asdict(after))
        moved = add(moved, subtract(counterparty_figures(after), counterparty_figures(before)))
    return moved


def dealings_in(row: CounterpartyRow) -> CounterpartyTotals:
    return CounterpartyTotals(**{name: getattr(row, name) for name in DEALT})


def _move_category(tx: Tx, job: JobRow, agent_id: str, role: Actor, change: Figures) -> None:
    key = _place(job, agent_id, role, job.category)
    row = tx.get(CategoryRow, *key.values())
    after = add(EMPTY if row is None else tally_in(row.figures), change)
    tx.add_or_change(CategoryRow, row, key, figures=tally_text(after), jobs=after.jobs)


def _place(job: JobRow, agent_id: str, role: Actor, category: str) -> dict[str, str]:
    return {"agent_id": agent_id, "env": job.env, "role": role.value, "category": category}
