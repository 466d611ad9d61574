"""Faults just before rare moves, so that each kind of move meets each class of faults."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from storage.query import Query
from storage.tables import BountyRow, DisputeRow, JobRow
from storage.transaction import Tx
from tests.simulation.faults import CONFLICT, KINDS
from tests.simulation.matrix import NONE
from tests.simulation.messages import WAKE_UP
from tests.simulation.wires import Call

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

RARE = 100  # a kind of moment is rare if it is fewer than one in this number
WATCH_SECONDS = 10.0  # between two looks at the deadlines that are near
LASTS_SECONDS = 5.0

Moment = tuple[object, ...]  # an operation with the place of its job, or a kind of deadline
_job, _case, _bounty = JobRow.__table__.c, DisputeRow.__table__.c, BountyRow.__table__.c
_after, _until = bindparam("after"), bindparam("until")
_DEADLINES: Mapping[str, Query[Any]] = {  # with the place of each thing
    "job": Query(select(_job.id, _job.status, _job.payment).where(_job.clock_at > _after, _job.clock_at <= _until)),
    "notice": Query(select(_job.id, _job.status, _job.payment).where(_job.notice_at > _after, _job.notice_at <= _until)),
    "case": Query(select(_case.id, _case.round, _case.seats).where(_case.verdict_by > _after, _case.verdict_by <= _until)),
    "bounty": Query(select(_bounty.id, _bounty.status, _bounty.env).where(
        _bounty.expires_at > _after, _bounty.expires_at <= _until)),
}  # fmt: skip


class Targets:
    """The kinds of moments of a run, and how often each class of faults was put before each."""

    def __init__(self, simulation: "Simulation") -> None:
        self.simulation, self.pause = simulation, 0.0  # no faults before watch_deadlines
        self.seen, self.struck, self.met = Counter[Moment](), Counter[Moment](), Counter[tuple[Moment, str]]()
        self.next = 0.0  # virtual seconds
        self.random = Random(simulation.seed)  # chooses among faults that were met equally often
        self.strikes = {kind: strike for kind, (on, strike) in STRIKES.items() if getattr(simulation.scenario, on)}
        if self.strikes:
            self.strikes[NONE] = lambda _: None  # so that rare moves happen without a fault too

    async def before_call(self, agent: str | None, call: Call) -> None:
        """Put a fault before a call that writes, if its kind is rare."""
        if self.pause and not call.op.safe:
            given = call.arguments
            place = await self.simulation.read(partial(_place_of, job_id=given.get("job_id"), agent=agent))
            self._meet((call.operation, call.payment is not None, "fault" in given, *place))

    async def watch_deadlines(self) -> None:
        """Put a fault before each deadline whose kind is rare."""
        self.pause = self.simulation.scenario.targeted_seconds if self.strikes else 0.0
        while self.pause:
            await asyncio.sleep(WATCH_SECONDS)
            for moment in await self.simulation.read(partial(_near, now=self.simulation.machine.clock.now())):
                self._meet(moment)

    def _meet(self, moment: Moment) -> None:
        """Count a moment; if its turn has come, put the fault before it that it has met least."""
        self.seen[moment] += 1
        now, rare = self.simulation.loop.time(), self.seen[moment] * RARE < self.seen.total()
        if rare and now >= self.next and self.struck[moment] * len(self.seen) <= self.struck.total():
            kind = min(self.strikes, key=lambda one: (self.met[moment, one], self.random.random()))
            self.next = now + self.pause
            self.struck[moment] += 1
            self.met[moment, kind] += 1
            self.strikes[kind](self.simulation)


def _place_of(tx: Tx, job_id: str | None, agent: str | None) -> Moment:
    """Return the status and the payment of a job, and the role of an agent in it."""
    row = None if job_id is None else tx.get(JobRow, job_id)
    return () if row is None else (row.status, row.payment, agent == row.buyer_id)


def _near(tx: Tx, now: datetime) -> list[Moment]:
    """Return the kinds of the deadlines until the next look."""
    times = {"after": now, "until": now + timedelta(seconds=WATCH_SECONDS)}
    return [(kind, *place) for kind, query in _DEADLINES.items() for _, *place in _by_id(tx.all(query, **times))]


def _by_id(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: str(row[0]))


# -- the faults ------------------------------------------------------------------------------------------------------


def _crash(simulation: "Simulation") -> None:
    simulation.machine.end("crash")


def _crash_at_commit(simulation: "Simulation", moment: str) -> None:
    simulation.machine.commit_crashes.next = moment


def _break_database(simulation: "Simulation", kind: str) -> None:
    simulation.machine.disturb(kind)
    simulation.loop.call_later(LASTS_SECONDS, simulation.machine.disturb, None)


def _reorganise(simulation: "Simulation", depth: int, kind: str) -> None:
    simulation.fault(kind, depth=depth, transactions=simulation.chain.reorg(depth))


def _reorganise_deeply(simulation: "Simulation") -> None:
    _reorganise(simulation, simulation.chain.network.confirmations + 1, "deep_reorg")


def _fail(simulation: "Simulation", name: str) -> None:
    """Let the receivers of webhooks or the messages inside the market fail for a while."""
    failing = getattr(simulation, name)
    failing.failing = True
    simulation.loop.call_later(2 * LASTS_SECONDS, setattr, failing, "failing", False)


def _disturb_nodes(simulation: "Simulation") -> None:
    simulation.disturbances.begin_node_faults()
    simulation.loop.call_later(2 * LASTS_SECONDS, simulation.nodes.heal)


def _sanction(simulation: "Simulation") -> None:
    address = simulation.disturbances.begin_sanction()
    simulation.loop.call_later(2 * LASTS_SECONDS, simulation.disturbances.end_sanction, address)


STRIKES: Mapping[str, tuple[str, Callable[["Simulation"], None]]] = {
    "crash": ("crash_seconds", _crash),
    "crash_before_commit": ("commits_between_crashes", partial(_crash_at_commit, moment="before")),
    "crash_after_commit": ("commits_between_crashes", partial(_crash_at_commit, moment="after")),
    **{kind: ("database_seconds", partial(_break_database, kind=kind)) for kind in KINDS},
    CONFLICT: ("inserts_between_conflicts", lambda simulation: setattr(simulation.conflicts, "next", True)),
    "reorg": ("reorg_seconds", partial(_reorganise, depth=1, kind="reorg")),
    "deep_reorg": ("deep_reorgs", _reorganise_deeply),
    "nodes": ("node_seconds", _disturb_nodes),
    "webhook": ("webhook_seconds", partial(_fail, name="web")),
    WAKE_UP: ("message_seconds", partial(_fail, name="messages")),
    "lost_reply": ("lost_replies", lambda simulation: setattr(simulation, "lose_next", True)),
    "doubled": ("doubled", lambda simulation: setattr(simulation, "double_next", True)),
    "clock": ("clock_seconds", lambda simulation: simulation.disturbances.set_clock()),
    "sanctions": ("sanction_seconds", _sanction),
    "stopped": ("stop_seconds", lambda simulation: simulation.disturbances.stop_process()),
}
"""By class: the setting of a scenario that switches it on, and what puts such a fault."""
