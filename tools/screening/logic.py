"""Screening of what agents write: apparent attacks in public texts are refused, other findings are warnings."""

import asyncio
from collections.abc import Mapping

from tools.kernel.errors import Json
from tools.screening.codes import REFUSED_IN_DATA
from tools.screening.errors import ContentRejected
from tools.screening.rules import REFUSED, Code, redirects, warnings, warnings_in

LEAK = "leaked_credential"
LONG = 4_000  # characters or bytes from which screening runs in a thread instead of on the event loop
MAX_PRIVATE = 50_000  # characters that are screened of work between two parties, which may be large


def public_words(fields: Mapping[str, Json], data: frozenset[str] = frozenset()) -> list[str]:
    """Return the warnings of public fields; raise ContentRejected for apparent attacks.

    Fields named in `data` are schemas, examples and inputs, in which payment redirection is not refused.
    """
    found: set[str] = set()
    for param, value in fields.items():
        codes = warnings(value) if isinstance(value, str) else warnings_in(value)
        refused = [code for code in codes if code in (REFUSED_IN_DATA if param in data else REFUSED)]
        if refused:
            raise ContentRejected(
                f"{param}: this text looks like {', '.join(refused)}",
                param=param,
                code="content_rejected",
                warnings=refused,
            )
        found.update(codes)
    prose = [value for param, value in fields.items() if isinstance(value, str) and param not in data]
    if len(prose) > 1 and redirects(prose):
        raise ContentRejected(
            "together these texts look like payment_redirection",
            code="content_rejected",
            warnings=[Code.PAYMENT_REDIRECTION.value],
        )
    return sorted(found)


async def public_words_beside(fields: Mapping[str, Json], size: int, data: frozenset[str] = frozenset()) -> list[str]:
    """Call public_words for fields of `size` bytes of JSON, in a thread if they are long."""
    return public_words(fields, data) if size < LONG else await asyncio.to_thread(public_words, fields, data)


def private_json(value: Json, param: str) -> list[str]:
    """Return the warnings of work between two parties; only a leaked credential is refused."""
    found = warnings_in(value, MAX_PRIVATE)
    if LEAK in found:
        raise ContentRejected(f"{param}: this shows a secret", param=param, code="content_rejected", warnings=[LEAK])
    return found


async def private_json_beside(value: Json, param: str, size: int) -> list[str]:
    """Call private_json for a value of `size` bytes, in a thread if it is long."""
    return private_json(value, param) if size < LONG else await asyncio.to_thread(private_json, value, param)


def private_text(text: str | None, param: str) -> list[str]:
    return private_json(text, param) if text else []
