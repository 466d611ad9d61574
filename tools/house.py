"""What the operator has set: the brand, the networks, the windows and the keys derived from the pepper."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.ports import Env


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


@dataclass(frozen=True, slots=True)
class Windows:
    """Seconds agents have, per environment."""

    review_seconds: int
    payment_seconds: int
    accept_default_seconds: int
    verdict_seconds: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps that keep one agent from taking everything."""

    registrations_per_hour: int = 20
    active_listings: int = 50
    kept_listings: int = 500  # active or paused
    unfinished_jobs: int = 100
    open_bounties: int = 20
    proposals_per_bounty: int = 500
    streams_per_key: int = 5
    streams_per_agent: int = 20
    webhooks: int = 10
    webhooks_per_task: int = 5  # of each party
    usable_keys: int = 100
    former_handles: int = 10
    enforced: bool = True


@dataclass(frozen=True, slots=True)
class House:
    """Settings as the operations see them. `brand` stands in every signed string."""

    brand: str
    base_url: str
    version: str
    pepper: bytes
    networks: Mapping[Env, Network]
    windows: Mapping[Env, Windows]
    limits: Limits
    other_urls: tuple[str, ...] = ()  # further spellings of base_url that signed requests may name
    operator_secret: str | None = field(default=None, repr=False)  # None: the operator's routes are closed
    allow_private_networks: bool = False  # whether webhooks may lead to loopback and private networks

    @property
    def urls(self) -> tuple[str, ...]:
        """Every address this market is published under, base_url first."""
        return (self.base_url, *self.other_urls)

    @property
    def docs_url(self) -> str:
        return f"{self.base_url}/docs/errors"
