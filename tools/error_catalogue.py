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
from tools.jobs.disputes.errors import AlreadyVoted, DeadlineMissed, DisputeClosed, EvidenceOpen
from tools.jobs.errors import (
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
from tools.jobs.payments.errors import JobNotPayable, NotPaid, PaymentRequired, SettleItYourself
from tools.kernel.errors import Faults, MarketError
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
