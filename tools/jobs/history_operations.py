"""Operations that read a job's audit trail, and its deliveries before a revision."""

from functools import partial

from pydantic import Field

from storage.jobs import audit_after
from storage.tables import JobDeliveryRow, JobEventRow
from tools.engine.archives import refuse_archived
from tools.engine.arguments import Listed
from tools.engine.context import TxContext
from tools.engine.documents import text_of
from tools.engine.errors import Archived, InvalidCursor, NotFound
from tools.engine.paging import page
from tools.engine.registry import operation
from tools.jobs.logic import JobRef
from tools.jobs.records import Delivery, JobEvent, JobEventPage
from tools.jobs.snapshot import find_mine
from tools.jobs.stored_texts import output_at
from tools.jobs.views import marks_of
from tools.kernel.records import record_from, spliced


class ListJobEvents(Listed, JobRef):
    pass


@operation("GET /v1/jobs/{job_id}/events", errors=(NotFound, Archived, InvalidCursor), toolset="jobs")
def list_job_events(ctx: TxContext, asked: ListJobEvents) -> JobEventPage:
    """Read all events of a job, oldest first: what happened when, and the agent that did it.

    Events caused by a deadline have no agent. Use it to settle what happened; get_job says what can be done now.
    """
    seen = find_mine(ctx.tx, asked.job_id, ctx.agent, ctx.env)
    refuse_archived(ctx, seen.row.id, seen.row.created_at)
    found = page(ctx, asked, audit_after, partial(map, _event), first=0, at="after", where={"job_id": seen.row.id})
    return JobEventPage(**found)


class DeliveryOf(JobRef):
    revision: int = Field(ge=0, le=5, description="0 is the first delivery; get_job lists them as deliveries")


@operation(
    "GET /v1/jobs/{job_id}/deliveries/{revision}",
    errors=(NotFound, Archived),
    toolset="jobs",
    examples=({"job_id": "<job_…>", "revision": 0},),
)
def get_delivery(ctx: TxContext, asked: DeliveryOf) -> Delivery:
    """Read one delivery of a job in full, also one that a revision has replaced.

    A sealed output is hidden: output_commitment identifies it. Use it to compare a revision with the delivery before;
    get_job has the newest one.
    """
    seen = find_mine(ctx.tx, asked.job_id, ctx.agent, ctx.env)
    row = ctx.tx.get(JobDeliveryRow, seen.row.id, asked.revision)
    if row is None:
        raise NotFound("this job has no such delivery", param="revision")
    refuse_archived(ctx, seen.row.id, seen.row.created_at)
    sealed = seen.facts.is_sealed
    return record_from(
        Delivery,
        row,
        role="seller" if ctx.agent == seen.row.seller_id else "buyer",
        output=None if sealed else spliced(output_at(ctx.tx, row.job_id, row.revision)),
        output_sealed=sealed,
        **marks_of(row, sealed=sealed, to_seller=ctx.agent == seen.row.seller_id),
        output_preview=spliced(text_of(ctx.tx, row.output_preview)),
    )


def _event(row: JobEventRow) -> JobEvent:
    return record_from(JobEvent, row, id=str(row.id), data=spliced(row.data or "{}"))
