"""The oracle of leases: while a worker has a job, no other worker of its seller accepts or delivers it."""

from collections import defaultdict, deque
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from tests.simulation.model.observe import in_milliseconds
from tests.simulation.oracles import Oracle
from tests.simulation.records import Observation, Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

TAKES = ("accept_job", "deliver_job")
KEPT = 8  # leases of one job


class Lease(NamedTuple):
    """A lease that an answer showed, and when that answer came."""

    worker: str
    seen_at: datetime
    until: datetime


class Leases(Oracle):
    """A worker's lease keeps all other workers out, and only for its time."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.of_job: dict[str, deque[Lease]] = defaultdict(lambda: deque(maxlen=KEPT))

    def observe(self, seen: Observation) -> None:
        worker = seen.call.arguments.get("worker")
        if seen.call.operation not in TAKES or worker is None:
            return
        job = seen.call.arguments["job_id"]
        if seen.answer.code == "taken":
            self._refused(job, worker, seen)
        if seen.answer.refused:
            return
        for lease in self.of_job[job]:
            if lease.worker != worker and lease.seen_at < seen.began and seen.ended < lease.until:
                raise Violation(f"{worker} does {seen.call.operation} on {job}, which {lease.worker} has: {lease}")
        shown = seen.answer.body
        if shown["worker"] == worker and shown["lease_until"] is not None:
            self.of_job[job].append(Lease(worker, seen.ended, datetime.fromisoformat(shown["lease_until"])))

    def _refused(self, job: str, worker: str, seen: Observation) -> None:
        """Check that a refusal names another worker, whose lease was running."""
        named = seen.answer.body["error"]["details"]
        over = datetime.fromisoformat(named["lease_until"]) < in_milliseconds(seen.began)
        if named["worker"] == worker or over:
            raise Violation(f"{worker} may not take {job} because of the lease {named}, at {seen.began}")
