"""The moves of a job, derived from its audit rows and the lifecycle table."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, select

from storage.query import Query
from storage.tables import JobEventRow, JobRow
from storage.vocabulary import Actor, ClosedAs, JobStatus, PricingModel, Timing
from tests.simulation.records import Violation
from tools.jobs.facts import JobFacts
from tools.jobs.lifecycle import MOVES, NOTICES, OPENINGS, JobMove

PAGE = 1_000
_audit, _job = JobEventRow.__table__.c, JobRow.__table__.c
audited = Query(
    select(
        _audit.id, _audit.job_id, _audit.type, _audit.actor_id, _audit.created_at, _job.buyer_id, _job.seller_id,
        _job.bounty_id, _job.payment, _job.pricing_model, _job.price, _job.closed_as, _job.resolved_by,
    )
    .join_from(JobEventRow.__table__, JobRow.__table__, _job.id == _audit.job_id)
    .where(_audit.id > bindparam("after"))
    .order_by(_audit.id)
    .limit(PAGE)
)  # fmt: skip


class Audited(NamedTuple):
    """A row of `audited`: an audit row, with the facts of its job that decide between moves."""

    id: int
    job_id: str
    type: str
    actor_id: str | None
    at: datetime
    buyer_id: str
    seller_id: str
    bounty_id: str | None
    payment: str
    pricing_model: str
    price: int | None
    closed_as: str | None
    resolved_by: str | None

    @property
    def actors(self) -> frozenset[Actor]:
        sides = {None: UNNAMED, self.buyer_id: frozenset({Actor.BUYER}), self.seller_id: frozenset({Actor.SELLER})}
        return sides[self.actor_id]


UNNAMED = frozenset({Actor.CLOCK, Actor.PANEL, Actor.OPERATOR})


@dataclass(slots=True)
class Place:
    """The place of a job in its lifecycle."""

    status: JobStatus | None = None
    delivered: bool = False
    paid: bool = False
    accepted_at: datetime | None = None


def _by_event() -> Mapping[str, Sequence[JobMove]]:
    found: dict[str, list[JobMove]] = defaultdict(list)
    for move in (*OPENINGS, *MOVES, *NOTICES):
        assert move.event is not None
        found[move.event.removeprefix("job.")].append(move)
    return found


BY_EVENT = _by_event()


class Histories:
    """The places of all jobs, moved on by one audit row after another."""

    def __init__(self) -> None:
        self.places: dict[str, Place] = {}

    def move(self, row: Audited, asked: str | None) -> JobMove | None:
        """Return the move that an audit row is about; None if it is about none.

        `asked` is the action that a party called, which decides between two moves that differ in nothing else. Raises
        Violation if the table has no such move.
        """
        if row.type not in BY_EVENT:
            return None
        place = self.places.setdefault(row.job_id, Place())
        if row.type == "delivered" and row.at == place.accepted_at:
            place.status = JobStatus.OPEN  # a delivery that also accepts writes both rows at once
        found = _possible(row, place)
        if not found:
            raise Violation(f"{row.job_id} is {place.status}, and no move of {row.actor_id} leads to {row.type}")
        move = next((one for one in found if one.action == asked), found[0])
        place.status = move.target
        if row.type == "accepted":
            place.accepted_at = row.at
        place.delivered |= row.type == "delivered"
        place.paid |= row.type == "paid"
        return move


def _possible(row: Audited, place: Place) -> Sequence[JobMove]:
    found = [one for one in BY_EVENT[row.type] if one.source is place.status and one.actor in row.actors]
    if place.status is None:
        found = [one for one in found if (one.action == "award") == (row.bounty_id is not None)]
    facts = _facts(row, place)
    found = [one for one in found if one.when is None or one.when(facts, row.at)] or found
    return [one for one in found if one.closes is not None and one.closes == row.closed_as] or found


def _facts(row: Audited, place: Place) -> JobFacts:
    """Return the facts that guards read; deadlines are not decided again."""
    expired = place.status is JobStatus.EXPIRED
    return JobFacts(
        status=place.status or JobStatus.OPEN,
        timing=Timing(row.payment),
        model=PricingModel(row.pricing_model),
        price_minor=row.price,
        quoted_price_minor=row.price,
        paid_at=row.at if place.paid else None,
        delivered=place.delivered,
        accepted_at=row.at,
        pay_by=row.at,
        closed_as=ClosedAs.PAYMENT_TIMEOUT if expired else None,
        escalated=row.resolved_by == "operator",
    )
