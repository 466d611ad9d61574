"""Leases: by its name a worker of a seller holds a job for a short time, so that no other one works it too."""

from typing import Annotated

from pydantic import Field

from storage.vocabulary import Actor
from tools.engine.context import TxContext
from tools.engine.errors import InvalidRequest
from tools.jobs.errors import Taken
from tools.jobs.logic import JobChanges, in_seconds
from tools.jobs.snapshot import JobSnapshot
from tools.kernel.records import stamp

LEASE_SECONDS = 120
WorkerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


def leased(ctx: TxContext, seen: JobSnapshot, worker: str | None) -> JobChanges:
    """Return the columns of the lease that a call of this worker takes or renews.

    Raises Taken while another worker holds the job.
    """
    if worker is None:
        return {}
    if seen.role_of(ctx.agent) is not Actor.SELLER:
        raise InvalidRequest("worker: is for the seller", param="worker")
    holder, until = seen.row.worker, seen.row.lease_until
    if holder not in (None, worker) and until is not None and until > ctx.now:
        raise Taken(f"the worker {holder} holds this job", worker=holder, lease_until=stamp(until))
    return {"worker": worker, "lease_until": in_seconds(ctx, LEASE_SECONDS)}
