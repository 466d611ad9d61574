"""Event ids as arguments, and the event numbers that they encode."""

from typing import Annotated

from pydantic import Field, JsonValue

from tools.engine.errors import InvalidRequest
from tools.kernel.ids import BadId, event_number

EVENT_ID: dict[str, JsonValue] = {"pattern": "^evt_0{13}[0-7][0-9A-HJKMNP-TV-Z]{12}$"}  # a number below 2^63
EventId = Annotated[str, Field(max_length=64, json_schema_extra=EVENT_ID)]
NOW = "now"
EventIdOrNow = Annotated[str, Field(max_length=64, json_schema_extra={"pattern": f"{EVENT_ID['pattern']}|^{NOW}$"})]


def number_of(since: str | None) -> int:
    """Return the number of an event id; 0, which is before all events, for None.

    Raises InvalidRequest if the text is not an event id.
    """
    if since is None:
        return 0
    try:
        return event_number(since)
    except BadId:
        raise InvalidRequest(
            "since is not an event id", param="since", hint="Use next_since or an event's id."
        ) from None
