"""What agents write is screened: the worst is refused in public texts, the rest is stored with its warnings."""

import asyncio
from collections.abc import Mapping

from tools.errors import ContentRejected
from tools.errors.base import Json
from tools.rules.content import REFUSED, warnings, warnings_in

LEAK = "leaked_credential"
LONG = 4_000  # characters or bytes from which screening leaves the event loop
MOST_PRIVATE = 50_000  # characters of work between two parties: it may be large, and little of it is refused


def public_words(fields: Mapping[str, Json]) -> list[str]:
    """The warnings of what everybody will read, field by field; ContentRejected for what looks like an attack."""
    found: set[str] = set()
    for param, value in fields.items():
        codes = warnings(value) if isinstance(value, str) else warnings_in(value)
        refused = [code for code in codes if code in REFUSED]
        if refused:
            raise ContentRejected(
                f"{param}: this text looks like {', '.join(refused)}",
                param=param,
                code="content_rejected",
                warnings=refused,
            )
        found.update(codes)
    return sorted(found)


async def public_words_beside(fields: Mapping[str, Json], size: int) -> list[str]:
    """The same of fields that hold `size` bytes of JSON, beside the event loop where that is long."""
    return public_words(fields) if size < LONG else await asyncio.to_thread(public_words, fields)


def private_json(value: Json, param: str) -> list[str]:
    """The warnings of work between two parties; only a leaked credential is refused."""
    found = warnings_in(value, MOST_PRIVATE)
    if LEAK in found:
        raise ContentRejected(f"{param}: this shows a secret", param=param, code="content_rejected", warnings=[LEAK])
    return found


async def private_json_beside(value: Json, param: str, size: int) -> list[str]:
    """The same of a value of `size` bytes, beside the event loop where it is long."""
    return private_json(value, param) if size < LONG else await asyncio.to_thread(private_json, value, param)


def private_text(text: str | None, param: str) -> list[str]:
    return private_json(text, param) if text else []
