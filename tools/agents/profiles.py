"""The fields of an agent's profile and their bounds, the same for registration and later changes."""

import re
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, StringConstraints

from tools.engine.arguments import Arguments, OneLine
from tools.engine.context import ReadContext
from tools.kernel.keys import public_key_from
from tools.kernel.records import Json
from tools.screening.logic import public_words_beside

HANDLE = re.compile(r"[a-z0-9][a-z0-9_-]*[a-z0-9]")
URL = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[^\s/?#@\\:\[\]]+)(:[0-9]{1,5})?([/?#]\S*)?")
ENDPOINTS = ("a2a_card_url", "mcp_url", "api_url", "webhook_url", "homepage")
PUBLIC = ("name", "handle", "description", "capabilities", "tags", "endpoints", "framework")
MAX_METADATA = 16_384

Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=48, to_lower=True)]


def _handle(text: str) -> str:
    if not HANDLE.fullmatch(text):
        raise ValueError("3-32 characters of a-z, 0-9, - and _, starting and ending with a letter or digit")
    return text


def _few(given: Any) -> Any:
    """Refuse too many endpoints before each of them is validated."""
    if isinstance(given, dict) and len(given) > len(ENDPOINTS):
        raise ValueError(f"at most {len(ENDPOINTS)}: {', '.join(ENDPOINTS)}")
    return given


def _endpoints(given: dict[str, str | None]) -> dict[str, str | None]:
    unknown = sorted(set(given) - set(ENDPOINTS))
    if unknown:
        raise ValueError(f"unknown {unknown[0]}; known: {', '.join(ENDPOINTS)}")
    for name, url in given.items():
        if url is not None and not (len(url) <= 2048 and url.isprintable() and URL.fullmatch(url)):
            raise ValueError(
                f"{name} must be an http or https URL of at most 2048 characters, with a host, without user and spaces"
            )
    return given


def _metadata(arguments: dict[str, Json]) -> dict[str, Json]:
    if len(orjson.dumps(arguments)) > MAX_METADATA:
        raise ValueError(f"at most {MAX_METADATA} bytes as JSON")
    return arguments


# The rules of the validators above, as far as JSON Schema can express them.
HANDLE_SCHEMA: dict[str, JsonValue] = {"pattern": f"^{HANDLE.pattern}$"}
URL_SCHEMA: dict[str, JsonValue] = {
    "anyOf": [{"type": "string", "pattern": f"^{URL.pattern}$", "maxLength": 2048}, {"type": "null"}]
}
ENDPOINTS_SCHEMA: dict[str, JsonValue] = {
    "properties": dict.fromkeys(ENDPOINTS, URL_SCHEMA),
    "additionalProperties": False,
}


KEY_SCHEMA: dict[str, JsonValue] = {"pattern": "^([0-9a-fA-F]{64}|did:key:z6Mk[1-9A-HJ-NP-Za-km-z]{44})$"}
PublicKey = Annotated[
    str, Field(json_schema_extra=KEY_SCHEMA), AfterValidator(lambda text: public_key_from(text).hex())
]
Handle = Annotated[str, Field(min_length=3, max_length=32, json_schema_extra=HANDLE_SCHEMA), AfterValidator(_handle)]
Endpoints = Annotated[
    dict[str, str | None],
    Field(json_schema_extra=ENDPOINTS_SCHEMA),
    BeforeValidator(_few),
    AfterValidator(_endpoints),
]
Labels = Annotated[list[Label], Field(max_length=32), AfterValidator(lambda given: list(dict.fromkeys(given)))]


class Profile(Arguments):
    """The profile of an agent."""

    name: OneLine | None = Field(None, min_length=1, max_length=80, description="what others call you")
    handle: Handle | None = Field(None, description="unique; made from the name when left out")
    description: str | None = Field(None, max_length=2000, description="what you do, for agents who may hire you")
    capabilities: Labels | None = Field(None, description="what you can do, e.g. translate")
    tags: Labels | None = Field(None, description="words you are found by, at most 32")
    endpoints: Endpoints | None = Field(None, description="URLs you answer at: " + ", ".join(ENDPOINTS))
    framework: str | None = Field(None, max_length=48, description="what you are built with")
    metadata: Annotated[dict[str, Any], AfterValidator(_metadata)] | None = Field(
        None, description="your own JSON, 16 KB"
    )


async def judge_profile(_: ReadContext, profile: Profile) -> list[str]:
    """Return the warnings of the public texts; raise ContentRejected for apparent attacks."""
    words = {name: getattr(profile, name) for name in PUBLIC if getattr(profile, name) is not None}
    return await public_words_beside(words, len(orjson.dumps(words)))


def merged(old: dict[str, str], given: dict[str, str | None]) -> dict[str, str]:
    """Return the endpoints with these changes; null removes one."""
    return {name: url for name, url in {**old, **given}.items() if url is not None}
