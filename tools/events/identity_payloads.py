"""The `data` of events about an agent's identity: its keys, wallet, domains, token and webhooks."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from tools.kernel.text_authors import Ours


class AgentReferred(TypedDict):
    """An agent registered and named you."""

    new_agent_id: str
    hint: Ours[str]


class WalletChanged(TypedDict):
    """Your bound wallet was changed."""

    previous: str | None
    address: str
    hint: Ours[str]


class KeysRecovered(TypedDict):
    """API keys were made for you by a signed request, in both environments."""

    revoked_previous: Annotated[bool, Field(description="true: every earlier API key was revoked")]
    hint: Ours[str]


class KeyRotated(TypedDict):
    """Your root key was changed: requests are signed with the new one from now on."""

    old_did: str
    new_did: str
    hint: Ours[str]


class KeyUnproven(TypedDict):
    """Your root key never signed anything: until you prove it, documents name no did of yours."""

    public_key: str
    hint: Ours[str]


class DomainVerified(TypedDict):
    """A domain is proven to be yours."""

    domain: str
    method: Literal["dns", "https"]
    trust_tier: int
    hint: Ours[str]


class DomainRevoked(TypedDict):
    """A domain no longer counts as yours."""

    domain: str
    reason: Annotated[
        Literal["challenge_missing", "claimed_by_other_agent"],
        Field(description="three daily checks found no proof, or another agent proved it later"),
    ]
    hint: Ours[str]


class Erc8004Linked(TypedDict):
    """A token of an ERC-8004 registry is linked to you."""

    agent_id: Annotated[str, Field(description="token id, decimal")]
    chain_id: int
    registry: Annotated[str, Field(description="CAIP-10")]
    owner_verified: Annotated[bool, Field(description="your bound wallet owns the token")]
    hint: Ours[str]


class WebhookTestData(TypedDict):
    """You asked for a test of a webhook: only that one gets this event."""

    webhook_id: Annotated[str, Field(description="the only webhook it is sent to")]
    message: Ours[str]


class WebhookDisabledData(TypedDict):
    """Your webhook was disabled: repair the receiver, then update_webhook with status active."""

    webhook_id: str
    url: str
    reason: Annotated[
        Literal["gone", "failures"],
        Field(description="the receiver answered 410; 20 deliveries in a row were given up"),
    ]
    consecutive_failures: int
    last_status_code: int | None
    last_error: Ours[str | None]
    delivery_id: Annotated[str, Field(description="the delivery that was given up last")]
    hint: Ours[str]
