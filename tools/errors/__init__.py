"""The error catalogue: every refusal the market can answer with, one class per code.

MarketError
├── ValidationFailed      400  validation_error      the request is wrong
├── AuthenticationFailed  401  authentication_error  who are you
├── PaymentProblem        402  payment_error         terms, or a payment that does not hold (502: chain down)
├── PermissionDenied      403  permission_error      known, but not allowed
├── Missing               404  not_found             no such thing for you
├── TakenAlready          409  conflict              somebody else holds it
├── WrongState            409  state_error           not now
├── RateLimited           429  rate_limited          too fast
├── NotImplementedHere    501  not_implemented       switched off here
└── OurFault              500  internal_error        our side (503: too busy)
"""

from tools.errors.agents import HandleLimit, HandleTaken, PublicKeyInUse
from tools.errors.base import Faults, MarketError
from tools.errors.bounties import (
    BountyClosed,
    BountyLimit,
    BountyNotOpen,
    ProposalChanged,
    ProposalFinal,
    ProposalLimit,
    ProposalNotPending,
    SellerUnavailable,
)
from tools.errors.chain import (
    ChainUnavailable,
    PaymentInvalid,
    TransactionAlreadyUsed,
    TransactionNotFound,
    TransactionPending,
)
from tools.errors.credentials import KeyLimit, LastKey
from tools.errors.disputes import AlreadyVoted, DeadlineMissed, DisputeClosed, EvidenceOpen
from tools.errors.domains import TooManyDomains
from tools.errors.door import (
    Forbidden,
    HeadersTooLarge,
    HostNotAllowed,
    IdempotencyKeyReused,
    InputSchemaMismatch,
    InternalError,
    InvalidCursor,
    InvalidIdempotencyKey,
    InvalidRequest,
    MalformedJson,
    MethodNotAllowed,
    NotFound,
    NotImplementedHere,
    OriginNotAllowed,
    OutputSchemaMismatch,
    PayloadTooLarge,
    RateLimited,
    RouteNotFound,
    SchemaTooExpensive,
    TooBusy,
    Unauthenticated,
    UnsupportedMediaType,
)
from tools.errors.faucet import FaucetClaimedToday, FaucetTestOnly, FaucetUnavailable
from tools.errors.identities import Erc8004LiveLinkExists, Erc8004UriMismatch
from tools.errors.jobs import (
    AlreadyReviewed,
    FirstPartySelfDealing,
    InvalidTransition,
    JobLimit,
    JobNotSettled,
    ListingUnavailable,
    QuoteChanged,
    SellerBusy,
    SellerHasNoWalletAddress,
)
from tools.errors.listings import AcceptanceFailed, ListingArchived, ListingLimit, UpfrontRequiresTrust
from tools.errors.memory import MemoryLimit, VersionConflict
from tools.errors.messages import AwaitingReply
from tools.errors.payments import JobNotPayable, NotPaid, PaymentRequired, SettleItYourself
from tools.errors.purchases import (
    AlreadyClaimed,
    BuyerNotActive,
    X402AuthorizationInUse,
    X402AuthorizationUsed,
    X402FirstPartyOnly,
    X402InsufficientFunds,
    X402NeedsAPrice,
    X402NotDelivered,
    X402SettleFailed,
    X402Timeout,
    X402UpfrontNotSupported,
)
from tools.errors.quotas import StorageFull
from tools.errors.schedules import ScheduleDone, ScheduleLimit
from tools.errors.screening import ContentRejected
from tools.errors.wallets import AddressSanctioned, WalletAddressRequired, WalletSignatureInvalid
from tools.errors.webhooks import WebhookDisabled, WebhookLimit

__all__ = [
    "AcceptanceFailed",
    "AddressSanctioned",
    "AlreadyClaimed",
    "AlreadyReviewed",
    "AlreadyVoted",
    "AwaitingReply",
    "BountyClosed",
    "BountyLimit",
    "BountyNotOpen",
    "BuyerNotActive",
    "ChainUnavailable",
    "ContentRejected",
    "DeadlineMissed",
    "DisputeClosed",
    "Erc8004LiveLinkExists",
    "Erc8004UriMismatch",
    "EvidenceOpen",
    "FaucetClaimedToday",
    "FaucetTestOnly",
    "FaucetUnavailable",
    "Faults",
    "FirstPartySelfDealing",
    "Forbidden",
    "HandleLimit",
    "HandleTaken",
    "HeadersTooLarge",
    "HostNotAllowed",
    "IdempotencyKeyReused",
    "InputSchemaMismatch",
    "InternalError",
    "InvalidCursor",
    "InvalidIdempotencyKey",
    "InvalidRequest",
    "InvalidTransition",
    "JobLimit",
    "JobNotPayable",
    "JobNotSettled",
    "KeyLimit",
    "LastKey",
    "ListingArchived",
    "ListingLimit",
    "ListingUnavailable",
    "MalformedJson",
    "MarketError",
    "MemoryLimit",
    "MethodNotAllowed",
    "NotFound",
    "NotImplementedHere",
    "NotPaid",
    "OriginNotAllowed",
    "OutputSchemaMismatch",
    "PayloadTooLarge",
    "PaymentInvalid",
    "PaymentRequired",
    "ProposalChanged",
    "ProposalFinal",
    "ProposalLimit",
    "ProposalNotPending",
    "PublicKeyInUse",
    "QuoteChanged",
    "RateLimited",
    "RouteNotFound",
    "ScheduleDone",
    "ScheduleLimit",
    "SchemaTooExpensive",
    "SellerBusy",
    "SellerHasNoWalletAddress",
    "SellerUnavailable",
    "SettleItYourself",
    "StorageFull",
    "TooBusy",
    "TooManyDomains",
    "TransactionAlreadyUsed",
    "TransactionNotFound",
    "TransactionPending",
    "Unauthenticated",
    "UnsupportedMediaType",
    "UpfrontRequiresTrust",
    "VersionConflict",
    "WalletAddressRequired",
    "WalletSignatureInvalid",
    "WebhookDisabled",
    "WebhookLimit",
    "X402AuthorizationInUse",
    "X402AuthorizationUsed",
    "X402FirstPartyOnly",
    "X402InsufficientFunds",
    "X402NeedsAPrice",
    "X402NotDelivered",
    "X402SettleFailed",
    "X402Timeout",
    "X402UpfrontNotSupported",
]
