"""Operations that accept an order or a delivery, deliver work, and review the other party."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import Field

from storage.tables import JobDeliveryRow, ReviewRow
from storage.transaction import Tx
from storage.vocabulary import FINISHED, Actor, JobStatus
from tools.agents.logic import handles
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import (
    MAX_PREVIEW,
    Document,
    StaleInput,
    canonical_document,
    keep_document,
    named,
    schema_error,
    text_of,
    violations,
)
from tools.engine.errors import NotFound, OutputSchemaMismatch, PayloadTooLarge, SchemaTooExpensive, StorageFull
from tools.engine.registry import operation
from tools.engine.storage_quotas import need_room_to_accept
from tools.jobs.contributions import count_job
from tools.jobs.disputes.panel_actions import own_and_resolve
from tools.jobs.errors import AlreadyReviewed, InvalidTransition, JobNotSettled, Taken
from tools.jobs.leases import WorkerName, leased
from tools.jobs.lifecycle import allowed
from tools.jobs.logic import (
    JobChanges,
    JobRef,
    acting_role,
    agreed,
    apply_move,
    in_seconds,
    job_action,
    move_or_repeat,
    own_job_locked,
    payment_falls_due,
    require_move,
)
from tools.jobs.records import Job
from tools.jobs.sealing_rules import SALT_BYTES, commitment, rounded_size
from tools.jobs.snapshot import JobSnapshot, find_mine
from tools.jobs.stored_texts import keep_text, output_part
from tools.jobs.views import job_record, marks_of
from tools.kernel.json_schema import Violation
from tools.kernel.records import Json, shown_columns
from tools.listings.acceptance import unkept
from tools.listings.errors import AcceptanceFailed
from tools.listings.stats import recount
from tools.reputation.records import Review
from tools.reputation.views import review_record
from tools.screening.errors import ContentRejected
from tools.screening.logic import private_json_beside, private_text
from tools.wallets.errors import WalletAddressRequired


class AcceptJob(JobRef):
    worker: WorkerName | None = Field(None, description="seller: your program that alone holds the job for two minutes")


@job_action(
    "accept",
    scope=("buy", "sell"),
    errors=(NotFound, InvalidTransition, WalletAddressRequired, StorageFull, Taken),
    toolset="jobs",
)
def accept_job(ctx: TxContext, ref: AcceptJob) -> Job:
    """Accept a new order as seller, or a delivery you can read as buyer.

    Seller: the work begins at once (on_delivery) or when the buyer has paid (upfront); deliver with deliver_job before
    deadlines.deliver_by. Buyer: the job is completed; without an answer it completes by itself at review_by.
    """
    seen = own_job_locked(ctx, ref.job_id)
    move = move_or_repeat(ctx, seen, "accept")
    lease = leased(ctx, seen, ref.worker)
    if move is None:
        return job_record(ctx, replace(seen, row=ctx.tx.change(seen.row, **lease)) if lease else seen)
    if move.actor is Actor.BUYER:
        return job_record(ctx, apply_move(ctx, seen, move, ctx.agent, data={"by": "buyer"}, completed_at=ctx.now))
    need_room_to_accept(ctx)
    return job_record(ctx, agreed(ctx, seen, move, **lease))


class DeliverJob(JobRef):
    nulls: ClassVar[frozenset[str]] = frozenset({"output", "preview"})

    output: Json = Field(
        description="the finished work, any JSON; must satisfy the job's output_schema; at most 512 KB"
    )
    message: str | None = Field(None, max_length=4000, description="a note to the buyer, posted to the job's thread")
    preview: Json = Field(
        None, description="any JSON: a teaser the buyer sees while the output is sealed; at most 4 KB"
    )
    worker: WorkerName | None = Field(None, description="as in accept_job")


@dataclass(frozen=True, slots=True)
class JudgedDelivery:
    """A delivery in canonical form, checked against the schema and the rules frozen on the job."""

    output: Document
    preview: Document | None
    warnings: list[str]


async def judge_delivery(read_ctx: ReadContext, work: DeliverJob) -> JudgedDelivery | Document | None:
    """Check a delivery against the schema and the rules frozen on the job.

    If the job takes no delivery by the caller, nothing is checked. The result is then the output's canonical form if
    work was delivered before, otherwise None.
    """
    seen, schema, preview_schema = await read_ctx.store.read(lambda tx: _job_and_schemas(tx, work.job_id, read_ctx))
    if allowed(seen.facts, "deliver", seen.role_of(read_ctx.caller.agent), read_ctx.now) is None:
        return None if seen.row.output is None else await canonical_document(work.output, "output")
    output = await canonical_document(work.output, "output")
    preview = None if work.preview is None else await canonical_document(work.preview, "preview", MAX_PREVIEW)
    unfit = [
        *named("output", await violations(read_ctx, schema, work.output, output.size)),
        *named("preview", await _preview_faults(read_ctx, seen, preview_schema, work.preview, preview)),
    ]
    broken = await unkept(read_ctx, seen.row.acceptance, work.output, output.size)
    if unfit:
        raise schema_error(OutputSchemaMismatch, unfit, broken)
    if broken:
        raise AcceptanceFailed(f"the output fails {broken[0]['message']}", param="output", violations=broken)
    warned = await private_json_beside(work.output, "output", output.size)
    warned += await private_json_beside(work.preview, "preview", preview.size if preview else 0)
    private_text(work.message, "message")
    return JudgedDelivery(output, preview, sorted(set(warned)))


DELIVER_ERRORS = (
    NotFound, InvalidTransition, AcceptanceFailed, OutputSchemaMismatch, SchemaTooExpensive, PayloadTooLarge,
    ContentRejected, WalletAddressRequired, StorageFull, Taken,
)  # fmt: skip


@job_action(
    "deliver",
    scope="sell",
    gather=judge_delivery,
    errors=DELIVER_ERRORS,
    idempotent=False,
    ends_work=True,
    toolset="selling",
)
def deliver_job(ctx: TxContext, work: DeliverJob, judged: JudgedDelivery | Document | None) -> Job:
    """Deliver the finished work; it cannot be replaced by another delivery.

    It also accepts an open on_delivery order, as of its creation.

    On a priced on_delivery job the output stays sealed until the buyer has paid: the buyer sees a salted commitment, a
    rounded size and your preview. Next: wait for job.paid, then for the buyer to accept; without an answer the job
    completes by itself.
    """
    seen = own_job_locked(ctx, work.job_id)
    output = judged.output if isinstance(judged, JudgedDelivery) else judged
    same = output is not None and seen.row.output == output.hash
    move = move_or_repeat(ctx, seen, "deliver", same_content=same)
    if move is None:
        return job_record(ctx, seen)
    if not isinstance(judged, JudgedDelivery):
        raise StaleInput
    lease = leased(ctx, seen, work.worker)
    if move.source is JobStatus.OPEN:
        seen = _accepted_first(ctx, seen)
    keep_text(ctx.tx, seen.row.id, output_part(seen.row.revision_count), judged.output)
    if seen.row.counted:
        ctx.tx.count_bytes(seen.row.buyer_id, ctx.env, rounded_size(judged.output.size))
    preview = keep_document(ctx.tx, judged.preview)
    made = _committed(ctx, judged.output) | {"output_preview": preview, "delivered_at": ctx.now}
    row = ctx.tx.add(
        JobDeliveryRow(
            job_id=seen.row.id,
            revision=seen.row.revision_count,
            content_warnings=judged.warnings,
            deliver_by=seen.row.deliver_by,
            **made,
        )
    )
    if seen.deliveries:  # the first delivery alone is in the job's own row
        seen = replace(seen, deliveries=(*seen.deliveries, row))
    sealed = bool(seen.row.price) and not seen.facts.is_paid
    window = ctx.windows.review_seconds
    changes = payment_falls_due(ctx, seen, window) if sealed else JobChanges(review_by=in_seconds(ctx, window))
    changes |= lease
    changes["content_warnings"] = sorted({*seen.row.content_warnings, *judged.warnings})  # those of the order too
    marks = marks_of(row, sealed=sealed)
    told: dict[str, Json] = {name: marks[name] for name in ("output_hash", "output_commitment", "output_salt")}
    told |= {"sealed": sealed, "payment_due": sealed, "content_warnings": judged.warnings}
    return job_record(ctx, apply_move(ctx, seen, move, ctx.agent, data=told, note=work.message, **made, **changes))


def _accepted_first(ctx: TxContext, seen: JobSnapshot) -> JobSnapshot:
    """Accept the order that a delivery answers; its time counts from the order."""
    need_room_to_accept(ctx)
    return agreed(ctx, seen, require_move(ctx, seen, "accept"), since=seen.row.created_at)


def _committed(ctx: TxContext, output: Document) -> dict[str, Any]:
    """Make the columns of a new output, with a new salt."""
    salt = ctx.world.dice.random_bytes(SALT_BYTES).hex()
    return {
        "output": output.hash,
        "output_bytes": output.size,
        "output_salt": salt,
        "output_commitment": commitment(salt, output.text),
    }


class ReviewJob(JobRef):
    rating: int = Field(ge=1, le=5, description="1 worst, 5 best")
    comment: str | None = Field(None, max_length=2000, description="what others should know; public and permanent")
    machine_generated: bool = Field(False, description="true if no person checked the words")


@operation(
    "POST /v1/jobs/{job_id}/reviews",
    action="review",
    scope=("buy", "sell"),
    errors=(NotFound, JobNotSettled, AlreadyReviewed, ContentRejected),
    status=201,
    toolset="jobs",
    examples=({"job_id": "<job_…>", "rating": 5},),
)
def review_job(ctx: TxContext, arguments: ReviewJob) -> Review:
    """Rate the other party of a completed or resolved job; a review is permanent.

    Each party gives one. Each counterparty is one vote, weighted by what it paid. list_reviews shows it.
    """
    seen = own_and_resolve(ctx, arguments.job_id)
    warned = private_text(arguments.comment, "comment")
    if seen.facts.status not in FINISHED:
        raise JobNotSettled(f"the job is {seen.facts.status}", status=str(seen.facts.status))
    if ctx.agent in seen.reviewers:
        raise AlreadyReviewed("you have reviewed this job")
    role, subject = acting_role(ctx, seen), seen.other(ctx.agent)
    row = ctx.tx.add(
        ReviewRow(
            job_id=seen.row.id,
            reviewer_id=ctx.agent,
            id=ctx.new_id("rev_"),
            env=ctx.env,
            listing_id=seen.row.listing_id,
            subject_id=subject,
            role=role.value,
            rating=arguments.rating,
            comment=arguments.comment,
            job_value=seen.facts.paid_minor,
            machine_generated=arguments.machine_generated,
            content_warnings=warned,
            created_at=ctx.now,
        )
    )
    _tell_reviewed(ctx, row)
    count_job(ctx.tx, seen, ctx.now)
    if role is Actor.BUYER:
        recount(ctx.tx, seen.row, seen.settlements)
    return review_record(row, handles(ctx.tx, {ctx.agent})[ctx.agent])


def _job_and_schemas(tx: Tx, job_id: str, read_ctx: ReadContext) -> tuple[JobSnapshot, str | None, str | None]:
    """Return the job, the schema of its output, and the schema of its preview."""
    seen = find_mine(tx, job_id, read_ctx.caller.agent, read_ctx.env)
    return seen, text_of(tx, seen.row.output_schema), text_of(tx, seen.row.preview_schema)


async def _preview_faults(
    read_ctx: ReadContext, seen: JobSnapshot, schema: str | None, preview: Json, made: Document | None
) -> Sequence[Violation]:
    """Return the faults of a preview.

    A sealed delivery without the preview that the buyer asked for is a fault too.
    """
    if schema is not None and made is not None:
        return await violations(read_ctx, schema, preview, made.size)
    sealed = seen.row.price and not seen.facts.is_paid
    return [Violation("", "Required: the buyer asked for a preview.")] if schema and sealed else ()


def _tell_reviewed(ctx: TxContext, row: ReviewRow) -> None:
    told = {"review_id": row.id, "job_id": row.job_id, "from": row.reviewer_id}
    told |= shown_columns(row, "role", "rating", "comment", "content_warnings")
    ctx.emit(row.subject_id, row.env, "review.received", told)
