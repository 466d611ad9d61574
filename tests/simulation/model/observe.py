"""Take in what callers saw, order it in time, and say which rule an answer breaks."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from math import inf
from typing import Any, NoReturn

NO_ANSWER = 0  # the status of a call whose answer never arrived; it may or may not have had its effect
FAILED = 500
REFUSED = 400
_WIDE = 500  # characters of the arguments of a call


class Rule(Enum):
    """A rule of the contract: its sentence, and the section that states it."""

    LIFECYCLE = "a status changes along the lifecycle and a final one stays (interface, States and transitions)"
    ORDER = "what was seen never goes back (interface, States and transitions)"
    CAUSE = "each move has a call of the right party, or a deadline, that made it (decisions, 3 Jobs)"
    RESULT = "a successful call shows its result (interface, Endpoints, Jobs)"
    REFUSAL = "a call is refused for its state only if the state forbade it (decisions, 3 Jobs)"
    PARTY = "only its parties see or move a job (decisions, 0 Names and settings)"
    AGREED = "a job keeps what was agreed when it was made (decisions, 3 Jobs)"
    DEADLINE = "deadlines are counted as the contract says and stay (decisions, 3 Jobs, Windows)"
    PUNCTUAL = "a deadline acts at its time, whether or not a sweep has run (decisions, 3 Jobs)"
    MOMENT = "a move's time is that of the call that made it, a deadline's its own (decisions, 3 Jobs)"
    ACTIONS = "available_actions are exactly those of the state and the role (decisions, 3 Jobs)"
    WAITING = "waiting_on names the party and the deadline of the state (decisions, 3 Jobs)"
    PAYMENT = "payment.status follows from price, state and payment (decisions, 3 Jobs)"
    PRICE = "the price is the unit price times the units, or the quote, without a fee (interface, Listing)"
    TERMS = "the terms ask for the price less what has arrived (decisions, 4 Payment and refund)"
    TRANSFER = "a transfer counts once, for one job, with one amount (decisions, 4 Payment and refund)"
    REFUND = "refund_expected is what is owed back less the refunds (decisions, 4 Payment and refund)"
    SEALED = "an unpaid output is hidden from all but the seller (decisions, Second round, Sealed means sealed)"
    DIGEST = "hash and commitment are those of the delivered output and stay (decisions, Second round)"
    DELIVERIES = "each delivery stays listed (decisions, 3 Jobs)"
    REVISIONS = "revision_count never exceeds max_revisions (interface, States and transitions)"
    REVIEW = "each party reviews a finished job once, with 1 to 5 (decisions, 3 Jobs)"
    IDEMPOTENCY = "one key, one caller, one call, one answer (decisions, 0 Idempotency)"
    REFERENCE = "one reference of a buyer names one order (decisions, Second round, P2)"
    PLACES = "orders stay within the listing's places and the buyer's share (decisions, 2 Listings)"
    LIST = "a list shows the caller's records that fit its filters, newest first (decisions, 0)"
    INBOX = "the inbox shows what waits for the caller (interface, Communication and utility)"
    BOUNTY = "a bounty is awarded, closed by its buyer or expires, once (decisions, 5 Bounties)"
    PROPOSAL = "a seller has one proposal on a bounty, seen by its parties (decisions, 5 Bounties)"
    DISPUTE = "a case goes from panel to resolved, or through the operator (decisions, 6 Disputes)"
    VOTE = "a seat votes once, votes stay secret, the tally decides (decisions, 6 Disputes)"
    COUNT = "a count in a record is the count of what happened (decisions, 2 Listings)"
    OFFERED = "x402 terms ask for the price of a first-party, priced, on_delivery listing (decisions, 9, x402)"
    PURCHASE = "a signed payment buys one job and one output, for what it says (decisions, 9, x402, and finding 1)"
    UNCHARGED = "a purchase that fails charges nothing, or what it charged is owed back (decisions, 9, x402)"
    LIVENESS = "an open thing ends by its last deadline (decisions, 3 Jobs)"


@dataclass(frozen=True, slots=True)
class Observation:
    """An answer as its caller saw it.

    `status` is the HTTP status, or NO_ANSWER if none arrived. `began` and `ended` are the simulated clock's. `after` is
    the number of answers that were observed before the call began; None leaves the order to the clock.
    """

    number: int
    agent: str | None
    env: str
    operation: str
    arguments: Mapping[str, Any]
    idempotency_key: str | None
    status: int
    body: Any
    began: datetime
    ended: datetime
    after: int | None = None

    @property
    def succeeded(self) -> bool:
        return NO_ANSWER < self.status < REFUSED

    @property
    def asks_for_payment(self) -> bool:
        return isinstance(self.body, dict) and self.body.get("object") == "payment_terms"

    @property
    def unknown(self) -> bool:
        """Say if the call may have had its effect although its caller saw no result."""
        return self.status == NO_ANSWER or (
            self.status >= FAILED and self.code not in ("chain_unavailable", "overloaded")
        )

    @property
    def error(self) -> Mapping[str, Any]:
        found = self.body.get("error") if isinstance(self.body, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def code(self) -> str | None:
        return self.error.get("code")

    def __str__(self) -> str:
        answer = self.code or (self.body.get("status") if isinstance(self.body, dict) else None)
        call = f"{self.operation} {str(dict(self.arguments))[:_WIDE]} by {self.agent} on {self.env}"
        return f"answer #{self.number}: {call} at {self.ended} by the market's clock → {self.status} {answer}"


class Violation(AssertionError):
    """An answer that no legal order of the calls explains."""

    def __init__(self, rule: Rule, message: str, seen: Observation | None, subject: str | None) -> None:
        super().__init__(f"{rule.name}: {message} [{subject}]\n  rule: {rule.value}\n  {seen}")
        self.rule, self.message, self.observation, self.subject = rule, message, seen, subject


@dataclass(frozen=True, slots=True)
class Span:
    """The bounds of a call's moment of effect: answers observed before and after it, and times.

    The earliest time is rounded down to milliseconds, as the times in records are, so that both can be compared.
    """

    low: float
    high: float
    began: datetime
    ended: datetime

    def precedes(self, other: "Span") -> bool:
        """Say if this call ended before the other began."""
        return self.high <= other.low

    def may_precede(self, other: "Span") -> bool:
        return self.low < other.high


@dataclass(slots=True)
class Sight:
    """One answer with its span; it fails a rule in the answer's name."""

    seen: Observation
    span: Span

    def fail(self, rule: Rule, message: str, subject: str | None = None) -> NoReturn:
        raise Violation(rule, message, self.seen, subject)

    def check(self, holds: bool, rule: Rule, message: str, subject: str | None = None) -> None:
        if not holds:
            self.fail(rule, message, subject)

    @property
    def lost(self) -> Span:
        """Return the span of an effect without a known end."""
        return Span(self.span.low, inf, self.span.began, datetime.max.replace(tzinfo=self.span.ended.tzinfo))


class Order:
    """Positions of answers in the order of their observation."""

    def __init__(self) -> None:
        self.ends: list[datetime] = []

    def span(self, seen: Observation) -> Span:
        low = bisect_left(self.ends, seen.began) if seen.after is None else seen.after
        last = self.ends[-1] if self.ends else seen.ended
        self.ends.append(max(seen.ended, last))
        return Span(low, len(self.ends), in_milliseconds(seen.began), seen.ended)


@dataclass(slots=True)
class Doubts:
    """Judgements that wait until each call that was in flight beside them has been observed.

    `oldest` returns how many answers had been observed when the oldest call in flight began. Without it a
    judgement waits for `grace` of simulated time.
    """

    grace: timedelta
    oldest: Callable[[], float] | None = None
    waiting: deque[tuple[Span, Callable[[], None]]] = field(default_factory=deque)

    def add(self, span: Span, judge: Callable[[], None]) -> None:
        self.waiting.append((span, judge))

    def settle(self, now: datetime) -> None:
        """Judge what can no longer change. Raises Violation."""
        bound = self.oldest() if self.oldest else None
        while self.waiting and self._ripe(self.waiting[0][0], now, bound):
            self.waiting.popleft()[1]()

    def _ripe(self, span: Span, now: datetime, bound: float | None) -> bool:
        return span.high <= bound if bound is not None else span.ended + self.grace < now


@dataclass(frozen=True, slots=True)
class Contract:
    """The numbers of the contract, as a market is configured."""

    pay_seconds: Mapping[str, int] = field(default_factory=lambda: {"live": 259_200, "test": 900})
    review_seconds: Mapping[str, int] = field(default_factory=lambda: {"live": 259_200, "test": 900})
    verdict_seconds: Mapping[str, int] = field(default_factory=lambda: {"live": 86_400, "test": 600})
    grace_seconds: int = 3_600  # after deliver_by and after pay_by
    unfinished_jobs: int = 100
    open_bounties: int = 20
    counted_minor: int = 10_000  # the least payment that counts
    rounds: int = 2
    clock_seconds: float = 0.0  # by which two clocks of the market, or one before and after it is set, differ at most
    usdc: Mapping[str, tuple[str, str]] = field(
        default_factory=lambda: {
            "live": ("eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
            "test": ("eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"),
        }
    )


def at(text: Any) -> Any:
    """Read a timestamp of a record: a datetime, or None if there is none."""
    return None if text is None else datetime.fromisoformat(text)


def in_milliseconds(moment: datetime) -> datetime:
    """Round a time down to milliseconds, as records show it."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def later(moment: datetime, seconds: float) -> datetime:
    return moment + timedelta(seconds=seconds)
