"""Reputation computed again from jobs, settlements, deliveries and reviews, to find stored figures that differ."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storage import reputation as stored
from storage.agents import agents_among
from storage.jobs import deliveries_of_jobs, reviews_of_jobs, settlements_of_jobs
from storage.operator import jobs_among
from storage.tables import JobRow
from storage.transaction import Tx
from storage.vocabulary import FINISHED, Actor, Env
from tools.agents.trust_tiers import earns_tier_one, trust_tier
from tools.jobs.contributions import made_mark
from tools.jobs.snapshot import JobSnapshot
from tools.reputation.logic import ALL, NOTHING_YET, columns_of, dealings_in, mark_text, tally_text
from tools.reputation.rules import (
    EMPTY,
    CounterpartyTotals,
    Figures,
    JobContribution,
    add,
    contribution,
    counterparty_figures,
    dealings_of,
)

Ids = Sequence[str]
PLACE = ("agent_id", "env", "role", "category")
Place = tuple[str, str, str, str]  # the values of these
COLUMNS = tuple(columns_of(EMPTY, EMPTY))


@dataclass(slots=True)
class Folded:
    """The figures of some agents, summed from their jobs."""

    tallies: dict[Place, Figures] = field(default_factory=dict)
    dealings: defaultdict[Place, defaultdict[str, CounterpartyTotals]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(CounterpartyTotals))
    )

    def add(self, job: JobRow, mark: JobContribution, agent_id: str, role: Actor) -> None:
        other_id = job.buyer_id if role is Actor.SELLER else job.seller_id
        part = contribution(mark, role, first_party=job.first_party)
        counterparty, dealings = dealings_of(mark, role, other_id, first_party=job.first_party)
        for category in (ALL, job.category):
            place = agent_id, job.env, role.value, category
            self.tallies[place] = add(self.tallies.get(place, EMPTY), part)
            if dealings != CounterpartyTotals():
                self.dealings[place][counterparty] = add(self.dealings[place][counterparty], dealings)

    def tally(self, agent_id: str, env: str, role: Actor, category: str = ALL) -> Figures:
        place = agent_id, env, role.value, category
        total = self.tallies.get(place, EMPTY)
        for dealings in self.dealings[place].values():
            total = add(total, counterparty_figures(dealings))
        return total


def marks(tx: Tx, ids: Ids) -> set[str]:
    """Return the ids of jobs whose stored mark differs from the one computed from their rows."""
    kept = {row.job_id: row.mark for row in tx.all(stored.marks_of_jobs, ids=ids)}
    made = {job.id: mark_text(mark) for job, mark in _marked(tx, tx.all(jobs_among, ids=ids))}
    return unlike(kept, made, NOTHING_YET)


def reputations(tx: Tx, ids: Ids) -> set[str]:
    folded = _folded(tx, ids)
    kept = {
        _key(row, "agent_id", "env"): [getattr(row, name) for name in COLUMNS]
        for row in tx.all(stored.reputations_of, ids=ids)
    }
    made = {
        f"{one} {env}": [
            *columns_of(folded.tally(one, env, Actor.SELLER), folded.tally(one, env, Actor.BUYER)).values()
        ]
        for one in ids
        for env in Env
    }
    return unlike(kept, made, [*columns_of(EMPTY, EMPTY).values()])


def categories(tx: Tx, ids: Ids) -> set[str]:
    folded = _folded(tx, ids)
    kept = {_key(row, *PLACE): (row.figures, row.jobs) for row in tx.all(stored.categories_of, ids=ids)}
    made = {}
    for agent_id, env, role, category in folded.tallies:
        if category != ALL:
            tally = folded.tally(agent_id, env, Actor(role), category)
            made[f"{agent_id} {env} {role} {category}"] = (tally_text(tally), tally.jobs)
    return unlike(kept, made, (tally_text(EMPTY), 0))


def counterparties(tx: Tx, ids: Ids) -> set[str]:
    kept = {_key(row, *PLACE, "counterparty"): dealings_in(row) for row in tx.all(stored.counterparties_of, ids=ids)}
    made = {
        " ".join((*place, counterparty)): dealings
        for place, found in _folded(tx, ids).dealings.items()
        for counterparty, dealings in found.items()
    }
    return unlike(kept, made, CounterpartyTotals())


def tiers(tx: Tx, ids: Ids) -> list[str]:
    """Return the ids of agents whose trust tier does not follow from their sales and domain.

    Tier 1 is kept once it was reached.
    """
    folded = _folded(tx, ids)
    wrong = []
    for row in tx.all(agents_among, ids=ids):
        live = folded.tally(row.id, Env.LIVE, Actor.SELLER)
        reached = row.trust_tier >= 1 or earns_tier_one(live.third_party_minor, live.third_party_wallets)
        if row.trust_tier != trust_tier(reached, row.verified_domain):
            wrong.append(row.id)
    return wrong


def unlike(kept: Mapping[str, object], made: Mapping[str, object], nothing: object) -> set[str]:
    """Return the keys whose values differ; a missing key has the value `nothing`."""
    return {key for key in {*kept, *made} if kept.get(key, nothing) != made.get(key, nothing)}


def _key(row: Any, *names: str) -> str:
    return " ".join(getattr(row, name) for name in names)


def _folded(tx: Tx, ids: Ids) -> Folded:
    """Compute the figures of these agents from all their jobs."""
    folded = Folded()
    for query, role in ((stored.jobs_of_sellers, Actor.SELLER), (stored.jobs_of_buyers, Actor.BUYER)):
        for job, mark in _marked(tx, tx.all(query, ids=ids)):
            folded.add(job, mark, job.seller_id if role is Actor.SELLER else job.buyer_id, role)
    return folded


def _marked(tx: Tx, jobs: Sequence[JobRow]) -> Iterator[tuple[JobRow, JobContribution]]:
    """Yield each job with its mark; each table is read in one statement."""
    ids = [row.id for row in jobs]
    settlements = _by_job(tx.all(settlements_of_jobs, job_ids=ids))
    deliveries = _by_job(tx.all(deliveries_of_jobs, job_ids=ids))
    reviews = _by_job(tx.all(reviews_of_jobs, job_ids=ids))
    for row in jobs:
        seen = JobSnapshot(row, tuple(settlements[row.id]), frozenset(), tuple(deliveries[row.id]))
        yield row, made_mark(seen, reviews[row.id] if row.status in FINISHED else ())


def _by_job(rows: Iterable[Any]) -> defaultdict[str, list[Any]]:
    found = defaultdict[str, list[Any]](list)
    for row in rows:
        found[row.job_id].append(row)
    return found
