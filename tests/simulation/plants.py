"""Faults that are planted on purpose: each is one small change of the market that some oracle must find."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plant:
    """An exact replacement of text in one file.

    `scenario` and `database` are those in which its effect can show.
    """

    name: str
    file: str
    old: str
    new: str
    scenario: str = "default"
    database: str = "sqlite"


PLANTS = (
    Plant(
        "a settlement written twice",
        "tools/jobs/payments/logic.py",
        "            network=ctx.network.id,\n",
        '            network=f"{ctx.network.id}/{job.id}",\n',  # as if a hash were unique in its job only
        "cheats",
    ),
    Plant(
        "a lease not checked",
        "tools/jobs/delivery_operations.py",
        "lease = leased(ctx, seen, work.worker)",
        "lease = leased(ctx, seen, seen.row.worker)",
    ),
    Plant(
        "a sealed field in one event",
        "tools/jobs/delivery_operations.py",
        "marks = marks_of(row, sealed=sealed)",
        "marks = marks_of(row, sealed=sealed, to_seller=True)",  # the buyer gets the same event
    ),
    Plant(
        "a deadline one second early",
        "tools/jobs/lifecycle.py",
        "if deadline is None or now < deadline + self.grace:",
        "if deadline is None or now + timedelta(seconds=1) < deadline + self.grace:",
    ),
    Plant(
        "a quota not released",
        "tools/jobs/payments/logic.py",
        'if changes["counted"] != seen.row.counted:',
        'if changes["counted"] and not seen.row.counted:',
    ),
    Plant(
        "a lost wake-up",
        "storage/transaction.py",
        'frozenset(str(event["agent_id"]) for event in self.events)',
        'frozenset(str(event["agent_id"]) for event in self.events[-1:])',
    ),
    Plant(
        "a swallowed Conflict",
        "storage/transaction.py",
        "            if isinstance(verdict, StorageError):\n",
        "            if isinstance(verdict, Unavailable):\n",
    ),
    Plant(
        "a revoked key accepted by one cache",
        "tools/credentials/operations.py",
        'ctx.tx.invalidate(f"key:{row.hash}", f"holder:{agent.id}")',
        'ctx.tx.invalidate(f"key:{row.id}", f"holder:{agent.id}")',
    ),
    Plant(
        "an unordered event",
        "storage/transaction.py",
        "self.run_each(inserting(EventRow.__table__, EVENT), self.events)",
        "self.run_each(inserting(EventRow.__table__, EVENT), self.events[::-1])",
    ),
    Plant(
        "a refund counted as payment",
        "tools/jobs/snapshot.py",
        "return [one for one in self.settlements if one.kind is SettlementKind.PAYMENT]",
        "return [*self.settlements]",
    ),
    Plant(
        "a related evaluator",
        "tools/agents/relations.py",
        "self._ordered.hold(pays_much_of, party, one) for party in self._parties",
        "self._ordered.hold(pays_much_of, one, party) for party in self._parties",
        "cheats",
    ),
    Plant(
        "an idempotency record of another caller",
        "tools/engine/idempotency.py",
        "owner = caller.agent_id or ANONYMOUS",
        "owner = ANONYMOUS",
    ),
    Plant(
        "a webhook signed without its body",
        "tools/events/webhooks/deliveries.py",
        "content = signed_content(posting.event_id, timestamp, posting.body)",
        'content = signed_content(posting.event_id, timestamp, b"")',
    ),
    Plant(
        "a seat that lives a minute too long",
        "tools/jobs/panel_rules.py",
        "if any(now >= seat.deadline_at for seat in waiting):",
        "if any((now - seat.deadline_at).total_seconds() >= 60 for seat in waiting):",
        "slow_workers",
    ),
    Plant(
        "a payment to its own buyer",
        "tools/jobs/payments/terms.py",
        '        pay_to=row.pay_to or "",\n        pay_from',
        '        pay_to=payer or row.pay_to or "",\n        pay_from',
    ),
    Plant(
        "a paused listing that can be ordered",
        "tools/jobs/place_order.py",
        "    if listing.status is not ListingStatus.ACTIVE:\n",
        "    if listing.status is ListingStatus.ARCHIVED:\n",
        "slow_workers",
    ),
    Plant(
        "an old secret that signs no more",
        "tools/events/webhooks/logic.py",
        "now < row.previous_until else None",
        "now >= row.previous_until else None",
    ),
    Plant(
        "evidence that stays open",
        "tools/jobs/disputes/case_file.py",
        "messages_so_far(tx, row) if ends is None else ends",
        "messages_so_far(tx, row)",
        "disputes",
    ),
    Plant(
        "an unanswered message too many",
        "tools/messages/rules.py",
        "self.length < MAX_UNANSWERED",
        "self.length <= MAX_UNANSWERED",
    ),
    Plant(
        "a webhook too many",
        "tools/events/webhooks/operations.py",
        "    if held >= most:\n",
        "    if held > most:\n",
        "contested",
    ),
)
