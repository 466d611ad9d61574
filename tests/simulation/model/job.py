"""Hold what is known of one job."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.simulation.model.history import History
from tests.simulation.model.lifecycle import BUYER, SELLER, kind
from tests.simulation.model.observe import Span, at, later

_DIGESTS = ("output_hash", "output_commitment", "output_salt")


@dataclass(frozen=True, slots=True)
class Stamps:
    """The moments that a record shows."""

    accepted: datetime | None
    delivered: datetime | None
    completed: datetime | None
    paid: datetime | None
    deliver_by: datetime | None

    @staticmethod
    def of(record: Any) -> "Stamps":
        return Stamps(
            at(record["accepted_at"]),
            at(record["delivered_at"]),
            at(record["completed_at"]),
            at(record["payment"]["paid_at"]),
            at(record["deadlines"]["deliver_by"]),
        )

    def of_move(self, state: str, job: "Job") -> tuple[datetime | None, tuple[str, ...]]:
        """Return the moment at which a call began a state, and the labels of such calls.

        The moment is None if the record does not tell it.
        """
        first = job.history.visits[0].state
        if state == "awaiting_payment" or (state == "in_progress:0" and self.paid is None):
            return (None, ()) if job.agreed["bounty_id"] else (self.accepted, ("accept:seller", "accept_quote:buyer"))
        if state in ("sealed", "revealed:0") and first != state and self.paid is None:
            return self.delivered, ("deliver:seller",)
        if kind(state) == "revealed" and state != "revealed:0":
            return self.delivered, ("deliver:seller",)
        if kind(state) == "in_progress" and state != "in_progress:0" and job.turnaround and self.deliver_by:
            return later(self.deliver_by, -job.turnaround), ("request_revision:buyer",)
        return (self.completed, ("accept:buyer", "withdraw:buyer")) if state == "completed" else (None, ())


@dataclass(slots=True)
class Job:
    """A job as far as answers showed it."""

    id: str
    env: str
    buyer: str
    seller: str
    agreed: dict[str, Any]
    history: History
    once: dict[str, Any] = field(default_factory=dict)
    since: dict[str, Span] = field(default_factory=dict)  # the first answers that showed what is in `once`
    input: bytes | None = None  # a digest of it
    origin: Span | None = None  # the call that created it
    price: int | None = None
    due: dict[str, tuple[Any, ...]] = field(default_factory=dict)  # by state
    stamps: dict[str, "Stamps"] = field(default_factory=dict)  # by state
    digests: dict[int, dict[str, Any]] = field(default_factory=dict)  # by revision
    quotes: list[tuple[int, Span]] = field(default_factory=list)
    offered: tuple[float, ...] = ()  # turnarounds in seconds that its listing or award gave
    turnaround: float | None = None  # seconds, as its first deadline shows
    disputed_at: datetime | None = None  # the latest time at which an answer showed it so
    purchased: int = 0  # its number among the purchases of its listing without an account; 0: it is none
    paid_late: tuple[int, Span] | None = None  # a purchase's payment that arrived after the job had ended

    def role(self, agent: str | None) -> str | None:
        return BUYER if agent == self.buyer else SELLER if agent == self.seller else None

    def digest(self, revision: int, shown: Any, role: str, *, sealed: bool) -> list[str]:
        """Keep the hash, commitment and salt of a delivery; return those that changed or vanished.

        While it is sealed, nobody sees the salt, and only the seller sees the hash.
        """
        hidden = {"output_salt"} | ({"output_hash"} if role == BUYER else set()) if sealed else set()
        kept = self.digests.setdefault(revision, {})
        for name in _DIGESTS:
            if shown[name] is not None:
                kept.setdefault(name, shown[name])
        return [name for name in _DIGESTS if name not in hidden and kept.get(name) != shown[name]]

    def possible(self, span: Span) -> set[str]:
        return self.history.possible(span)
