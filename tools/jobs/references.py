"""Orders with the buyer's own reference: repeated with the same arguments they always find the same job.

The hash of the order is compared and not its columns, because the title may come from the listing. Defaults are left
out of it, so that an argument that a later version adds does not change the orders of today.
"""

from storage.jobs import job_of_reference
from storage.tables import JobRow, ListingRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.engine.archives import refuse_archived
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import Document, StaleInput, canonical_document
from tools.jobs.errors import ReferenceReused
from tools.jobs.place_order import JudgedOrder, Order, Ordered, judge_order, place_order
from tools.jobs.snapshot import JobSnapshot, load


async def judge_once(read_ctx: ReadContext, order: Order) -> JudgedOrder | Document:
    """Judge an order; if its reference is known, return only the canonical form of its input.

    A repeat is answered even if the listing takes no orders any more.
    """
    buyer, env = read_ctx.caller.agent, read_ctx.env
    if order.reference is not None:
        known = await read_ctx.store.read(lambda tx: job_ordered_as(tx, order.reference, buyer, env))
        if known is not None:
            return await canonical_document(order.input, "input")
    return await judge_order(read_ctx, order)


def order_once(ctx: TxContext, order: Order, judged: JudgedOrder | Document) -> Ordered:
    """Place an order unless its reference is known.

    Raises ReferenceReused if the known job was ordered with other arguments, and Archived if it was archived.
    """
    known = _known(ctx, order, judged)
    if known is not None:
        return Ordered(known, [], new=False)
    if not isinstance(judged, JudgedOrder):
        raise StaleInput
    return place_order(ctx, order, judged)


def job_ordered_as(tx: Tx, reference: str | None, buyer_id: str, env: Env) -> JobRow | None:
    """Return the job that a buyer ordered with this reference."""
    return None if reference is None else tx.one(job_of_reference, agent_id=buyer_id, env=env, reference=reference)


def _known(ctx: TxContext, order: Order, judged: JudgedOrder | Document) -> JobSnapshot | None:
    if order.reference is None:
        return None
    # Locked first; otherwise the place that the first of two repeats takes could be refused to the second.
    ctx.tx.get(ListingRow, order.listing_id, lock=True)
    row = job_ordered_as(ctx.tx, order.reference, ctx.agent, ctx.env)
    if row is None:
        return None
    given = judged.input if isinstance(judged, JudgedOrder) else judged
    if row.order_hash != order.hash_with(given):
        raise ReferenceReused("this reference names another order of yours", param="reference", job_id=row.id)
    refuse_archived(ctx, row.id, row.created_at)
    return load(ctx.tx, row)
