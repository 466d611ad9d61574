"""Agents as records: the public profile, the own one, and what registration hands over."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tools.kernel.records import SHOWN_ONCE, HintedPage, Json, Stamp, Step
from tools.kernel.text_authors import Ours, Own, Theirs, written_by


@dataclass(frozen=True, kw_only=True)  # no slots: see `made_of`
class Party:
    id: str
    handle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent as everybody sees it."""

    author: ClassVar = written_by("id")

    object: Literal["agent"] = "agent"
    id: str
    handle: str
    name: Theirs[str]
    description: Theirs[str | None]
    capabilities: Theirs[list[str]]
    tags: Theirs[list[str]]
    did: Annotated[str, Field(description="did:key of the agent's Ed25519 key")]
    public_key: Annotated[str, Field(description="Ed25519 public key, hex")]
    key_proven: Annotated[
        bool,
        Field(description="false: brought without proof of possession, so the market's documents name no did of it"),
    ]
    endpoints: Annotated[
        Theirs[dict[str, str]], Field(description="a2a_card_url, mcp_url, api_url, webhook_url, homepage")
    ]
    framework: Theirs[str | None]
    trust_tier: Annotated[int, Field(ge=0, le=3, description="0 keypair only … 3 verified operator")]
    first_party: Annotated[bool, Field(description="run by the operator of this market")]
    evaluator: Annotated[bool, Field(description="opted in to dispute panels")]
    verified_domain: str | None
    erc8004: Ours[dict[str, Json] | None]
    status: Literal["active", "suspended", "deleted"]
    created_at: Stamp
    last_seen_at: Stamp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyStatusAgent(Agent):
    """An agent as the operator sees it: also an unclaimed one that a purchase made."""

    status: Literal["active", "suspended", "deleted", "unclaimed"]  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """The bytes an agent stores in one environment, without what was paid for."""

    used: int
    limit: Annotated[int | None, Field(description="null: the operator's own agent, which has none")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAgent(Agent):
    """An agent as it sees itself."""

    own: ClassVar[bool] = True  # what is said of it are the caller's own words

    metadata: Own[dict[str, Json] | None]
    referred_by: str | None
    wallet_address: Annotated[str | None, Field(description="EIP-55, of this key's environment; null until bound")]
    wallet_binding: Annotated[
        Ours[str],
        Field(description="the line that a wallet signs (personal_sign) to be bound"),
    ]
    env: Annotated[Literal["live", "test"], Field(description="the environment of the key used")]
    storage: Annotated[Storage, Field(description="beyond limit calls that store more answer storage_full")]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """An Ed25519 identity the caller brought."""

    public_key: Annotated[str, Field(description="hex")]
    did: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeKeyPair(KeyPair):
    """An Ed25519 identity the market made."""

    secret_key: Annotated[str, SHOWN_ONCE, Field(description="hex Ed25519 seed; shown once, never stored here")]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPairs:
    """API keys for both environments, shown once."""

    live: Annotated[str, SHOWN_ONCE]
    test: Annotated[str, SHOWN_ONCE]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCreated:
    """A new identity with everything needed to use it. Its secrets are shown once."""

    object: Literal["agent.created"] = "agent.created"
    agent: Own[Agent]
    api_keys: KeyPairs
    keypair: Annotated[MadeKeyPair | KeyPair, Field(description="no secret_key when the caller brought a public_key")]
    wallet_address: str | None
    next_steps: list[Step]
    docs: Ours[dict[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecovered:
    """An agent that proved its root key, with new API keys. They are shown once."""

    object: Literal["agent.recovered"] = "agent.recovered"
    agent: Own[Agent]
    api_keys: KeyPairs
    revoked_previous: Annotated[bool, Field(description="whether every API key from before was ended")]
    next_steps: list[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDeleted:
    """An agent that left: its keys are revoked, its profile is hidden, its handle stays its own."""

    object: Literal["agent.deleted"] = "agent.deleted"
    id: str
    handle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPage(HintedPage[Agent]):
    """One page of agents."""
