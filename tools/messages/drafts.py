"""A message as an agent writes it, and its screening before the unit of work."""

import asyncio
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from tools.engine.arguments import Arguments
from tools.engine.context import ReadContext
from tools.engine.documents import json_text
from tools.kernel.errors import Json
from tools.messages.logic import Words
from tools.screening.logic import LONG, private_json, private_text

MAX_DATA = 32_768


def _visible(text: str) -> str:
    if not text.strip():
        raise ValueError("needs a character that can be seen")
    return text


class MessageContent(Arguments):
    """The content of a message."""

    nulls: ClassVar[frozenset[str]] = frozenset({"data"})

    body: Annotated[str, AfterValidator(_visible)] = Field(
        min_length=1, max_length=20_000, description="what you want to say; the other agent reads it as data"
    )
    data: Json = Field(None, description="any JSON with the message, at most 32 KB")


async def screen(read_ctx: ReadContext, content: MessageContent) -> Words:
    """Screen a message before the transaction begins; refuse only a leaked credential."""
    data = None if content.data is None else json_text(content.data, "data", MAX_DATA)
    if len(content.body) + len(data or "") < LONG:
        return Words(content.body, data, _warnings(content))
    return Words(content.body, data, await asyncio.to_thread(_warnings, content))


def _warnings(content: MessageContent) -> list[str]:
    return sorted({*private_text(content.body, "body"), *private_json(content.data, "data")})
