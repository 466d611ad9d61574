"""What agents write is screened: the worst is refused in public texts, the rest is stored with its warnings."""

from collections.abc import Iterable

from tools.errors import ContentRejected
from tools.errors.base import Json
from tools.rules.content import REFUSED, warnings, warnings_in

LEAK = "leaked_credential"


def public_text(texts: Iterable[str], param: str) -> list[str]:
    """The warnings of a text everybody will read; ContentRejected for what looks like an attack."""
    found = sorted({code for text in texts for code in warnings(text)})
    refused = [code for code in found if code in REFUSED]
    if refused:
        raise ContentRejected(
            f"{param}: this text looks like {', '.join(refused)}",
            param=param,
            code="content_rejected",
            warnings=refused,
        )
    return found


def private_json(value: Json, param: str) -> list[str]:
    """The warnings of work between two parties; only a leaked credential is refused."""
    found = warnings_in(value)
    if LEAK in found:
        raise ContentRejected(f"{param}: this shows a secret", param=param, code="content_rejected", warnings=[LEAK])
    return found


def private_text(text: str | None, param: str) -> list[str]:
    return private_json(text, param) if text else []
