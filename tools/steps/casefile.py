"""The case file: the evidence an evaluator judges by, without what says who the parties are."""

from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

import orjson

from storage.disputes import evidence, evidence_sizes
from storage.tables import AgentRow, JobRow, MessageRow, ThreadRow
from storage.unit import Tx
from tools.records.base import Json, stamp, stamp_or_none
from tools.records.disputes import CaseFile
from tools.rules.money import display
from tools.rules.redaction import Veil
from tools.steps.anonymity import Veils, of_delivery, veils_of
from tools.steps.documents import text_of
from tools.steps.jobs import SeenJob
from tools.steps.promises import Promised, promised_to

T = TypeVar("T")
MOST_MESSAGES = 200
MOST_SAID = 256 * 1024  # characters of messages, bodies and data together


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a case file is made from, read in one unit of work."""

    seen: SeenJob
    reason: str
    veils: Veils
    buyer: AgentRow
    seller: AgentRow
    promised: Promised | None
    documents: dict[str, str | None]
    messages: list[MessageRow]
    truncated: bool

    @property
    def size(self) -> int:
        """How much text there is to go through."""
        texts = [*self.documents.values(), *(text for one in self.messages for text in (one.body, one.data))]
        return sum(len(text) for text in texts if text)


def evidence_of(tx: Tx, seen: SeenJob) -> Evidence:
    """What an evaluator is to see: messages up to the first vote, the newest where there is too much of them."""
    row = seen.row
    ends = _last_message(tx, seen)
    begins = _first_shown(tx.all(evidence_sizes, thread_id=row.thread_id, ends=ends, limit=MOST_MESSAGES), ends)
    buyer, seller = tx.get(AgentRow, row.buyer_id), tx.get(AgentRow, row.seller_id)
    assert buyer is not None
    assert seller is not None
    wanted = ("input", "output", "input_schema", "output_schema")
    return Evidence(
        seen=seen,
        reason=row.dispute_reason or "",
        veils=veils_of(tx, seen),
        buyer=buyer,
        seller=seller,
        promised=promised_to(tx, row),
        documents={name: text_of(tx, getattr(row, name)) for name in wanted},
        messages=tx.all(evidence, thread_id=row.thread_id, begins=begins, ends=ends),
        truncated=begins > 1,
    )


def _last_message(tx: Tx, seen: SeenJob) -> int:
    """The number of the last message that is evidence."""
    assert seen.panel is not None
    ends = seen.panel.case.evidence_ends
    if ends is not None:
        return ends
    thread = tx.get(ThreadRow, seen.row.thread_id)
    return thread.message_count if thread else 0


def _first_shown(sizes: list[int], ends: int) -> int:
    """The number of the first message that is shown; `sizes` are the messages' lengths, the newest first."""
    shown = sum(total <= MOST_SAID for total in accumulate(sizes))
    return ends - shown + 1


class _Writer:
    """Takes out who the parties are, and counts in which part of the case it did."""

    def __init__(self, veil: Veil, counts: Counter[str]) -> None:
        self.veil, self.counts = veil, counts

    def text(self, part: str, text: str | None) -> str | None:
        return None if text is None else self._counted(part, self.veil.text(text))

    def data(self, part: str, text: str | None) -> Json:
        return None if text is None else self._counted(part, self.veil.data(orjson.loads(text)))

    def said(self, part: str, text: str | None) -> Json:
        return None if text is None else self._counted(part, self.veil.said(orjson.loads(text)))

    def schema(self, part: str, text: str | None) -> Json:
        return None if text is None else self._counted(part, self.veil.schema(orjson.loads(text)))

    def _counted(self, part: str, found: tuple[T, int]) -> T:
        self.counts[part] += found[1]
        return found[0]


def case_file(found: Evidence) -> tuple[CaseFile, str]:
    """The file, and the buyer's reason as evaluators read it. It grows with what was written: not for the event loop."""
    counts = Counter[str]()
    writer = _Writer(found.veils.at(of_delivery(found.seen)), counts)
    reason = writer.text("reason", found.reason) or ""
    file = CaseFile(
        job=_job(writer, found, reason),
        listing=_listing(writer, found),
        parties={
            side: {"trust_tier": agent.trust_tier, "first_party": agent.first_party}
            for side, agent in (("buyer", found.buyer), ("seller", found.seller))
        },
        messages=[_message(counts, found, one) for one in found.messages],
        messages_truncated=found.truncated,
        redactions={part: counts[part] for part in ("job", "input", "output", "reason", "listing", "messages")},
    )
    return file, reason


def _job(writer: _Writer, found: Evidence, reason: str) -> dict[str, Json]:
    row = found.seen.row
    return {
        "title": writer.text("job", row.title),
        "category": writer.text("job", row.category),
        "input": writer.data("input", found.documents["input"]),
        "output": writer.data("output", found.documents["output"]),
        "output_hash": row.output,
        "output_bytes": row.output_bytes,
        "price": row.price,
        "display": None if row.price is None else display(row.price),
        "currency": "USDC",
        "units": row.units,
        "payment": row.payment,
        "paid": found.seen.facts.is_paid,
        "quote_message": writer.text("job", row.quote_message),
        "revision_count": row.revision_count,
        "max_revisions": row.max_revisions,
        "dispute_reason": reason,
        "from_bounty": row.bounty_id is not None,
        "created_at": stamp(row.created_at),
        "accepted_at": stamp_or_none(row.accepted_at),
        "deliver_by": stamp_or_none(row.deliver_by),
        "delivered_at": stamp_or_none(row.delivered_at),
    }


def _listing(writer: _Writer, found: Evidence) -> dict[str, Json] | None:
    promised, row = found.promised, found.seen.row
    if promised is None:
        return None
    return {
        "title": writer.text("listing", promised.title),
        "description": writer.text("listing", promised.description),
        "category": writer.text("listing", promised.category),
        "tags": [writer.text("listing", tag) for tag in orjson.loads(promised.tags)],
        "pricing_model": row.pricing_model,
        "unit_name": writer.text("listing", promised.unit_name),
        "payment": row.payment,
        "turnaround_seconds": row.turnaround_seconds,
        "input_schema": writer.schema("listing", found.documents["input_schema"]),
        "output_schema": writer.schema("listing", found.documents["output_schema"]),
        "example_input": writer.data("listing", promised.example_input),
        "example_output": writer.data("listing", promised.example_output),
        "acceptance": writer.said("listing", row.acceptance),
        "changed_since_order": promised.changed_since,
    }


def _message(counts: Counter[str], found: Evidence, row: MessageRow) -> dict[str, Json]:
    job = found.seen.row
    writer = _Writer(found.veils.at(row.created_at), counts)
    return {
        "from": {job.buyer_id: "buyer", job.seller_id: "seller"}.get(row.sender_id or "", "system"),
        "body": writer.text("messages", row.body),
        "data": writer.said("messages", row.data),
        "content_warnings": orjson.loads(row.content_warnings),
        "created_at": stamp(row.created_at),
    }


def title_and_category(veil: Veil, row: JobRow) -> dict[str, str]:
    """What an evaluator is told of a case before it reads it."""
    return {"title": veil.text(row.title)[0], "category": veil.text(row.category)[0]}
