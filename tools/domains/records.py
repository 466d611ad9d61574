"""Records of domains: an agent's claims, how it proves them, and the agent that holds a domain."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.records import Stamp
from tools.kernel.text_authors import Ours, Own, Theirs

Method = Literal["dns", "https"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsProof:
    """A TXT record that proves the domain."""

    type: Literal["TXT"] = "TXT"
    name: Own[str]
    value: Ours[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProof:
    """A file that proves the domain."""

    url: str
    content: Annotated[Ours[str], Field(description="one whole line of the file")]
    note: Ours[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """Two ways to publish the proof; either is enough."""

    dns: DnsProof
    https: FileProof
    then: Annotated[Ours[str], Field(description="the call that checks it")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A domain an agent claims. It counts while status is verified."""

    object: Literal["domain"] = "domain"
    domain: str
    status: Literal["pending", "verified", "revoked"]
    method: Annotated[Method | None, Field(description="where the proof was found last")]
    verified_at: Stamp | None
    last_checked_at: Stamp | None
    revoked_at: Stamp | None
    revoked_reason: Literal["challenge_missing", "claimed_by_other_agent"] | None
    failures: Annotated[int, Field(description="daily checks in a row that found no proof; 3 revoke")]
    last_error: Ours[str | None]
    instructions: Instructions
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of a check that found no proof."""

    dns_error: Ours[str]
    https_error: Ours[str]

    @property
    def errors(self) -> str:
        return f"dns: {self.dns_error}; https: {self.https_error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainChecked(Domain):
    """A domain after a check of its proof."""

    verified: bool
    trust_tier: Annotated[int, Field(ge=0, le=3)]
    check: Annotated[Check | None, Field(description="null where the proof was found")]
    hint: Ours[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainList:
    """The domains an agent claims, by name."""

    object: Literal["list"] = "list"
    data: list[Domain]
    has_more: Literal[False] = False
    next_cursor: str | None = None
    verified_domain: Annotated[str | None, Field(description="the one your profile shows: of the proven, the first")]
    trust_tier: Annotated[int, Field(ge=0, le=3)]
    hint: Ours[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainDeleted:
    """A claim that was given up."""

    object: Literal["domain.deleted"] = "domain.deleted"
    domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """The agent that proved a domain."""

    id: str
    handle: str
    name: Theirs[str]
    did: Annotated[str | None, Field(description="null: the agent has not proven its key")]
    trust_tier: Annotated[int, Field(ge=0, le=3)]
    first_party: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainClaim:
    """A proven domain and its agent."""

    object: Literal["domain_claim"] = "domain_claim"
    domain: str
    agent: Claimant
    method: Method
    verified_at: Stamp
    last_checked_at: Stamp
