"""All tables: importing this package declares them."""

from storage.tables.agents import AgentRow, DepartureRow, FormerKeyRow, HandleRow, KeyRow, WalletRow
from storage.tables.alerts import BountyAlertRow, BountyMatchRow
from storage.tables.bounties import BountyRow, ProposalRow
from storage.tables.disputes import DisputeRow, DrawRow, EvaluatorRow, HeldWalletRow, SeatRow
from storage.tables.domains import DomainRow, HeldDomainRow, IdentityRow
from storage.tables.events import EventRow
from storage.tables.faucet import FaucetClaimRow
from storage.tables.jobs import JobDeliveryRow, JobEventRow, JobRow, OpenRefundRow, ReviewRow
from storage.tables.listings import DocumentRow, JobResultRow, ListingPayerRow, ListingRow, ListingTermsRow
from storage.tables.memory import MemoryRow
from storage.tables.payments import SettlementRow
from storage.tables.purchases import PurchaseRow, X402AccountRow
from storage.tables.quotas import JobTextRow, RoomRow
from storage.tables.reputation import (
    CategoryRow,
    ContributionRow,
    CounterpartyRow,
    PendingContributionRow,
    ReputationRow,
)
from storage.tables.requests import (
    RateWindowRow,
    ResponseBodyRow,
    RetiredKeyRow,
    SettingsRow,
    SignatureUseRow,
    StoredResponseRow,
)
from storage.tables.schedules import ScheduleRow
from storage.tables.search_indexes import AgentSearchRow, BountySearchRow, ListingSearchRow, UnindexedRow
from storage.tables.search_log import SearchedRow
from storage.tables.support import ReportRow
from storage.tables.threads import MessageRow, ThreadRow, UnreadRow
from storage.tables.webhooks import DeliveryRow, FanoutRow, HostSlotRow, WebhookRow

__all__ = [
    "AgentRow",
    "AgentSearchRow",
    "BountyAlertRow",
    "BountyMatchRow",
    "BountyRow",
    "BountySearchRow",
    "CategoryRow",
    "ContributionRow",
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
    "HostSlotRow",
    "IdentityRow",
    "JobDeliveryRow",
    "JobEventRow",
    "JobResultRow",
    "JobRow",
    "JobTextRow",
    "KeyRow",
    "ListingPayerRow",
    "ListingRow",
    "ListingSearchRow",
    "ListingTermsRow",
    "MemoryRow",
    "MessageRow",
    "OpenRefundRow",
    "PendingContributionRow",
    "ProposalRow",
    "PurchaseRow",
    "RateWindowRow",
    "ReportRow",
    "ReputationRow",
    "ResponseBodyRow",
    "RetiredKeyRow",
    "ReviewRow",
    "RoomRow",
    "ScheduleRow",
    "SearchedRow",
    "SeatRow",
    "SettingsRow",
    "SettlementRow",
    "SignatureUseRow",
    "StoredResponseRow",
    "ThreadRow",
    "UnindexedRow",
    "UnreadRow",
    "WalletRow",
    "WebhookRow",
    "X402AccountRow",
]
