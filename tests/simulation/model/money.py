"""Follow the transfers of jobs: each counts once, and sums follow from them."""

from dataclasses import dataclass
from typing import Any

from tests.simulation.model.observe import Rule, Sight, Span

_STATUSES = {"partial": ("partial", "settled", "orphaned"), "settled": ("settled",), "orphaned": ("orphaned",)}


@dataclass(slots=True)
class Transfer:
    """A transfer that the market recorded."""

    id: str
    job_id: str
    kind: str
    amount: int
    status: str
    payer: str
    payee: str
    pay_to: str
    settled_at: str | None
    voluntary: bool
    partial: bool  # once below the price
    span: Span

    def surely(self, span: Span) -> bool:
        return self.span.high <= span.low

    def maybe(self, span: Span) -> bool:
        return self.span.low < span.high


class Money:
    """All transfers that answers showed, by transaction."""

    def __init__(self) -> None:
        self.transfers: dict[tuple[str, str], Transfer] = {}
        self.of_job: dict[str, list[Transfer]] = {}
        self.paid_by: dict[tuple[str, str], list[Transfer]] = {}
        self.ids: dict[str, tuple[str, str]] = {}
        self.short: set[tuple[str, str]] = set()  # transactions that were answered as too low
        self.unseen: dict[str, list[tuple[str, str, Span]]] = {}

    def show(self, found: Any, sight: Sight) -> None:
        """Take in a settlement record."""
        name = (sight.seen.env, found["transaction"].lower())
        self._sound(found, sight)
        known = self.transfers.get(name)
        if known is None:
            sight.check(
                found["id"] not in self.ids, Rule.TRANSFER, "one settlement has two transactions", found["job_id"]
            )
            self._keep(name, found, sight)
            return
        shown = (
            found["id"],
            found["job_id"],
            found["kind"],
            found["amount"],
            found["payer_agent_id"],
            found["payee_agent_id"],
            found["pay_to"],
        )
        kept = (known.id, known.job_id, known.kind, known.amount, known.payer, known.payee, known.pay_to)
        sight.check(shown == kept, Rule.TRANSFER, f"{name[1]} was {kept} and is {shown}", known.job_id)
        if known.surely(sight.span):
            fits = found["status"] in _STATUSES[known.status]
            sight.check(fits, Rule.TRANSFER, f"{known.status} became {found['status']}", known.job_id)
        known.settled_at = known.settled_at or found["settled_at"]
        same = found["settled_at"] in (None, known.settled_at)
        sight.check(same, Rule.TRANSFER, f"settled at {known.settled_at} and {found['settled_at']}", known.job_id)
        if known.status == "partial":
            known.status = found["status"]

    def _sound(self, found: Any, sight: Sight) -> None:
        job = found["job_id"]
        sight.check(
            type(found["amount"]) is int and found["amount"] > 0, Rule.TRANSFER, "the amount is no whole sum", job
        )
        sight.check(found["status"] in _STATUSES, Rule.TRANSFER, f"there is no status {found['status']}", job)
        settled = (found["status"] == "settled") == (found["settled_at"] is not None)
        sight.check(settled, Rule.TRANSFER, f"{found['status']}, settled at {found['settled_at']}", job)
        sent = {found["payer_agent_id"]: "out", found["payee_agent_id"]: "in"}
        role = sent.get(sight.seen.agent)
        sight.check(
            role == found["direction"], Rule.TRANSFER, f"direction {found['direction']} for {sight.seen.agent}", job
        )

    def _keep(self, name: tuple[str, str], found: Any, sight: Sight) -> None:
        kept = Transfer(
            found["id"], found["job_id"], found["kind"], found["amount"], found["status"],
            found["payer_agent_id"], found["payee_agent_id"], found["pay_to"], found["settled_at"], bool(found.get("voluntary")),
            found["status"] == "partial" or name in self.short, sight.span,
        )  # fmt: skip
        self.transfers[name], self.ids[kept.id] = kept, name
        self.of_job.setdefault(kept.job_id, []).append(kept)
        if kept.kind == "payment":
            self.paid_by.setdefault((name[0], kept.payer), []).append(kept)

    def known_to(self, agent: str, sight: Sight, after: str) -> set[str]:
        """Return the ids from one on of an agent's transfers that were shown before a call."""
        return {
            one.id
            for (env, _), one in self.transfers.items()
            if env == sight.seen.env and agent in (one.payer, one.payee) and one.surely(sight.span) and one.id >= after
        }

    def arrived(self, job_id: str) -> list[Transfer]:
        """Return the payments of a job that count towards its price."""
        return [one for one in self.of_job.get(job_id, ()) if one.kind == "payment" and one.status != "orphaned"]

    def returned(self, payment: Transfer) -> bool:
        """Say if any refund was recorded for the job of a payment."""
        return any(one.kind == "refund" for one in self.of_job[payment.job_id])

    def submitted(self, sight: Sight) -> None:
        """Remember a transaction whose record no answer has shown yet."""
        seen = sight.seen
        name = (seen.env, str(seen.arguments.get("transaction") or "").lower().removeprefix("0x"))
        self.unseen.setdefault(str(seen.arguments["job_id"]), []).append((seen.operation, name[1], sight.span))
        if seen.code:
            self.short.add((seen.env, "0x" + name[1]))

    def hidden(self, env: str, job_id: str, operation: str, span: Span) -> bool:
        """Say if a job may have transfers whose amount no answer shows."""
        return any(
            kind == operation and since.low < span.high and (env, "0x" + name) not in self.transfers
            for kind, name, since in self.unseen.get(job_id, ())
        )

    def owed(self, job_id: str, share: int, early: bool, span: Span) -> tuple[int, int]:
        """Return the least and the most owed back at the moment of a call.

        `share` is 0, 1 or 2 halves of what was paid; `early` says that the job ended before its payment was complete.
        """
        payments = [one for one in self.of_job.get(job_id, ()) if one.kind == "payment"]
        refunds = [one for one in self.of_job.get(job_id, ()) if one.kind == "refund"]
        arrived = self.arrived(job_id)
        complete = any(one.status == "settled" for one in arrived)  # it has promoted the partial ones
        paid = sum(one.amount for one in arrived) * share if complete else 0
        unmet = early and not (share and complete)
        loose = [one for one in payments if one.status == "orphaned" or (unmet and one.partial)]
        base = (paid + 1) // 2
        least = sum(one.amount for one in loose if one.surely(span)) - sum(
            one.amount for one in refunds if one.maybe(span)
        )
        surely = sum(one.amount for one in refunds if one.surely(span) and not one.voluntary)
        most = sum(one.amount for one in loose if one.maybe(span)) - surely
        return max(0, base + least), max(0, base + most)
