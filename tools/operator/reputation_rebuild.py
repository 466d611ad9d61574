"""Reputation computed again from the stored marks of jobs, to find stored figures that differ."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from storage import reputation as stored
from storage.agents import agents_among
from storage.transaction import Tx
from storage.vocabulary import Actor, Env
from tools.agents.trust_tiers import earns_tier_one, trust_tier
from tools.reputation.logic import ALL, columns_of, dealings_in, tally_text
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
)

Ids = Sequence[str]
PLACE = ("agent_id", "env", "role", "category")
Place = tuple[str, str, str, str]  # the values of these
COLUMNS = tuple(columns_of(EMPTY, EMPTY))
Dealings = defaultdict[Place, defaultdict[str, CounterpartyTotals]]


class Folded:
    """The figures of some agents, summed from the marks of their jobs."""

    def __init__(self) -> None:
        self.tallies: dict[Place, Figures] = {}
        self.dealings: Dealings = defaultdict(lambda: defaultdict(CounterpartyTotals))

    def add(self, place: Place, part: Figures, counterparty: str, dealings: CounterpartyTotals) -> None:
        """Add what one job, or all jobs of one category, add to a side of an agent."""
        self.tallies[place] = add(self.tallies.get(place, EMPTY), part)
        if dealings != CounterpartyTotals():
            known = self.dealings[place]
            known[counterparty] = add(known[counterparty], dealings)

    def sum_categories(self) -> None:
        """Add each side's categories to one sum."""
        for (agent_id, env, role, _), part in [*self.tallies.items()]:
            self.add((agent_id, env, role, ALL), part, "", CounterpartyTotals())
        for (agent_id, env, role, _), found in [*self.dealings.items()]:
            for counterparty, dealings in found.items():
                self.add((agent_id, env, role, ALL), EMPTY, counterparty, dealings)

    def tally(self, agent_id: str, env: str, role: Actor, category: str = ALL) -> Figures:
        place = agent_id, env, role.value, category
        total = self.tallies.get(place, EMPTY)
        for dealings in self.dealings[place].values():
            total = add(total, counterparty_figures(dealings))
        return total


def folded(tx: Tx, ids: Ids) -> Folded:
    """Sum the figures of these agents over the marks of all their jobs."""
    made = Folded()
    for agent_id in ids:
        for role, query in stored.marked_jobs.items():
            for env, category, first_party, other_id, text in tx.each(query, agent_id=agent_id):
                mark = _mark_in(text)
                part = contribution(mark, role, first_party=first_party)
                counterparty, dealings = dealings_of(mark, role, other_id, first_party=first_party)
                made.add((agent_id, env, role.value, category), part, counterparty, dealings)
    made.sum_categories()
    return made


def _mark_in(text: str) -> JobContribution:
    """Read a stored mark; one that cannot be read counts as none: its job is named for it."""
    try:
        return JobContribution(**orjson.loads(text))
    except (ValueError, TypeError):
        return NOTHING


def reputations(tx: Tx, ids: Ids, made: Folded) -> set[str]:
    kept = {
        _key(row, "agent_id", "env"): [getattr(row, name) for name in COLUMNS]
        for row in tx.all(stored.reputations_of, ids=ids)
    }
    sides = {
        f"{one} {env}": [*columns_of(made.tally(one, env, Actor.SELLER), made.tally(one, env, Actor.BUYER)).values()]
        for one in ids
        for env in Env
    }
    return unlike(kept, sides, [*columns_of(EMPTY, EMPTY).values()])


def categories(tx: Tx, ids: Ids, made: Folded) -> set[str]:
    kept = {_key(row, *PLACE): (row.figures, row.jobs) for row in tx.all(stored.categories_of, ids=ids)}
    found = {}
    for agent_id, env, role, category in made.tallies:
        if category != ALL:
            tally = made.tally(agent_id, env, Actor(role), category)
            found[f"{agent_id} {env} {role} {category}"] = (tally_text(tally), tally.jobs)
    return unlike(kept, found, (tally_text(EMPTY), 0))


def counterparties(tx: Tx, ids: Ids, made: Folded) -> set[str]:
    kept = {_key(row, *PLACE, "counterparty"): dealings_in(row) for row in tx.all(stored.counterparties_of, ids=ids)}
    found = {
        " ".join((*place, counterparty)): dealings
        for place, dealt in made.dealings.items()
        for counterparty, dealings in dealt.items()
    }
    return unlike(kept, found, CounterpartyTotals())


def tiers(tx: Tx, ids: Ids, made: Folded) -> list[str]:
    """Return the ids of agents whose trust tier does not follow from their sales and domain.

    Tier 1 is kept once it was reached.
    """
    wrong = []
    for row in tx.all(agents_among, ids=ids):
        live = made.tally(row.id, Env.LIVE, Actor.SELLER)
        reached = row.trust_tier >= 1 or earns_tier_one(live.third_party_minor, live.third_party_wallets)
        if row.trust_tier != trust_tier(reached, row.verified_domain):
            wrong.append(row.id)
    return wrong


def unlike(kept: Mapping[str, object], made: Mapping[str, object], nothing: object) -> set[str]:
    """Return the keys whose values differ; a missing key has the value `nothing`."""
    return {key for key in {*kept, *made} if kept.get(key, nothing) != made.get(key, nothing)}


def _key(row: Any, *names: str) -> str:
    return " ".join(getattr(row, name) for name in names)
