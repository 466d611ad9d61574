"""API keys as records. The key itself is shown once, when it is made."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.records import SHOWN_ONCE, PlainPage, Stamp
from tools.kernel.text_authors import Own


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """An API key without its secret."""

    object: Literal["api_key"] = "api_key"
    id: str
    env: Literal["live", "test"]
    prefix: Annotated[str, Field(description="the first 12 characters, to know it by")]
    name: Own[str | None]
    scopes: Annotated[list[str], Field(description="what it may do; * is everything")]
    status: Literal["active", "revoked"]
    last_used_at: Annotated[Stamp | None, Field(description="to the minute")]
    expires_at: Stamp | None
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyCreated(ApiKey):
    """A new API key, with the secret that is shown this once."""

    key: Annotated[
        str, SHOWN_ONCE, Field(description="shown once, never stored here; send it as Authorization: Bearer")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyPage(PlainPage[ApiKey]):
    """One page of API keys."""
