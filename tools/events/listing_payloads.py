"""Data of the events about an agent's listings."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from tools.kernel.text_authors import Own


class ListingPaused(TypedDict):
    """A listing of yours was paused because its orders expired while you made no call; your next call resumes it."""

    listing_id: str
    title: Own[str]
    paused_by: Literal["market"]
    expired: Annotated[list[str], Field(description="the orders that expired, newest first")]
