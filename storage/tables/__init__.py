"""All tables: importing this package declares them."""

from storage.tables.agents import (
    AgentRow,
    DepartureRow,
    DomainRow,
    FormerKeyRow,
    HandleRow,
    HeldDomainRow,
    IdentityRow,
    KeyRow,
    WalletRow,
)
from storage.tables.archives import ArchivedJobRow, ArchiveRow
from storage.tables.bounties import BountyAlertRow, BountyMatchRow, BountyRow, ProposalRow
from storage.tables.daily import DailyCountRow
from storage.tables.disputes import DisputeRow, DrawRow, EvaluatorRow, HeldWalletRow, SeatRow
from storage.tables.events import DeliveryRow, EventRow, FanoutRow, HostSlotRow, ScheduleRow, WebhookRow
from storage.tables.jobs import JobDeliveryRow, JobEventRow, JobRow, OpenRefundRow, ReviewRow
from storage.tables.listings import DocumentRow, JobResultRow, ListingPayerRow, ListingRow, ListingTermsRow
from storage.tables.messages import MessageRow, ReportRow, ThreadRow, UnreadRow
from storage.tables.payments import FaucetClaimRow, PaymentSearchRow, PurchaseRow, SettlementRow, X402AccountRow
from storage.tables.peers import PeerCatalogRow
from storage.tables.quotas import JobTextRow, MemoryRow, RoomRow
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
from storage.tables.search import AgentSearchRow, BountySearchRow, ListingSearchRow, SearchedRow, UnindexedRow
