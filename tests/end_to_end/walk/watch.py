"""The invariants after every step of a walk, checked on answers, rows and webhook requests."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import TypeAdapter
from sqlalchemy import bindparam, select

from storage.jobs import audit_after
from storage.query import Query
from storage.store import Store
from storage.tables import BountyRow, DisputeRow, EventRow, JobEventRow, JobRow, ProposalRow, SeatRow, SettlementRow
from storage.transaction import Tx
from storage.vocabulary import UNDECIDED, Actor, BountyStatus, JobStatus, SeatStatus, SettlementKind, SettlementStatus
from tests.end_to_end.walk.ground import Receivers, Sent
from tools.engine.idempotency import Response
from tools.events import payloads as eventdata
from tools.events.webhooks import records as webhooks
from tools.jobs.lifecycle import MOVES, NOTICES, OPENINGS
from tools.operator.recompute import recompute

MAX_MOVES = 10_000  # audit rows of one job, far more than a walk makes
SECRET = re.compile(rb"secret-work-\d+")
MODELS: dict[str, TypeAdapter[Any]] = {kind: TypeAdapter(model) for kind, model in eventdata.PAYLOADS.items()}
WHOLE = TypeAdapter(webhooks.WebhookBody)
TOLD_BY_MOVES = {move.event for move in (*OPENINGS, *MOVES)}
SAID_BESIDES = {"job.payment_due", "job.payment_partial", "job.payment_orphaned", "job.refund_due", "job.refunded"}
SAID_BESIDES |= {move.event for move in NOTICES if move.event}

job_versions = Query(select(JobRow.id, JobRow.version).order_by(JobRow.id))
bounty_versions = Query(select(BountyRow.id, BountyRow.version).order_by(BountyRow.id))
settlement_versions = Query(select(SettlementRow.id, SettlementRow.version).order_by(SettlementRow.id))
all_jobs = Query(select(JobRow))
all_bounties = Query(select(BountyRow))
all_proposals = Query(select(ProposalRow))
all_settlements = Query(select(SettlementRow).order_by(SettlementRow.id))
all_cases = Query(select(DisputeRow).order_by(DisputeRow.id))
all_seats = Query(select(SeatRow).order_by(SeatRow.dispute_id, SeatRow.agent_id))
events_after = Query(select(EventRow).where(EventRow.id > bindparam("after")).order_by(EventRow.id))


@dataclass
class Watch:
    """Checks the invariants of one walk's market."""

    store: Store
    receivers: Receivers
    sent: Mapping[str, Sent]  # by transaction hash: the transfers of the walk
    secrets: Mapping[bytes, str]  # each deliverable, and its job
    last_event: int = 0
    heard: int = 0  # number of checked webhook requests
    seen: list[Any] = field(default_factory=list)  # the version of each job and settlement at the last check
    versions: dict[str, int] = field(default_factory=dict)
    readers: dict[str, set[str]] = field(default_factory=dict)  # job: the agents that may read its work
    kept: dict[str, int] = field(default_factory=dict)  # job: money received and not sent back, in minor units

    async def answered(self, operation: str, reader: str | None, answer: Response, *, chain_fails: bool) -> None:
        """Check for no 500, a 502 only if the chain fails, and no sealed work in the answer.

        An undeclared error would be a 500.
        """
        assert answer.status < 500 or (answer.status == 502 and chain_fails), (operation, answer.status, answer.body)
        await self.after_step()
        self.unsealed(reader, answer.body, operation)
        if operation == "get_job" and not answer.refused:
            self._owed(orjson.loads(answer.body))

    async def after_step(self) -> None:
        await self.store.read(self._rows)
        for _, body in self.receivers.posted[self.heard :]:
            self._posting(body)
        self.heard = len(self.receivers.posted)

    async def at_the_end(self) -> None:
        await self.after_step()
        drifted = [str(drift) async for drift in recompute(self.store) if drift.keys]
        assert not drifted, drifted

    def unsealed(self, reader: str | None, text: bytes, where: str) -> None:
        """Check that a text shows work only to its seller, or to its buyer after payment."""
        for secret in set(SECRET.findall(text)):
            job_id = self.secrets[secret]
            assert reader in self.readers[job_id], f"{where} shows {reader} the work of {job_id}: {text[:2000]!r}"

    def _rows(self, tx: Tx) -> None:
        for event in tx.all(events_after, after=self.last_event):
            assert event.id > self.last_event, event
            self.last_event = event.id
            MODELS[event.kind].validate_json(event.data, strict=True, extra="forbid")
        cases, seats = tx.all(all_cases), tx.all(all_seats)
        versions = [*tx.all(job_versions), *tx.all(settlement_versions), *tx.all(bounty_versions), *seats]
        if versions == self.seen:  # without writes since the last check, nothing can have changed
            return
        self.seen = versions
        self._bounties(tx.all(all_bounties), tx.all(all_proposals))
        settlements = tx.all(all_settlements)
        self._transfers(settlements)
        for row in tx.all(all_jobs):
            if self.versions.get(row.id) != row.version:
                self.versions[row.id] = row.version
                self._moves(row, tx.all(audit_after, job_id=row.id, after=0, limit=MAX_MOVES))
            self._money(row, [one for one in settlements if one.job_id == row.id])
        for case in cases:
            self._panel(case, [seat for seat in seats if seat.dispute_id == case.id])

    def _bounties(self, bounties: list[BountyRow], proposals: list[ProposalRow]) -> None:
        """Check that an awarded bounty has one accepted proposal and one job.

        A bounty that has ended has no pending proposals.
        """
        for row in bounties:
            made = Counter(one.status.value for one in proposals if one.bounty_id == row.id)
            awarded = row.status is BountyStatus.AWARDED
            assert made["accepted"] == int(awarded) == int(row.awarded_job_id is not None), (row, made)
            assert not made["pending"] or row.status in UNDECIDED, (row, made)
            assert row.proposal_count == made.total() - made["withdrawn"], (row, made)

    def _transfers(self, settlements: list[SettlementRow]) -> None:
        """Check that every settlement is a real transfer with its parties and amount.

        Each transfer counts once.
        """
        times = Counter((one.network, one.tx_hash.lower()) for one in settlements)
        assert len(times) == len(settlements), [place for place, count in times.items() if count > 1]
        for one in settlements:
            found = Sent(one.payer_address.lower(), one.pay_to.lower(), one.amount)
            assert found == self.sent[one.tx_hash], one
            assert min(one.amount, one.expected_amount + 1) > 0, one

    def _moves(self, row: JobRow, audit: list[JobEventRow]) -> None:
        """Check that the job's history follows the lifecycle table without a gap to its status."""
        nobody = {Actor.CLOCK, Actor.PANEL, Actor.OPERATOR}
        actors = {None: nobody, row.buyer_id: {Actor.BUYER}, row.seller_id: {Actor.SELLER}}
        places: set[JobStatus | None] = {None}
        for before, one in zip([None, *audit], audit, strict=False):
            assert before is None or before.created_at <= one.created_at, (row.id, one)
            event = f"job.{one.type}"
            if event in TOLD_BY_MOVES:
                actor = actors[one.actor_id]
                places = {
                    move.target
                    for move in (*OPENINGS, *MOVES)
                    if move.event == event and move.actor in actor and move.source in places
                }
                assert places, f"{row.id}: no move of {actor} says {event} after {[part.type for part in audit]}"
            else:
                assert event in SAID_BESIDES, (row.id, event)
        assert JobStatus(row.status) in places, (row.id, row.status, [part.type for part in audit])

    def _money(self, row: JobRow, settlements: list[SettlementRow]) -> None:
        """Compute from transfers alone the readers of the work and the money that remains."""
        payments = [one for one in settlements if one.kind is SettlementKind.PAYMENT]
        paid_minor = sum(one.amount for one in payments if one.status is not SettlementStatus.ORPHANED)
        bought = row.price is not None and paid_minor >= row.price
        self.readers[row.id] = {row.seller_id, row.buyer_id} if bought else {row.seller_id}
        self.kept[row.id] = 2 * sum(one.amount for one in payments) - sum(one.amount for one in settlements)

    def _panel(self, case: DisputeRow, seats: list[SeatRow]) -> None:
        """Check that no party judges, and a panel's outcome has most votes. Seats may read the work."""
        assert not {seat.agent_id for seat in seats} & {case.buyer_id, case.seller_id}, case
        assert sum(seat.round == 1 for seat in seats) == case.seats, case
        votes = Counter(seat.outcome for seat in seats if seat.status is SeatStatus.VOTED)
        if case.resolved_by == "panel":
            (leader, most), *others = votes.most_common()
            assert leader == case.outcome, (case, votes)
            assert all(count < most for _, count in others), (case, votes)
        self.readers[case.job_id] |= {seat.agent_id for seat in seats}

    def _owed(self, job: Mapping[str, Any]) -> None:
        """Check that a due refund is positive and at most the money that remains."""
        owed = job["refund_expected"]
        assert owed is None or 0 < owed <= self.kept[job["id"]], job

    def _posting(self, body: bytes) -> None:
        """Check that a webhook gets a complete event of its agent, without sealed work."""
        told = WHOLE.validate_json(body, extra="forbid")
        self.unsealed(told.agent_id, body, f"a webhook's {told.type}")
