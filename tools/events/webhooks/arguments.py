"""Types of the arguments of webhooks: URL, event types, secret."""

from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from tools.events.types import expand
from tools.kernel.ssrf_guard import MAX_URL_CHARACTERS, BadTarget, parse_target

TYPES_NOTE = 'exact types, families like job.*, or *; default ["*"]'


def _url(text: str) -> str:
    try:
        parse_target(text)
    except BadTarget as bad:
        raise ValueError(str(bad)) from None
    return text


def _event_types(given: list[str]) -> list[str]:
    expand(given)
    return list(dict.fromkeys(given))


URL_SCHEMA: dict[str, JsonValue] = {"pattern": "^https?://", "format": "uri"}


Url = Annotated[str, Field(max_length=MAX_URL_CHARACTERS, json_schema_extra=URL_SCHEMA), AfterValidator(_url)]


EventTypes = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=64)]],
    Field(min_length=1, max_length=50),
    AfterValidator(_event_types),
]


Secret = Annotated[str, Field(min_length=16, max_length=128, pattern="^[ -~]*$")]
