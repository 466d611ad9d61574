"""Support reports as records."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.records import Stamp
from tools.kernel.text_authors import Ours


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportReport:
    """The receipt of a report to the operator."""

    object: Literal["support_report"] = "support_report"
    id: str
    received_at: Stamp
    note: Annotated[Ours[str], Field(description="what happens with it")]
