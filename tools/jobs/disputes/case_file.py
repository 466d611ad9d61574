"""The case file: the evidence that an evaluator judges by, with the identities of the parties redacted.

A name that a party takes after a text was written is not redacted in it, because there it means something else.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import orjson

from storage.agents import domains_of, handles_by_name, keys_ever_held, wallets_ever_held
from storage.disputes import evidence, first_statement, statements, statements_counted
from storage.tables import AgentRow, JobRow, MessageRow, ThreadRow
from storage.transaction import Tx
from tools.agents.former_names import KnownAs, all_names
from tools.engine.documents import text_of
from tools.jobs.disputes.records import CaseFile
from tools.jobs.panel_rules import MAX_MESSAGES, Statement, kept
from tools.jobs.sealing_rules import rounded_size
from tools.jobs.snapshot import JobSnapshot
from tools.jobs.stored_texts import JobTexts
from tools.kernel.money import display_or_none
from tools.kernel.records import Json, shown_columns, stamp
from tools.listings.logic import Promised, promised_to
from tools.screening.redaction import KnownNames, Redactor, marks_of_id, marks_of_key

T = TypeVar("T")
MAX_HANDLES = 100  # an agent never gives up this many


@dataclass(frozen=True, slots=True)
class Party:
    """All identifiers of one party; handles, names and places with the time when it took them."""

    marks: tuple[str, ...]
    wallets: tuple[str, ...]
    handles: tuple[tuple[str, datetime], ...]
    called: tuple[KnownAs, ...]

    def known(self, at: datetime) -> KnownNames:
        """Return the names that a text written at that time may use for the party."""
        called = [one for one in self.called if one.since <= at]
        return KnownNames(
            marks=self.marks,
            wallets=self.wallets,
            places=tuple(sorted({place for one in called if one.place for place in _spellings(one.text)})),
            handles=tuple(sorted(handle for handle, since in self.handles if since <= at)),
            names=tuple(sorted({one.text for one in called if not one.place})),
        )


class Redactors:
    """Redactors for both parties, by the time of a text; cached for each set of names."""

    def __init__(self, buyer: Party, seller: Party) -> None:
        self._buyer, self._seller = buyer, seller
        self._made: dict[tuple[KnownNames, KnownNames], Redactor] = {}

    def at(self, moment: datetime) -> Redactor:
        known = self._buyer.known(moment), self._seller.known(moment)
        if known not in self._made:
            self._made[known] = Redactor(*known)
        return self._made[known]


def veils_of(tx: Tx, seen: JobSnapshot) -> Redactors:
    return Redactors(*(_party(tx, seen, agent_id) for agent_id in seen.parties))


def of_delivery(seen: JobSnapshot) -> datetime:
    """Return the time by which everything that is judged was promised, ordered and delivered."""
    return seen.row.delivered_at or seen.row.created_at


def _party(tx: Tx, seen: JobSnapshot, agent_id: str) -> Party:
    agent = tx.need(AgentRow, agent_id)
    keys = {agent.public_key, *tx.all(keys_ever_held, agent_id=agent_id)}
    handles = tx.all(handles_by_name, agent_id=agent_id, after="", limit=MAX_HANDLES)
    return Party(
        marks=tuple(sorted(marks_of_id(agent_id).union(*map(marks_of_key, keys)))),
        wallets=tuple(sorted({*tx.all(wallets_ever_held, agent_id=agent_id), *_wallets_here(seen, agent_id)})),
        handles=tuple((row.handle, row.taken_at) for row in handles),
        called=tuple(all_names(agent, tx.all(domains_of, agent_id=agent_id))),
    )


def _wallets_here(seen: JobSnapshot, agent_id: str) -> set[str]:
    """Return the wallets that this agent's side of the job paid from or was paid to."""
    row = seen.row
    own = {row.pay_from if agent_id == row.buyer_id else row.pay_to}
    own |= {one.payer_address for one in seen.settlements if one.payer_agent_id == agent_id}
    own |= {one.pay_to for one in seen.settlements if one.payee_agent_id == agent_id}
    return {wallet for wallet in own if wallet}


def _spellings(place: str) -> set[str]:
    """Return a domain or an address, path included, in its ASCII and its Unicode spelling."""
    found = {place}
    with suppress(UnicodeError):  # not a domain name, or it has no other spelling
        found.add(place.encode("ascii").decode("idna") if place.isascii() else place.encode("idna").decode())
    return found


@dataclass(frozen=True, slots=True)
class Evidence:
    """The data that a case file is made from, read in one unit of work."""

    seen: JobSnapshot
    veils: Redactors
    parties: dict[str, AgentRow]
    promised: Promised | None
    documents: dict[str, str | None]
    messages: list[MessageRow]
    left_out: dict[str, int]  # messages of each party that do not fit into the limits

    @property
    def size(self) -> int:
        """The number of characters that are searched for names."""
        texts = [*self.documents.values(), *(text for one in self.messages for text in (one.body, one.data))]
        return sum(len(text) for text in texts if text)


def evidence_of(tx: Tx, seen: JobSnapshot) -> Evidence:
    """Read the evidence, with each party's messages up to the first vote that counted."""
    row, texts = seen.row, JobTexts(tx)
    ends = seen.needed_panel.case.evidence_ends
    ends = messages_so_far(tx, row) if ends is None else ends  # the number of the last message that is evidence
    shown = {"buyer": _shown(tx, seen, row.buyer_id, ends), "seller": _shown(tx, seen, row.seller_id, ends)}
    return Evidence(
        seen=seen,
        veils=veils_of(tx, seen),
        parties={"buyer": tx.need(AgentRow, row.buyer_id), "seller": tx.need(AgentRow, row.seller_id)},
        promised=promised_to(tx, row),
        documents={"input": texts.input_of(row), "output": texts.output_of(row)}
        | {name: text_of(tx, getattr(row, name)) for name in ("input_schema", "output_schema")},
        messages=tx.all(evidence, ids=[one for ids, _ in shown.values() for one in ids]),
        left_out={side: count for side, (_, count) in shown.items()},
    )


def _shown(tx: Tx, seen: JobSnapshot, party: str, ends: int) -> tuple[set[str], int]:
    """Return the ids of the party's messages that are shown, and how many are left out."""
    given = {"thread_id": seen.row.thread_id, "sender_id": party, "ends": ends}
    oldest, newest = (
        [Statement(*one) for one in tx.all(statements(order), **given, limit=MAX_MESSAGES + 1)]
        for order in (False, True)
    )
    ids = kept(oldest, newest, _pinned(tx, seen, given))
    return ids, (tx.one(statements_counted, **given) or 0) - len(ids)


def _pinned(tx: Tx, seen: JobSnapshot, arguments: Mapping[str, Any]) -> Statement | None:
    """Return the message with which a party opened the dispute, or its first answer to it."""
    opened = seen.needed_panel.case.opened_with
    if opened is None:
        return None
    begins = opened if arguments["sender_id"] == seen.row.buyer_id else opened + 1
    found = tx.one(first_statement, **arguments, begins=begins)
    return None if found is None else Statement(*found)


def messages_so_far(tx: Tx, job: JobRow) -> int:
    """Return how many messages the thread of a job has."""
    thread = tx.get(ThreadRow, job.thread_id)
    return thread.message_count if thread else 0


class _Writer:
    """Redacts the identities of the parties and counts the redactions in each part of the case."""

    def __init__(self, veil: Redactor, counts: Counter[str]) -> None:
        self.veil, self.counts = veil, counts

    def text(self, part: str, text: str | None) -> str | None:
        return None if text is None else self._counted(part, self.veil.text(text))

    def data(self, part: str, text: str | None) -> Json:
        return None if text is None else self._counted(part, self.veil.data(orjson.loads(text)))

    def redacted(self, part: str, text: str | None) -> Json:
        return None if text is None else self._counted(part, self.veil.redact(orjson.loads(text)))

    def schema(self, part: str, text: str | None) -> Json:
        return None if text is None else self._counted(part, self.veil.schema(orjson.loads(text)))

    def _counted(self, part: str, found: tuple[T, int]) -> T:
        self.counts[part] += found[1]
        return found[0]


def case_file(found: Evidence) -> tuple[CaseFile, str]:
    """Return the case file, and the buyer's reason as evaluators read it.

    The time it takes grows with the length of the texts, so do not call it on the event loop.
    """
    counts = Counter[str]()
    writer = _Writer(found.veils.at(of_delivery(found.seen)), counts)
    reason = writer.text("reason", found.seen.row.dispute_reason) or ""
    file = CaseFile(
        job=_job(writer, found, reason),
        listing=_listing(writer, found),
        parties={side: shown_columns(one, "trust_tier", "first_party") for side, one in found.parties.items()},
        messages=[_message(counts, found, one) for one in found.messages],
        messages_truncated=any(found.left_out.values()),
        messages_left_out=found.left_out,
        redactions={part: counts[part] for part in ("job", "input", "output", "reason", "listing", "messages")},
    )
    return file, reason


def _job(writer: _Writer, found: Evidence, reason: str) -> dict[str, Json]:
    row = found.seen.row
    output = writer.data("output", found.documents["output"])
    hidden = writer.counts["output"] > 0  # the hash of the whole output would confirm a guess at the redacted names
    return {
        "title": writer.text("job", row.title),
        "category": writer.text("job", row.category),
        "input": writer.data("input", found.documents["input"]),
        "output": output,
        "output_hash": None if hidden else row.output,
        "output_bytes": rounded_size(row.output_bytes or 0) if hidden else row.output_bytes,
        "price": row.price,
        "display": display_or_none(row.price),
        "currency": "USDC",
        **shown_columns(row, "units", "payment"),
        "paid": found.seen.facts.is_paid,
        "quote_message": writer.text("job", row.quote_message),
        **shown_columns(row, "revision_count", "max_revisions"),
        "dispute_reason": reason,
        "from_bounty": row.bounty_id is not None,
        **shown_columns(row, "created_at", "accepted_at", "deliver_by", "delivered_at"),
    }


def _listing(writer: _Writer, found: Evidence) -> dict[str, Json] | None:
    promised, row = found.promised, found.seen.row
    if promised is None:
        return None
    return {
        **{name: writer.text("listing", getattr(promised, name)) for name in ("title", "description", "category")},
        "tags": [writer.text("listing", tag) for tag in orjson.loads(promised.tags)],
        "pricing_model": row.pricing_model,
        "unit_name": writer.text("listing", promised.unit_name),
        "payment": row.payment,
        "turnaround_seconds": row.turnaround_seconds,
        "input_schema": writer.schema("listing", found.documents["input_schema"]),
        "output_schema": writer.schema("listing", found.documents["output_schema"]),
        "example_input": writer.data("listing", promised.example_input),
        "example_output": writer.data("listing", promised.example_output),
        "acceptance": writer.redacted("listing", row.acceptance),
        "changed_since_order": promised.changed_since,
    }


def _message(counts: Counter[str], found: Evidence, row: MessageRow) -> dict[str, Json]:
    job = found.seen.row
    writer = _Writer(found.veils.at(row.created_at), counts)
    return {
        "from": {job.buyer_id: "buyer", job.seller_id: "seller"}.get(row.sender_id or "", "system"),
        "body": writer.text("messages", row.body),
        "data": writer.redacted("messages", row.data),
        "content_warnings": row.content_warnings,
        "created_at": stamp(row.created_at),
    }
