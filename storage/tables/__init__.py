"""All tables: importing this package declares them."""

from storage.tables.agents import AgentRow, DepartureRow, FormerKeyRow, HandleRow, KeyRow, WalletRow
from storage.tables.alerts import BountyAlertRow, BountyMatchRow
from storage.tables.bounties import BountyRow, ProposalRow
from storage.tables.disputes import DisputeRow, DrawRow, EvaluatorRow, HeldWalletRow, SeatRow
from storage.tables.domains import DomainRow, HeldDomainRow, IdentityRow
from storage.tables.events import EventRow
from storage.tables.faucet import FaucetClaimRow
from storage.tables.jobs import JobDeliveryRow, JobEventRow, JobRow, OpenRefundRow, ReviewRow
from storage.tables.listings import DocumentRow, ListingRow, PayerRow, PromiseRow, ResultRow
from storage.tables.memory import MemoryRow
from storage.tables.payments import SettlementRow
from storage.tables.purchases import PurchaseRow, X402AccountRow
from storage.tables.quotas import JobTextRow, RoomRow
from storage.tables.reputation import CategoryRow, CounterpartyRow, MarkRow, ReputationRow, UnmarkedRow
from storage.tables.requests import AnswerRow, BodyRow, HouseRow, RetiredKeyRow, SignatureUseRow, WindowRow
from storage.tables.schedules import ScheduleRow
from storage.tables.search_indexes import AgentSearchRow, BountySearchRow, ListingSearchRow, UnindexedRow
from storage.tables.search_log import SearchedRow
from storage.tables.support import ReportRow
from storage.tables.threads import MailboxRow, MessageRow, ThreadRow
from storage.tables.webhooks import DeliveryRow, FanoutRow, HostRow, WebhookRow

__all__ = [
    "AgentRow",
    "AgentSearchRow",
    "AnswerRow",
    "BodyRow",
    "BountyAlertRow",
    "BountyMatchRow",
    "BountyRow",
    "BountySearchRow",
    "CategoryRow",
    "CounterpartyRow",
    "DeliveryRow",
    "DepartureRow",
    "DisputeRow",
    "DocumentRow",
    "DomainRow",
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
    "ListingRow",
    "ListingSearchRow",
    "MailboxRow",
    "MarkRow",
    "MemoryRow",
    "MessageRow",
    "OpenRefundRow",
    "PayerRow",
    "PromiseRow",
    "ProposalRow",
    "PurchaseRow",
    "ReportRow",
    "ReputationRow",
    "ResultRow",
    "RetiredKeyRow",
    "ReviewRow",
    "RoomRow",
    "ScheduleRow",
    "SearchedRow",
    "SeatRow",
    "SettlementRow",
    "SignatureUseRow",
    "ThreadRow",
    "UnindexedRow",
    "UnmarkedRow",
    "WalletRow",
    "WebhookRow",
    "WindowRow",
    "X402AccountRow",
]
