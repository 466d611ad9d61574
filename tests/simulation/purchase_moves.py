"""The moves of purchases, derived from the statuses that were seen one after another."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, or_, select

from storage.query import Query
from storage.statements import in_json_list
from storage.tables import PurchaseRow
from storage.vocabulary import PurchaseStatus
from tools.purchases.rules import NOT_SUBMITTED, UNDER_WAY, Event, Outcome

_row = PurchaseRow.__table__.c
purchases_now = Query(
    select(_row.id, _row.status, _row.reason, _row.updated_at)
    .where(or_(_row.id > bindparam("after"), in_json_list(_row.id, "ids")))
    .order_by(_row.id)
)
WRITTEN_OFF = {one.value for one in Outcome if one.event is Event.WRITE_OFF}
LAST = {
    PurchaseStatus.REFUSED: Event.REFUSE,
    PurchaseStatus.SENT: Event.SEND,
    PurchaseStatus.PAID: Event.PAY,
}


class Seen(NamedTuple):
    """A purchase at one moment."""

    id: str
    status: PurchaseStatus
    reason: str | None
    at: datetime


def events_between(before: PurchaseStatus, seen: Seen) -> Iterator[Event]:
    """Yield the events that lead from a status to the one that was seen."""
    after = seen.status
    if before is after:
        return
    if before is PurchaseStatus.CHECKING:
        yield Event.ORDER
    if before in NOT_SUBMITTED and after in UNDER_WAY | {PurchaseStatus.PAID}:
        yield Event.SUBMIT
    if after is PurchaseStatus.WORKING and before is not PurchaseStatus.CHECKING:
        yield Event.TAKE_BACK
    elif after is PurchaseStatus.SETTLING and before not in NOT_SUBMITTED:
        yield Event.DOUBT
    elif after is PurchaseStatus.CLOSED:
        yield Event.WRITE_OFF if before in UNDER_WAY or seen.reason in WRITTEN_OFF else Event.GIVE_UP
    elif after in LAST:
        yield LAST[after]
