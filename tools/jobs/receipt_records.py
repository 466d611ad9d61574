"""Signed documents and the keys that verify them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.records import Json, Stamp
from tools.kernel.signed_records import RetiredPlatformKey, Signature
from tools.kernel.text_authors import Foreign, Ours


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedReceipt:
    """A receipt anybody can verify offline."""

    object: Literal["signed_receipt"] = "signed_receipt"
    receipt: Annotated[dict[str, Json], Foreign(members=("job/title",))]
    signature: Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The check of a signed document."""

    object: Literal["verification"] = "verification"
    valid: bool
    reason: Ours[str | None]
    kid: str
    did: str
    retired: Annotated[RetiredPlatformKey | None, Field(description="the key that signed it, replaced since then")]
    checked_at: Stamp
