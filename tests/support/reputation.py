"""Ended jobs for tests of reputation, written as counted rows. Live trade makes the same rows, but needs a chain."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from storage.store import Store
from storage.tables import JobRow, ReviewRow, SettlementRow
from storage.transaction import Tx
from storage.vocabulary import SettlementKind, SettlementStatus
from tests.support.storage_orders import NOW, job
from tools.jobs.contributions import count_job
from tools.jobs.snapshot import load
from tools.operator.recompute import recompute

OURS = ("job_marks", "reputations", "reputation_categories", "reputation_counterparties", "agents")
ACCEPTED = {"accepted_at": NOW, "delivered_at": NOW, "deliver_by": NOW + timedelta(hours=1), "output": "x"}


@dataclass(frozen=True)
class Ended:
    """A completed and paid job of an environment; `columns` changes its row."""

    id: str
    seller: str
    buyer: str
    paid_minor: int = 0
    wallet: str = "0xA"
    env: str = "live"
    columns: Any = None

    def row(self) -> JobRow:
        made = job(self.id)
        given = {
            "seller_id": self.seller,
            "buyer_id": self.buyer,
            "env": self.env,
            "listing_id": None,
            "payment": "on_delivery",
        }
        given |= {"status": "completed", "closed_as": "buyer_accepted", "completed_at": NOW, **ACCEPTED}
        return JobRow(**made.__dict__ | given | (self.columns or {}))

    def write(self, tx: Tx) -> None:
        """Write the job with its payment, and count it."""
        tx.add(self.row())
        if self.paid_minor:
            tx.add(transfer(self, "payment", self.paid_minor))
        count(tx, self.id)

    def refund(self, tx: Tx, amount_minor: int) -> None:
        tx.add(transfer(self, "refund", amount_minor))
        count(tx, self.id)

    def rate(self, tx: Tx, rating: int, role: str = "buyer") -> None:
        reviewer, subject = (self.buyer, self.seller) if role == "buyer" else (self.seller, self.buyer)
        tx.add(ReviewRow(
            job_id=self.id, reviewer_id=reviewer, id=f"rev_{self.id}_{role}", env=self.env, listing_id=self.row().listing_id,
            subject_id=subject, role=role, rating=rating, comment=None, job_value=self.paid_minor,
            machine_generated=False, content_warnings=[], created_at=NOW,
        ))  # fmt: skip
        count(tx, self.id)

    def but(self, **changes: Any) -> "Ended":
        return replace(self, **changes)


def transfer(ended: Ended, kind: str, amount_minor: int) -> SettlementRow:
    return SettlementRow(
        id=f"stl_{ended.id}_{kind}", env=ended.env, job_id=ended.id, kind=SettlementKind(kind),
        status=SettlementStatus.SETTLED, payer_agent_id=ended.buyer, payee_agent_id=ended.seller,
        payer_address=ended.wallet, pay_to=f"0xOf{ended.seller}", amount=amount_minor, expected_amount=amount_minor,
        network="eip155:8453", asset="0xusdc", tx_hash=f"0x{ended.id}{kind}".lower(), block_number=1, block_hash="0x",
        block_time=NOW, settled_at=NOW, created_at=NOW,
    )  # fmt: skip


def count(tx: Tx, job_id: str) -> None:
    row = tx.get(JobRow, job_id, lock=True)
    assert row is not None
    count_job(tx, load(tx, row), NOW)


async def write(store: Store, *ended: Ended) -> None:
    for one in ended:
        await store.write(one.write)


async def drift(store: Store) -> dict[str, list[str]]:
    """Return the drifted rows of the reputation tables.

    The other tables are left out, because these jobs have no deliveries and threads.
    """
    found = {one.aggregate.table: one.keys async for one in recompute(store) if one.keys}
    return {table: keys for table, keys in found.items() if table in OURS}
