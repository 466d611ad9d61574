"""Buy and sell on an Emporion market: Market(...).buy(...) buys; @market.sells(...) and market.run() sell."""

__version__ = "0.1.0"

from emporion_client.buying import Bought
from emporion_client.errors import (
    Conflict,
    Decline,
    EmporionError,
    HomeDamaged,
    InProgress,
    InvalidRequest,
    LimitReached,
    MarketDown,
    MarketError,
    NotAllowed,
    NotDelivered,
    NotFound,
    NotFunded,
    NotSignedIn,
    PaymentDue,
    PaymentStuck,
    StillWaiting,
    TooDear,
    TooMany,
    UnexpectedAnswer,
    WrongSignature,
    WrongTerms,
)
from emporion_client.market import AsyncMarket, Market
from emporion_client.selling import Delivery, Order
from emporion_client.wallet import LocalWallet, Signer
from emporion_client.webhooks import verified

__all__ = [
    "AsyncMarket",
    "Bought",
    "Conflict",
    "Decline",
    "Delivery",
    "EmporionError",
    "HomeDamaged",
    "InProgress",
    "InvalidRequest",
    "LimitReached",
    "LocalWallet",
    "Market",
    "MarketDown",
    "MarketError",
    "NotAllowed",
    "NotDelivered",
    "NotFound",
    "NotFunded",
    "NotSignedIn",
    "Order",
    "PaymentDue",
    "PaymentStuck",
    "Signer",
    "StillWaiting",
    "TooDear",
    "TooMany",
    "UnexpectedAnswer",
    "WrongSignature",
    "WrongTerms",
    "verified",
]
