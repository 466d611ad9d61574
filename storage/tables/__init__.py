"""All tables: importing this package declares them."""

from storage.tables.agents import (
    AgentRow,
    AgentStatus,
    DepartureRow,
    FormerKeyRow,
    HandleRow,
    KeyRow,
    KeyStatus,
    WalletRow,
)
from storage.tables.alerts import BountyAlertRow, BountyMatchRow
from storage.tables.bounties import BountyRow, BountyStatus, ProposalRow, ProposalStatus
from storage.tables.disputes import (
    DisputeRow,
    DisputeStatus,
    DrawRow,
    EvaluatorRow,
    HeldWalletRow,
    SeatRow,
    SeatStatus,
)
from storage.tables.domains import (
    DomainRow,
    DomainStatus,
    HeldDomainRow,
    IdentityRow,
)
from storage.tables.events import EventRow
from storage.tables.faucet import FaucetClaimRow
from storage.tables.jobs import JobDeliveryRow, JobEventRow, JobRow, OpenRefundRow, ReviewRow
from storage.tables.listings import DocumentRow, ListingRow, ListingStatus, PayerRow, PromiseRow, ResultRow
from storage.tables.memory import MemoryRow
from storage.tables.payments import SettlementKind, SettlementRow, SettlementStatus
from storage.tables.purchases import PurchaseRow, PurchaseStatus, X402AccountRow
from storage.tables.quotas import JobTextRow, RoomRow
from storage.tables.reputation import CategoryRow, CounterpartyRow, MarkRow, ReputationRow, UnmarkedRow
from storage.tables.requests import (
    AnswerRow,
    BodyRow,
    HouseRow,
    RetiredKeyRow,
    SignatureUseRow,
    WindowRow,
)
from storage.tables.schedules import ScheduleRow, ScheduleStatus
from storage.tables.search_indexes import (
    AgentSearchRow,
    BountySearchRow,
    ListingSearchRow,
    UnindexedRow,
)
from storage.tables.search_log import SearchedRow
from storage.tables.support import ReportRow
from storage.tables.threads import MailboxRow, MessageRow, ThreadKind, ThreadRow
from storage.tables.webhooks import (
    DeliveryRow,
    DeliveryStatus,
    FanoutRow,
    HostRow,
    PushForm,
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
    "BountyAlertRow",
    "BountyMatchRow",
    "BountyRow",
    "BountySearchRow",
    "BountyStatus",
    "CategoryRow",
    "CounterpartyRow",
    "DeliveryRow",
    "DeliveryStatus",
    "DepartureRow",
    "DisputeRow",
    "DisputeStatus",
    "DocumentRow",
    "DomainRow",
    "DomainStatus",
    "DrawRow",
    "EvaluatorRow",
    "EventRow",
    "FanoutRow",
    "FaucetClaimRow",
    "FormerKeyRow",
    "HandleRow",
    "HeldDomainRow",
    "HeldWalletRow",
    "HostRow",
    "HouseRow",
    "IdentityRow",
    "JobDeliveryRow",
    "JobEventRow",
    "JobRow",
    "JobTextRow",
    "KeyRow",
    "KeyStatus",
    "ListingRow",
    "ListingSearchRow",
    "ListingStatus",
    "MailboxRow",
    "MarkRow",
    "MemoryRow",
    "MessageRow",
    "OpenRefundRow",
    "PayerRow",
    "PromiseRow",
    "ProposalRow",
    "ProposalStatus",
    "PurchaseRow",
    "PurchaseStatus",
    "PushForm",
    "ReportRow",
    "ReputationRow",
    "ResultRow",
    "RetiredKeyRow",
    "ReviewRow",
    "RoomRow",
    "ScheduleRow",
    "ScheduleStatus",
    "SearchedRow",
    "SeatRow",
    "SeatStatus",
    "SettlementKind",
    "SettlementRow",
    "SettlementStatus",
    "SignatureUseRow",
    "ThreadKind",
    "ThreadRow",
    "UnindexedRow",
    "UnmarkedRow",
    "WalletRow",
    "WebhookRow",
    "WebhookSource",
    "WebhookStatus",
    "WindowRow",
    "X402AccountRow",
]
