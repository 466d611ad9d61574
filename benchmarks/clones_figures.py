"""Figures of copied jobs: agents beyond the seeded ones, their reputations, and the counts by day."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple
from typing import Any, NamedTuple

import orjson

from benchmarks.data import BORN
from storage.daily_counts import made_counts
from storage.database import Database
from storage.query import inserting
from storage.rows import Row
from storage.tables import AgentRow, CategoryRow, ContributionRow, CounterpartyRow, DailyCountRow, JobRow, ReputationRow
from storage.transaction import Tx
from storage.vocabulary import Actor
from tools.agents.logic import index_waiting
from tools.kernel.ids import new_id
from tools.reputation.logic import ALL, columns_of, tally_text
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

ROWS = 5_000  # in one statement
SIDES = (Actor.SELLER, Actor.BUYER)


def more_agents(database: Database, first: int, last: int) -> list[str]:
    """Add agents without keys, numbered from `first`, and index them; return their ids."""
    numbers = range(first, last)
    made = [new_id("agt_", BORN, b"more" + number.to_bytes(6)) for number in numbers]
    rows = (
        AgentRow(
            id=one, handle=f"more-{number}", name=f"Agent {number}", description=None, capabilities=[], tags=[],
            public_key=f"{number:064x}", endpoints={}, framework=None, metadata_json=None, referred_by=None,
            created_at=BORN,
        )
        for number, one in zip(numbers, made, strict=True)
    )  # fmt: skip
    tx = database.writing()
    database.control(tx, database.begin)
    _insert(tx, rows)
    while index_waiting(tx):  # otherwise the market's workers do it while it is measured
        pass
    database.control(tx, "COMMIT")
    database.discard(tx)
    return made


class Part(NamedTuple):
    """Figures that one copy of a job adds to a side of an agent."""

    figures: Figures
    counterparty: str
    dealings: CounterpartyTotals


def write_figures(database: Database, models: Sequence[str]) -> None:
    """Write the reputations of all agents and the counts by day, as the copied jobs make them."""
    tx = database.writing()
    database.control(tx, database.begin)
    if not tx.is_sqlite:
        tx.cursor.execute("SET LOCAL statement_timeout = 0")
    for kind in (ReputationRow, CategoryRow, CounterpartyRow, DailyCountRow):
        tx.cursor.execute(f"DELETE FROM {kind.__table__.name}")
    _insert(tx, _reputations(tx, models))
    _insert(tx, _daily_counts(tx))
    database.control(tx, "COMMIT")
    database.discard(tx)


def _daily_counts(tx: Tx) -> Iterator[Row]:
    for query in made_counts.values():
        for values in tx.all(query):
            yield DailyCountRow(**dict(zip(DailyCountRow.__names__, values, strict=True)))


def _reputations(tx: Tx, models: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of reputation.

    All copies of a job have one mark, one category and one pair of wallets, so sums are multiples.
    """
    jobs = [tx.need(JobRow, model) for model in models]
    env, category = jobs[0].env, jobs[0].category
    sides = {role: [(_part(tx, job, role), _copies(tx, job, role)) for job in jobs] for role in SIDES}
    for agent_id in sorted({one for side in sides.values() for _, copies in side for one in copies}):
        made = {role: _side([(part, copies[agent_id]) for part, copies in side]) for role, side in sides.items()}
        for role, (figures, dealt) in made.items():
            place = {"agent_id": agent_id, "env": env, "role": role.value}
            if figures != EMPTY:
                yield CategoryRow(**place, category=category, figures=tally_text(figures), jobs=figures.jobs)
            for counterparty, dealings in dealt.items():
                for of in (ALL, category):
                    yield CounterpartyRow(**place, category=of, counterparty=counterparty, **asdict(dealings))
        both = (made[role][0] for role in SIDES)
        yield ReputationRow(agent_id=agent_id, env=env, updated_at=None, **columns_of(*both))


def _side(parts: Sequence[tuple[Part, int]]) -> tuple[Figures, dict[str, CounterpartyTotals]]:
    """Return the figures of one side of an agent, and its dealings with each counterparty."""
    figures, dealt = EMPTY, dict[str, CounterpartyTotals]()
    for part, number in parts:
        figures, more = add(figures, _times(part.figures, number)), _times(part.dealings, number)
        if more != CounterpartyTotals():
            dealt[part.counterparty] = add(dealt.get(part.counterparty, CounterpartyTotals()), more)
    for dealings in dealt.values():
        figures = add(figures, counterparty_figures(dealings))
    return figures, dealt


def _copies(tx: Tx, job: JobRow, role: Actor) -> Counter[str]:
    """Count the copies of a job of each agent in this role; no other jobs have its status."""
    owner = f"{role.value}_id"
    tx.cursor.execute(f"SELECT {owner}, count(*) FROM jobs WHERE status = '{job.status}' GROUP BY {owner}")
    return Counter(dict(tx.cursor.fetchall()))


def _part(tx: Tx, job: JobRow, role: Actor) -> Part:
    kept = tx.get(ContributionRow, job.id)
    mark = JobContribution(**orjson.loads(kept.mark)) if kept else JobContribution()
    figures = contribution(mark, role, first_party=job.first_party)
    other = job.buyer_id if role is Actor.SELLER else job.seller_id
    return Part(figures, *dealings_of(mark, role, other, first_party=job.first_party))


def _times(sums: Any, number: int) -> Any:
    return type(sums)(*(value * number for value in astuple(sums)))


def _insert(tx: Tx, rows: Iterator[Row]) -> None:
    """Insert rows of any tables, many in one call of the driver."""
    waiting: dict[type[Row], list[Any]] = {}
    for row in rows:
        plan = inserting(type(row).__table__, type(row).__names__).plan(tx.dialect)
        waiting.setdefault(type(row), []).append(plan.bind(row.__dict__))
        if len(waiting[type(row)]) == ROWS:
            tx.cursor.executemany(plan.sql, waiting.pop(type(row)))
    for kind, values in waiting.items():
        tx.cursor.executemany(inserting(kind.__table__, kind.__names__).plan(tx.dialect).sql, values)
