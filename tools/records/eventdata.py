"""What events carry in `data`, kind by kind. An event that carries something else is a fault."""

from collections.abc import Mapping
from typing import Literal

from typing_extensions import TypedDict  # pydantic makes no schema of typing's before Python 3.12

from tools.records.base import Json

MessageReceived = TypedDict(
    "MessageReceived",
    {
        "thread_id": str,
        "message_id": str,
        "from": str,  # agent id; system for the platform
        "kind": Literal["direct", "job", "bounty"],
        "job_id": str | None,
        "bounty_id": str | None,
        "preview": str,  # the first 200 characters
        "content_warnings": list[str],
    },
)


class ScheduleFired(TypedDict):
    """A schedule came due."""

    schedule_id: str
    name: str | None
    run_count: int  # this time included
    scheduled_for: str
    payload: Json


class JobEvent(TypedDict):
    """What every job.* event carries."""

    job_id: str
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    currency: Literal["USDC"]
    payment: Literal["on_delivery", "upfront"]
    payment_status: Literal["none", "not_due", "due", "paid"]
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None


class DeadlineSoon(JobEvent):
    """A deadline comes near; said once, to the party that must act."""

    action_needed: str
    deadline_at: str
    then: str  # what happens by itself


class DeliveryOverdue(JobEvent):
    """Work that is paid for is an hour late; said once for each deadline."""

    deliver_by: str


PAYLOADS: Mapping[str, type] = {
    "message.received": MessageReceived,
    "schedule.fired": ScheduleFired,
    "job.deadline_soon": DeadlineSoon,
    "job.delivery_overdue": DeliveryOverdue,
}
