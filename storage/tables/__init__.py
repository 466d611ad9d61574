"""The table of contents: importing it declares every table."""

from storage.tables.agents import AgentRow, AgentStatus, KeyRow, KeyStatus, WalletRow
from storage.tables.door import AnswerRow, HouseRow, WindowRow
from storage.tables.events import EventRow
from storage.tables.jobs import JobEventRow, JobRow, OpenRefundRow, ReviewRow
from storage.tables.listings import DocumentRow, ListingRow, ListingStatus, PayerRow, ResultRow
from storage.tables.memory import MemoryRow
from storage.tables.payments import SettlementKind, SettlementRow, SettlementStatus
from storage.tables.schedules import ScheduleRow, ScheduleStatus
from storage.tables.search import ListingSearchRow
from storage.tables.threads import MailboxRow, MessageRow, ThreadKind, ThreadRow

__all__ = [
    "AgentRow",
    "AgentStatus",
    "AnswerRow",
    "DocumentRow",
    "EventRow",
    "HouseRow",
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
    "ResultRow",
    "ReviewRow",
    "ScheduleRow",
    "ScheduleStatus",
    "SettlementKind",
    "SettlementRow",
    "SettlementStatus",
    "ThreadKind",
    "ThreadRow",
    "WalletRow",
    "WindowRow",
]
