"""The table of contents: importing it declares every table."""

from storage.tables.agents import AgentRow, AgentStatus, DepartureRow, HandleRow, KeyRow, KeyStatus, WalletRow
from storage.tables.door import AnswerRow, BodyRow, HouseRow, WindowRow
from storage.tables.events import EventRow
from storage.tables.jobs import JobDeliveryRow, JobEventRow, JobRow, OpenRefundRow, ReviewRow
from storage.tables.listings import DocumentRow, ListingRow, ListingStatus, PayerRow, ResultRow
from storage.tables.memory import MemoryRow
from storage.tables.payments import SettlementKind, SettlementRow, SettlementStatus
from storage.tables.schedules import ScheduleRow, ScheduleStatus
from storage.tables.search import AgentSearchRow, ListingSearchRow, UnindexedRow
from storage.tables.support import ReportRow
from storage.tables.threads import MailboxRow, MessageRow, ThreadKind, ThreadRow
from storage.tables.webhooks import (
    DeliveryRow,
    DeliveryStatus,
    FanoutRow,
    HostRow,
    WebhookRow,
    WebhookSource,
    WebhookStatus,
)

__all__ = [
    "AgentRow",
    "AgentSearchRow",
    "AgentStatus",
    "AnswerRow",
    "BodyRow",
    "DeliveryRow",
    "DeliveryStatus",
    "DepartureRow",
    "DocumentRow",
    "EventRow",
    "FanoutRow",
    "HandleRow",
    "HostRow",
    "HouseRow",
    "JobDeliveryRow",
    "JobEventRow",
    "JobRow",
    "KeyRow",
    "KeyStatus",
    "ListingRow",
    "ListingSearchRow",
    "ListingStatus",
    "MailboxRow",
    "MemoryRow",
    "MessageRow",
    "OpenRefundRow",
    "PayerRow",
    "ReportRow",
    "ResultRow",
    "ReviewRow",
    "ScheduleRow",
    "ScheduleStatus",
    "SettlementKind",
    "SettlementRow",
    "SettlementStatus",
    "ThreadKind",
    "ThreadRow",
    "UnindexedRow",
    "WalletRow",
    "WebhookRow",
    "WebhookSource",
    "WebhookStatus",
    "WindowRow",
]
