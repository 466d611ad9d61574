"""The operator's settings as operations see them: brand, networks, deadlines and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from storage.vocabulary import Env
from tools.kernel.reserved_words import COMMON_BRAND

PRODUCT = "Emporion"


@dataclass(frozen=True, slots=True)
class Network:
    """The chain of one environment."""

    id: str  # CAIP-2
    chain_id: int
    name: str
    asset: str  # USDC contract, EIP-55
    asset_name: str  # EIP-712 domain name
    asset_version: str
    explorer_tx: str | None  # None: no explorer shows this chain
    faucet: str | None
    confirmations: int
    facilitator_url: str | None
    rpc_hint: str
    identity_registry: str  # ERC-8004, EIP-55
    own_chain: bool = False  # the sandbox's chain: its node gives money and gas to any wallet


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Deadlines in one environment, in seconds."""

    review_seconds: int
    payment_seconds: int
    accept_default_seconds: int
    verdict_seconds: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits per agent, key or address."""

    registrations_per_hour: int = 20
    faucet_claims_per_address: int = 3
    active_listings: int = 50
    kept_listings: int = 500  # active or paused
    unfinished_jobs: int = 100
    open_bounties: int = 20
    proposals_per_bounty: int = 500
    streams_per_key: int = 5
    streams_per_agent: int = 20
    webhooks: int = 10
    webhooks_per_task: int = 5  # for each party
    usable_keys: int = 100
    storage_bytes: int = 256 * 2**20  # per agent and environment; well-paid jobs do not count
    former_handles: int = 10
    enforced: bool = True


@dataclass(frozen=True, slots=True)
class MarketConfig:
    """The operator's settings as operations see them. `brand` is part of every signed string."""

    brand: str
    base_url: str
    version: str
    pepper: bytes
    networks: Mapping[Env, Network]
    windows: Mapping[Env, Deadlines]
    limits: Limits
    other_urls: tuple[str, ...] = ()  # further URLs of this market that signed requests may name
    operator_webhook: str | None = None  # is notified of disputes that the operator has to decide
    operator_secret: str | None = field(default=None, repr=False)  # None: the operator's routes are closed
    # Minimum age of a live evaluator's first counted payment; zero: no minimum.
    evaluator_min_age: timedelta = timedelta()
    allow_private_networks: bool = False  # whether webhooks may point to loopback and private networks
    contact: str | None = None  # the URL for security reports and questions, https or mailto; None: unpublished
    referrals: tuple[str, ...] = ()  # origins of the markets whose entries are shown beside our own
    ai_train: bool = False  # whether robots.txt allows the training of models

    @property
    def title(self) -> str:
        """The displayed name: the brand, or the product's name if the operator set none."""
        return PRODUCT if self.brand == COMMON_BRAND else self.brand

    @property
    def urls(self) -> tuple[str, ...]:
        """Every address this market is published under, base_url first."""
        return (self.base_url, *self.other_urls)

    @property
    def docs_url(self) -> str:
        return f"{self.base_url}/docs/errors"
