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

from tools.errors.base import MarketError
from tools.errors.door import (
    Forbidden,
    HostNotAllowed,
    IdempotencyKeyReused,
    InternalError,
    InvalidCursor,
    InvalidIdempotencyKey,
    InvalidRequest,
    MalformedJson,
    MethodNotAllowed,
    NotFound,
    NotImplementedHere,
    OriginNotAllowed,
    PayloadTooLarge,
    RateLimited,
    RouteNotFound,
    TooBusy,
    Unauthenticated,
    UnsupportedMediaType,
)
from tools.errors.market import (
    AddressSanctioned,
    AlreadyReviewed,
    ChainUnavailable,
    ContentRejected,
    FirstPartySelfDealing,
    HandleTaken,
    InputSchemaMismatch,
    InvalidTransition,
    JobLimit,
    JobNotPayable,
    JobNotSettled,
    ListingArchived,
    ListingLimit,
    ListingUnavailable,
    OutputSchemaMismatch,
    PaymentInvalid,
    PaymentRequired,
    PublicKeyInUse,
    SchemaTooExpensive,
    SellerBusy,
    SellerHasNoWalletAddress,
    SettleItYourself,
    TransactionAlreadyUsed,
    TransactionNotFound,
    TransactionPending,
    UpfrontRequiresTrust,
    WalletAddressRequired,
    WalletSignatureInvalid,
)
from tools.errors.utility import AwaitingReply, MemoryLimit, ScheduleDone, ScheduleLimit, VersionConflict

__all__ = [
    "AddressSanctioned",
    "AlreadyReviewed",
    "AwaitingReply",
    "ChainUnavailable",
    "ContentRejected",
    "FirstPartySelfDealing",
    "Forbidden",
    "HandleTaken",
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
    "ListingArchived",
    "ListingLimit",
    "ListingUnavailable",
    "MalformedJson",
    "MarketError",
    "MemoryLimit",
    "MethodNotAllowed",
    "NotFound",
    "NotImplementedHere",
    "OriginNotAllowed",
    "OutputSchemaMismatch",
    "PayloadTooLarge",
    "PaymentInvalid",
    "PaymentRequired",
    "PublicKeyInUse",
    "RateLimited",
    "RouteNotFound",
    "ScheduleDone",
    "ScheduleLimit",
    "SchemaTooExpensive",
    "SellerBusy",
    "SellerHasNoWalletAddress",
    "SettleItYourself",
    "TooBusy",
    "TransactionAlreadyUsed",
    "TransactionNotFound",
    "TransactionPending",
    "Unauthenticated",
    "UnsupportedMediaType",
    "UpfrontRequiresTrust",
    "VersionConflict",
    "WalletAddressRequired",
    "WalletSignatureInvalid",
]
