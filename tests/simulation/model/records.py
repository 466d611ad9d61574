"""Check one job record by itself: what each state shows to each party, without any history."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import pairwise
from typing import Any

import rfc8785

from tests.simulation.model.lifecycle import ACTIONS, BUYER, SELLER, WAITS, kind, reviewable, state_of
from tests.simulation.model.observe import Contract, Rule, Sight, at, later

_SIZE_STEP = 1_024  # a sealed output's size is rounded up to this


@dataclass(slots=True)
class View:
    """A job record as one party sees it."""

    record: Any
    sight: Sight
    contract: Contract
    state: str
    kind: str
    purchased: bool  # by a client without an account

    @staticmethod
    def of(record: Any, sight: Sight, contract: Contract, *, purchased: bool) -> "View":
        state = state_of(record)
        return View(record, sight, contract, state, kind(state), purchased)

    @property
    def role(self) -> str:
        return str(self.record["role"])

    @property
    def sealed(self) -> bool:
        """Say if the output must be hidden: delivered, priced, to be paid on delivery, and not paid."""
        record = self.record
        unpaid = record["payment"]["paid_at"] is None and record["payment"]["timing"] == "on_delivery"
        return record["delivered_at"] is not None and bool(record["price"]) and unpaid

    @property
    def revivable(self) -> bool | None:
        """Say if an unpaid job can still be paid.

        It is None if that changes during the call, or if money was sent back.
        """
        if self.record["refund"]:
            return None
        return self.before(later(at(self.record["deadlines"]["pay_by"]), self.contract.grace_seconds))

    def before(self, moment: datetime) -> bool | None:
        """Say if the call came before a moment; None if the moment lies within the call."""
        span = self.sight.span
        return True if span.ended < moment else False if span.began > moment else None

    def check(self, holds: bool, rule: Rule, message: str) -> None:
        if not holds:
            self.sight.fail(rule, message, self.record["id"])


def party(view: View) -> None:
    agent = view.sight.seen.agent
    view.check(view.record["env"] == view.sight.seen.env, Rule.PARTY, "the job is of the other environment")
    view.check(view.role in (BUYER, SELLER), Rule.PARTY, f"there is no role {view.role}")
    view.check(view.record[view.role]["id"] == agent, Rule.PARTY, f"the caller is not its {view.role}")


def revisions(view: View) -> None:
    used, most = view.record["revision_count"], view.record["max_revisions"]
    view.check(0 <= used <= most, Rule.REVISIONS, f"{used} revisions of {most}")


def payment_status(view: View) -> None:
    record, paid = view.record, view.record["payment"]
    allowed = {"due", "not_due"}
    if record["price"] is None:
        allowed = {"not_due"}
    elif not record["price"]:
        allowed = {"none"}
    elif paid["paid_at"]:
        allowed = {"paid"}
    elif view.kind in ("awaiting_payment", "sealed"):
        allowed = {"due"}
    elif view.kind not in ("unpaid", "unpaid_sealed"):
        allowed = {"not_due"}
    elif view.revivable is not None:
        allowed = {"due" if view.revivable else "not_due"}
    view.check(paid["status"] in allowed, Rule.PAYMENT, f"payment.status is {paid['status']}, not {sorted(allowed)}")


def amounts(view: View) -> None:
    record, paid = view.record, view.record["payment"]
    price = record["price"]
    view.check(paid["amount"] == price, Rule.PRICE, f"payment.amount {paid['amount']} is not the price {price}")
    view.check(
        price is None or price == 0 or paid["display"] == display(price),
        Rule.PRICE,
        f"{paid['display']} is not {price}",
    )
    owed = record["refund_expected"]
    view.check(
        record["refund_due"] == bool(owed), Rule.REFUND, f"refund_due {record['refund_due']} with {owed} expected"
    )
    inside = (paid["refund_due"], paid["refund_expected"], paid["refund"])
    outside = (record["refund_due"], owed, record["refund"])
    view.check(inside == outside, Rule.REFUND, "the refund inside payment differs from the one outside")


def display(minor: int) -> str:
    return f"{minor // 1_000_000}.{minor % 1_000_000:06d} USDC"


def agreed_before_work(view: View) -> None:
    """Check that work which is paid upfront has been paid, and that nothing unpaid is revealed."""
    record, priced = view.record, bool(view.record["price"])
    paid, upfront = record["payment"]["paid_at"], record["payment"]["timing"] == "upfront"
    if priced and (view.kind == "revealed" or view.kind in ("disputed", "completed", "resolved")):
        view.check(bool(paid), Rule.SEALED, f"{view.kind} without a payment")
    if view.kind == "in_progress" and upfront and priced:
        view.check(bool(paid), Rule.LIFECYCLE, "upfront work has begun without a payment")
    if view.kind == "awaiting_payment":
        view.check(upfront and priced, Rule.LIFECYCLE, "only a priced upfront job awaits its payment")
    if view.kind in ("quote_requested", "quoted"):
        view.check(record["price"] is None, Rule.PRICE, "a price is agreed before the quote is accepted")
    view.check((record["quoted_price"] is not None) or view.kind != "quoted", Rule.PRICE, "quoted without a price")


def deadlines(view: View) -> None:
    """Check the deadlines that follow from the record's own moments."""
    record, env = view.record, view.record["env"]
    due, stamps = record["deadlines"], {name: at(record[f"{name}_at"]) for name in ("created", "accepted", "delivered")}
    paid_at = at(record["payment"]["paid_at"])
    if view.kind == "awaiting_payment":
        exact(view, "pay_by", later(stamps["accepted"], view.contract.pay_seconds[env]))
    if view.kind == "sealed" and not view.purchased:
        exact(view, "pay_by", later(stamps["delivered"], view.contract.review_seconds[env]))
    if view.kind == "revealed":
        shown = _latest(view, [one for one in (stamps["delivered"], paid_at) if one])
        exact(view, "review_by", *(later(one, view.contract.review_seconds[env]) for one in shown))
    view.check(due["pay_by"] == record["payment"]["pay_by"], Rule.DEADLINE, "pay_by differs inside payment")
    times = [one for one in (stamps["created"], stamps["accepted"], stamps["delivered"]) if one]
    ordered = all(one <= later(other, view.contract.clock_seconds) for one, other in pairwise(times))
    view.check(ordered, Rule.DEADLINE, "created, accepted and delivered are out of order")


def _latest(view: View, moments: list[datetime]) -> list[datetime]:
    """Return the moments that may have been the last one, as far as clocks differ."""
    return [one for one in moments if max(moments) <= later(one, view.contract.clock_seconds)]


def exact(view: View, name: str, *moments: datetime) -> None:
    found = view.record["deadlines"][name]
    view.check(found is not None and at(found) in moments, Rule.DEADLINE, f"{name} is {found}, not {moments}")


def due_of(view: View) -> datetime | None:
    """Return when the clock ends this state, or None."""
    found, state = view.record["deadlines"], view.kind
    if state == "in_progress":
        paid = view.record["payment"]["paid_at"]
        return None if paid else later(at(found["deliver_by"]), view.contract.grace_seconds)
    return at(found[WAITS[state][1]]) if state in WAITS else None


def punctual(view: View) -> None:
    due = due_of(view)
    view.check(
        due is None or view.before(due) is not False, Rule.PUNCTUAL, f"{view.state} is shown after its end at {due}"
    )


def waiting(view: View) -> None:
    if view.kind not in WAITS:
        return
    who, name = WAITS[view.kind]
    found = view.record["waiting_on"] or {}
    expected = (who, view.record["deadlines"][name])
    shown = (found.get("who"), found.get("until"))
    view.check(shown == expected, Rule.WAITING, f"waiting_on {shown}, not {expected}")


def actions(view: View) -> None:
    found = view.record["available_actions"]
    needed, allowed = expected_actions(view)
    view.check(len(found) == len(set(found)), Rule.ACTIONS, f"{found} names one twice")
    view.check(
        needed <= set(found), Rule.ACTIONS, f"as {view.role} in {view.state}: {sorted(needed - set(found))} is missing"
    )
    view.check(
        set(found) <= allowed,
        Rule.ACTIONS,
        f"as {view.role} in {view.state}: {sorted(set(found) - allowed)} is too much",
    )


def expected_actions(view: View) -> tuple[set[str], set[str]]:
    """Return the actions that must be offered, and those that may be."""
    needed = set(ACTIONS.get(view.role, {}).get(view.kind, ()))
    maybe = {"message"} | ({"review"} if reviewable(view.state) else set())
    if view.role == SELLER:
        needed |= {"refund"} if view.record["refund_due"] else set()
        if view.kind == "open":
            (needed if view.record["payment"]["timing"] == "on_delivery" else maybe).add("deliver")
        return needed, needed | maybe
    if view.kind == "revealed" and view.record["revision_count"] < view.record["max_revisions"]:
        needed.add("request_revision")
    if view.kind == "disputed":
        maybe.add("withdraw_dispute")
    timed(view, needed, maybe)
    return needed, needed | maybe


def timed(view: View, needed: set[str], maybe: set[str]) -> None:
    """Add the buyer's actions that a time opens or closes."""
    if view.kind == "in_progress":
        early = view.before(later(at(view.record["deadlines"]["deliver_by"]), view.contract.grace_seconds))
        if early is not True:
            (maybe if early is None else needed).add("cancel")
    if view.kind in ("unpaid", "unpaid_sealed") and view.revivable is not False:
        (needed if view.revivable else maybe).add("pay")


def sealing(view: View) -> None:
    record = view.record
    view.check(record["output_sealed"] == view.sealed, Rule.SEALED, f"output_sealed is {record['output_sealed']}")
    shown = [record["output_salt"]] + [one["output_salt"] for one in record["deliveries"]]
    if view.sealed:
        view.check(view.role == SELLER or record["output"] is None, Rule.SEALED, "the buyer sees the output")
        if view.role == BUYER:
            shown += [record["output_hash"]] + [one["output_hash"] for one in record["deliveries"]]
            rounded = record["output_bytes"] is None or record["output_bytes"] % _SIZE_STEP == 0
            view.check(rounded, Rule.SEALED, f"the exact size {record['output_bytes']} is shown")
        view.check(not any(shown), Rule.SEALED, f"the {view.role} sees a hash or salt")
    if record["delivered_at"] is None:
        given = (record["output"], record["output_hash"], record["output_commitment"], record["output_bytes"])
        view.check(given == (None,) * 4 and not record["deliveries"], Rule.SEALED, "an output before its delivery")


def digests(view: View) -> None:
    record = view.record
    if record["delivered_at"] is None or record.get("archived_at"):
        return
    view.check(bool(record["output_commitment"]), Rule.DIGEST, "a delivery without a commitment")
    if view.sealed:
        view.check(view.role == BUYER or bool(record["output_hash"]), Rule.DIGEST, "the seller misses its hash")
        return
    view.check(matches(record), Rule.DIGEST, "output, hash, salt, commitment and size do not fit")


def matches(record: Any) -> bool:
    """Say if a revealed record's hash, commitment and size are those of its output."""
    canonical = rfc8785.dumps(record["output"])
    commitment = sha256(bytes.fromhex(record["output_salt"] or "") + canonical).hexdigest()
    made = (sha256(canonical).hexdigest(), f"sha256:{commitment}", len(canonical))
    return made == (record["output_hash"], record["output_commitment"], record["output_bytes"])


RECORD_RULES: tuple[Callable[[View], None], ...] = (
    party,
    revisions,
    punctual,
    payment_status,
    amounts,
    agreed_before_work,
    deadlines,
    waiting,
    actions,
    sealing,
    digests,
)
