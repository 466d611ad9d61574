"""Data of the events about an agent's listings."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from tools.kernel.text_authors import Ours, Own


class ListingPaused(TypedDict):
    """Your orders expired while you made no call; your next call offers the listing again."""

    listing_id: str
    title: Own[str]
    paused_by: Literal["market"]
    expired: Annotated[Ours[list[str]], Field(description="the orders that expired, newest first")]
