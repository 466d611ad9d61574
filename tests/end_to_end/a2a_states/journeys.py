"""Journeys through the lifecycle table: together they make every move in it, so they reach every status."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from storage.vocabulary import Actor
from storage.vocabulary import JobStatus as S
from tests.support.trade import OFFER
from tools.jobs.lifecycle import MOVES, NOTICES, OPENINGS, JobMove

BUYER, SELLER, CLOCK, PANEL, OPERATOR = Actor


class Step(NamedTuple):
    """An action, its actor, and the status it leads to."""

    action: str
    by: Actor
    to: S


class Key(NamedTuple):
    """The key of a row in the lifecycle table."""

    source: S | None
    action: str
    by: Actor
    to: S


@dataclass(frozen=True)
class Journey:
    """One job: the listing's terms and every step from the first."""

    offer: dict[str, Any]
    steps: tuple[Step, ...]
    judges: int = 0  # the number of agents that have offered to judge

    @property
    def keys(self) -> list[Key]:
        sources = [None, *(step.to for step in self.steps)]
        return [Key(source, *step) for source, step in zip(sources, self.steps, strict=False)]

    @property
    def waits(self) -> bool:
        """Check whether the journey includes a timeout or a cancellation by the market itself."""
        return any(step.by is CLOCK or step == CALL_OFF for step in self.steps)

    @property
    def cancels(self) -> bool:
        return self.steps[-1].action == "cancel"


def key_of(row: JobMove) -> Key:
    return Key(row.source, row.action, row.actor, row.target)


ROWS = {key_of(row): row for row in (*OPENINGS, *MOVES, *NOTICES)}
UPFRONT: dict[str, Any] = {"payment": "upfront"}
FREE: dict[str, Any] = {"price": 0}
QUOTE: dict[str, Any] = {"pricing_model": "quote", "price": None}

ORDER = Step("order", BUYER, S.OPEN)
ASK = Step("order", BUYER, S.QUOTE_REQUESTED)
QUOTED = Step("quote", SELLER, S.QUOTED)
BEGIN = Step("accept", SELLER, S.IN_PROGRESS)
BEGIN_PAID = Step("accept", SELLER, S.AWAITING_PAYMENT)
PAY_FIRST = Step("pay", BUYER, S.IN_PROGRESS)
DELIVER = Step("deliver", SELLER, S.DELIVERED)
PAY = Step("pay", BUYER, S.DELIVERED)
TAKE = Step("accept", BUYER, S.COMPLETED)
REVISE = Step("request_revision", BUYER, S.IN_PROGRESS)
DISPUTE = Step("dispute", BUYER, S.DISPUTED)
DECLINE = Step("decline", SELLER, S.DECLINED)
REFUSE = Step("cancel", SELLER, S.DECLINED)
WITHDRAW = Step("cancel", BUYER, S.CANCELLED)
CALL_OFF = Step("call_off", OPERATOR, S.CANCELLED)
EXPIRE = Step("expire", CLOCK, S.EXPIRED)

JOURNEYS: dict[str, Journey] = {
    "bought": Journey({}, (ORDER, BEGIN, DELIVER, PAY, TAKE)),
    "delivered at once": Journey({}, (ORDER, DELIVER, PAY, TAKE)),
    "judged": Journey(
        UPFRONT,
        (ORDER, BEGIN_PAID, PAY_FIRST, DELIVER, REVISE, DELIVER, DISPUTE, Step("resolve", PANEL, S.RESOLVED)),
        judges=3,
    ),
    "ruled on": Journey(FREE, (ORDER, BEGIN, DELIVER, DISPUTE, Step("resolve", OPERATOR, S.RESOLVED))),
    "dispute withdrawn": Journey(
        FREE, (ORDER, BEGIN, DELIVER, DISPUTE, Step("withdraw_dispute", BUYER, S.COMPLETED)), judges=3
    ),
    "declined": Journey({}, (ORDER, DECLINE)),
    "refused": Journey({}, (ORDER, REFUSE)),
    "taken back": Journey({}, (ORDER, WITHDRAW)),
    "not answered": Journey({}, (ORDER, EXPIRE)),
    "asked, declined": Journey(QUOTE, (ASK, DECLINE)),
    "asked, refused": Journey(QUOTE, (ASK, REFUSE)),
    "asked, taken back": Journey(QUOTE, (ASK, WITHDRAW)),
    "asked, not answered": Journey(QUOTE, (ASK, EXPIRE)),
    "quoted, declined": Journey(QUOTE, (ASK, QUOTED, QUOTED, DECLINE)),
    "quoted, refused": Journey(QUOTE, (ASK, QUOTED, REFUSE)),
    "quoted, taken back": Journey(QUOTE, (ASK, QUOTED, WITHDRAW)),
    "quoted, not answered": Journey(QUOTE, (ASK, QUOTED, EXPIRE)),
    "given up": Journey(
        QUOTE, (ASK, QUOTED, Step("accept_quote", BUYER, S.IN_PROGRESS), Step("cancel", SELLER, S.CANCELLED))
    ),
    "paid first, declined": Journey(
        QUOTE | UPFRONT, (ASK, QUOTED, Step("accept_quote", BUYER, S.AWAITING_PAYMENT), DECLINE)
    ),
    "paid first, refused": Journey(UPFRONT, (ORDER, BEGIN_PAID, REFUSE)),
    "paid first, taken back": Journey(UPFRONT, (ORDER, BEGIN_PAID, WITHDRAW)),
    "overdue": Journey(
        UPFRONT,
        (ORDER, BEGIN_PAID, EXPIRE, PAY_FIRST, Step("remind", CLOCK, S.IN_PROGRESS), WITHDRAW),
    ),
    "never delivered": Journey(FREE, (ORDER, BEGIN, Step("fail", CLOCK, S.CANCELLED))),
    "returned": Journey(FREE, (ORDER, BEGIN, Step("return", SELLER, S.CANCELLED))),
    "returned too often": Journey(FREE, (ORDER, BEGIN, Step("return_too_often", SELLER, S.CANCELLED))),
    "left sealed": Journey({}, (ORDER, BEGIN, DELIVER, WITHDRAW)),
    "called off": Journey({}, (ORDER, CALL_OFF)),
    "called off at work": Journey({}, (ORDER, BEGIN, CALL_OFF)),
    "called off sealed": Journey({}, (ORDER, BEGIN, DELIVER, CALL_OFF)),
    "revived": Journey({}, (ORDER, BEGIN, DELIVER, EXPIRE, PAY, Step("complete", CLOCK, S.COMPLETED))),
    "won": Journey({}, (Step("award", BUYER, S.IN_PROGRESS), DELIVER, PAY)),
    "won, paid first": Journey(UPFRONT, (Step("award", BUYER, S.AWAITING_PAYMENT), PAY_FIRST)),
}


def first_seen() -> dict[str, set[int]]:
    """Return each journey's steps that no earlier journey made after the same steps."""
    found, stood = dict[str, set[int]](), set[Any]()
    for name, journey in JOURNEYS.items():
        places = {number: (repr(journey.offer), journey.steps[: number + 1]) for number in range(len(journey.steps))}
        found[name] = {number for number, place in places.items() if place not in stood}
        stood |= set(places.values())
    return found


def listed(offer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (OFFER | offer).items() if value is not None}
