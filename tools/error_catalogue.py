"""The error catalogue: every error that the market can answer with, one class per code.

MarketError
├── ValidationFailed      400  validation_error      the request is wrong
├── AuthenticationFailed  401  authentication_error  no valid credentials
├── PaymentProblem        402  payment_error         payment due, or a payment that is not valid (502: chain down)
├── PermissionDenied      403  permission_error      valid credentials, but not allowed
├── Missing               404  not_found             no such record for this caller
├── TakenAlready          409  conflict              already taken
├── WrongState            409  state_error           the state does not allow it
├── RateLimited           429  rate_limited          too many calls
├── NotImplementedHere    501  not_implemented       switched off here
└── OurFault              500  internal_error        a fault of the market (503: too busy)
"""

from tools.agents.errors import HandleLimit, HandleTaken, PublicKeyInUse
from tools.bounties.errors import (
    BountyClosed,
    BountyLimit,
    BountyNotOpen,
    ProposalChanged,
    ProposalFinal,
    ProposalLimit,
    ProposalNotPending,
    SellerUnavailable,
)
from tools.chain.errors import (
    ChainUnavailable,
    PaymentInvalid,
    TransactionAlreadyUsed,
    TransactionNotFound,
    TransactionPending,
)
from tools.credentials.errors import KeyLimit, LastKey
from tools.domains.errors import TooManyDomains
from tools.engine.errors import (
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
    StorageFull,
    TooBusy,
    Unauthenticated,
    UnsupportedMediaType,
)
from tools.events.schedules.errors import ScheduleDone, ScheduleLimit
from tools.events.webhooks.errors import WebhookDisabled, WebhookLimit
from tools.faucet.errors import FaucetClaimedToday, FaucetTestOnly, FaucetUnavailable
from tools.identities.errors import Erc8004LiveLinkExists, Erc8004UriMismatch
from tools.jobs.errors import (
    AlreadyReviewed,
    AlreadyVoted,
    DeadlineMissed,
    DisputeClosed,
    EvidenceOpen,
    FirstPartySelfDealing,
    InvalidTransition,
    JobLimit,
    JobNotPayable,
    JobNotSettled,
    ListingUnavailable,
    NotPaid,
    PaymentRequired,
    QuoteChanged,
    SellerBusy,
    SellerHasNoWalletAddress,
    SettleItYourself,
)
from tools.kernel.errors import ErrorCollector, MarketError
from tools.listings.errors import AcceptanceFailed, ListingArchived, ListingLimit, UpfrontRequiresTrust
from tools.memory.errors import MemoryLimit, VersionConflict
from tools.messages.errors import AwaitingReply
from tools.purchases.errors import (
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
from tools.screening.errors import ContentRejected
from tools.wallets.errors import AddressSanctioned, WalletAddressRequired, WalletSignatureInvalid

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
    "ErrorCollector",
    "EvidenceOpen",
    "FaucetClaimedToday",
    "FaucetTestOnly",
    "FaucetUnavailable",
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
