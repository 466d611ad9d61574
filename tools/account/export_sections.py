"""The sections of an export, and how each is read: by an operation, if there is one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from storage.agents import domains_by_name, handles_by_name, keys_by_name, wallets_by_name
from storage.bounties import bounties_among, proposals_by_id, proposals_by_seller
from storage.events import newest_event
from storage.jobs import jobs_of, reviews_written
from storage.messages import reports_of, threads_by_id
from storage.query import Query
from storage.tables import BountyRow, ProposalRow, ReportRow
from tools.account.export_records import HeldDomain, HeldHandle, HeldWallet, RetiredKey, SentReport
from tools.account.export_writer import PAGE, One, Page, Reader, Section, one_record, page_of, pages_of, pages_of_rows
from tools.agents.logic import handles
from tools.bounties.logic import proposal_record, traders
from tools.bounties.records import Proposal
from tools.engine.context import TxContext
from tools.kernel.ids import event_id
from tools.kernel.keys import did_of
from tools.kernel.records import Json, encode, record_from
from tools.messages.logic import thread_records
from tools.reputation.views import review_record

AFTER_ALL = "~"  # sorts after every id


async def _domains(reader: Reader, _: str, __: Json) -> Page:
    """Return all domains as one page, because they are few."""
    found = (await reader.ask("list_domains")).data
    return Page([encode(record) for record in found], [record.domain for record in found], None)


async def _deliveries(reader: Reader, job_id: str, revision: Json) -> Page:
    """Return one delivery, because each may be large; NotFound after the last ends the section."""
    at = revision or 0
    record = await reader.ask("get_delivery", job_id=job_id, revision=at)
    return Page([encode(record)], [job_id], at + 1)


async def _events(reader: Reader, _: str, place: Json) -> Page:
    """Return a page of the events that existed when the first page was read.

    Otherwise the export of a busy agent might never end for a slow reader.
    """
    since, last = place or (None, await reader.read(_newest))
    if last is None:
        return Page([], [], None)
    page = await reader.ask("list_events", limit=PAGE, since=since)
    text = encode(page.data)[1:-1]
    more = page.has_more and page.next_since < last
    return Page([text] if text else [], [""] if text else [], (page.next_since, last) if more else None)


def _newest(ctx: TxContext) -> str | None:
    newest = ctx.tx.one(newest_event, agent_id=ctx.agent, env=ctx.env)
    return None if newest is None else event_id(newest)


def _newest_first(
    query: Query[Any], to_records: Callable[[TxContext, list[Any]], Sequence[object]], **parts: Any
) -> Section:
    """Make a section of an agent's rows in one environment, sorted by id from the newest."""

    def read(ctx: TxContext, _: str, before: Json) -> Page:
        found = ctx.tx.all(query, agent_id=ctx.agent, env=ctx.env, before=before or AFTER_ALL, limit=PAGE)
        return page_of(to_records(ctx, found), [row.id for row in found], found)

    return Section(pages_of_rows(read), **parts)


def _proposals_on(ctx: TxContext, bounty_id: str, after: Json) -> Page:
    """Return a page of proposals by seller, because each new price changes list_proposals."""
    found = ctx.tx.all(proposals_by_seller, bounty_id=bounty_id, after=after or "", limit=PAGE)
    return page_of(_shown(ctx, found), [row.seller_id for row in found], found)


def _shown(ctx: TxContext, found: list[ProposalRow]) -> list[Proposal]:
    if not found:
        return []
    sellers = traders(ctx.tx, [row.seller_id for row in found])
    rows: list[BountyRow] = ctx.tx.all(bounties_among, ids={row.bounty_id for row in found})
    bounties = {row.id: row for row in rows}
    return [proposal_record(row, sellers[row.seller_id], bounties[row.bounty_id], ctx.now) for row in found]


def _reviews_written(ctx: TxContext, _: str, before: Json) -> Page:
    """Return the reviews of a page of jobs, which may be none."""
    here = {"agent_id": ctx.agent, "env": ctx.env, "before": before or AFTER_ALL}
    jobs = ctx.tx.all(jobs_of("both", statuses=0), **here, limit=PAGE)
    found = ctx.tx.all(reviews_written, agent_id=ctx.agent, job_ids=[job.id for job in jobs])
    own = handles(ctx.tx, {ctx.agent})[ctx.agent]
    written = [encode(review_record(row, own)) for row in found]
    return Page(written, [row.id for row in found], jobs[-1].id if len(jobs) == PAGE else None)


def _rows(query: Query[Any], name: str, kind: type[Any], **others: Callable[[Any], Json]) -> Section:
    """Make a section of an agent's rows, sorted by name.

    `others` make the members of a record that its row does not have.
    """

    def read(ctx: TxContext, _: str, after: Json) -> Page:
        found = ctx.tx.all(query, agent_id=ctx.agent, after=after or "", limit=PAGE)
        records = [record_from(kind, row, **{key: made(row) for key, made in others.items()}) for row in found]
        return page_of(records, [getattr(row, name) for row in found], found)

    return Section(pages_of_rows(read))


def _reports(_: TxContext, found: list[ReportRow]) -> list[SentReport]:
    return [record_from(SentReport, row, references=row.references_json) for row in found]


SECTIONS: Mapping[str, One | Section] = {
    "profile": one_record("get_me"),
    "handles": _rows(handles_by_name, "handle", HeldHandle),
    "wallets": _rows(wallets_by_name, "address", HeldWallet),
    "proven_domains": _rows(domains_by_name, "domain", HeldDomain),
    "public_keys": _rows(keys_by_name, "public_key", RetiredKey, did=lambda row: did_of(bytes.fromhex(row.public_key))),
    "api_keys": Section(pages_of("list_api_keys")),
    "domains": Section(_domains),
    "evaluator": one_record("get_evaluator"),
    "reputation": one_record("get_reputation", of="agent_id"),
    "attestation": one_record("get_attestation", of="agent_id"),
    "listings": Section(pages_of("list_my_listings")),
    "bounties": Section(
        pages_of("list_my_bounties"),
        record=one_record("get_bounty", of="bounty_id"),
        called="bounty",
        within={"proposals": Section(pages_of_rows(_proposals_on))},
    ),
    "proposals": _newest_first(proposals_by_id, _shown),
    "jobs": Section(
        pages_of("list_jobs"),
        called="job",
        beside={"receipt": one_record("get_receipt", of="job_id")},
        within={"deliveries": Section(_deliveries), "events": Section(pages_of("list_job_events", of="job_id"))},
    ),
    "settlements": Section(pages_of("list_settlements")),
    "reviews_written": Section(pages_of_rows(_reviews_written)),
    "reviews_received": Section(pages_of("list_reviews", of="agent_id")),
    "disputes": Section(pages_of("list_disputes"), record=one_record("get_dispute", of="dispute_id")),
    "threads": _newest_first(  # by id, because each message changes the order of list_threads
        threads_by_id,
        thread_records,
        called="thread",
        within={"messages": Section(pages_of("list_messages", of="thread_id", order="desc"))},
    ),
    "events": Section(_events),
    "webhooks": Section(
        pages_of("list_webhooks"),
        called="webhook",
        within={"deliveries": Section(pages_of("list_webhook_deliveries", of="webhook_id"))},
    ),
    "schedules": Section(pages_of("list_schedules")),
    "memory": Section(pages_of("list_memory", known_by="key"), record=one_record("get_memory", of="key")),
    "support_reports": _newest_first(reports_of, _reports),
}
