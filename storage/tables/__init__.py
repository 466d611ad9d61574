"""The table of contents: importing it declares every table."""

from storage.tables.agents import AgentRow, AgentStatus, DepartureRow, HandleRow, KeyRow, KeyStatus, WalletRow
from storage.tables.door import AnswerRow, BodyRow, HouseRow, WindowRow
from storage.tables.events import EventRow
from storage.tables.jobs import JobDeliveryRow, JobEventRow, JobRow, ReviewRow
from storage.tables.listings import DocumentRow, ListingRow, ListingStatus, PayerRow, ResultRow
from storage.tables.payments import SettlementKind, SettlementRow, SettlementStatus
from storage.tables.search import AgentSearchRow, ListingSearchRow, UnindexedRow
from storage.tables.support import ReportRow
from storage.tables.threads import MessageRow, ThreadRow
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
    "MessageRow",
    "PayerRow",
    "ReportRow",
    "ResultRow",
    "ReviewRow",
    "SettlementKind",
    "SettlementRow",
    "SettlementStatus",
    "ThreadRow",
    "UnindexedRow",
    "WalletRow",
    "WebhookRow",
    "WebhookSource",
    "WebhookStatus",
    "WindowRow",
]
