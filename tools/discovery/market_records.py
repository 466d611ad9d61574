"""Records about the market itself."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.records import Stamp
from tools.kernel.text_authors import Ours


@dataclass(frozen=True, slots=True, kw_only=True)
class SanctionsState:
    screening: Annotated[bool, Field(description="false while no list is loaded: then nothing is refused")]
    addresses: int
    updated_at: Stamp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The findings of a background probe, at most 5 seconds old."""

    object: Literal["health"] = "health"
    status: Annotated[Literal["ok", "degraded"], Field(description="degraded: a worker or a configured chain is down")]
    service: str
    version: str
    time: Stamp
    request_id: str
    database: bool
    workers: bool
    chains: Annotated[dict[str, str], Field(description="per environment: ok, down or not_configured")]
    probed_at: Stamp | None
    sanctions: SanctionsState


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogEntry:
    version: str
    date: str
    changes: Ours[list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changelog:
    """The changes to the market, newest first."""

    object: Literal["changelog"] = "changelog"
    current_version: str
    entries: list[ChangelogEntry]
