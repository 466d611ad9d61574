"""Summarisation of a text, or of a page that is fetched before the order is accepted."""

import re
from collections.abc import Mapping
from math import ceil
from typing import Any

from emporion_client import Decline
from server.desk.model import Unusable
from server.desk.offers import NULLABLE, JsonObject, by_characters, exact, object_schema, on_delivery, text
from server.desk.reader import Unreadable
from server.desk.service import Kit, Order, Service, ask_model, need_units
from tools.kernel.records import Json

PER, MAX_CHARS, MAX_URL = 10_000, 100_000, 2048
DEFAULT_WORDS, TOLERANCE = 150, 0.1
MIN_POINTS, MAX_POINTS = 3, 7
TASK = (
    "Summarise the text in at most max_words words, in the style given: paragraph is running text, bullets is lines that each begin with "
    "'- '. Add three to seven key points, each a short sentence. Say only what the text says; where focus is given, choose by it. Write in "
    "the language given, else in that of the text, and name it."
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")  # kana and Han: written without spaces, about two to a word
POINTS = {"type": "array", "items": {"type": "string"}}
ANSWER = exact(summary={"type": "string"}, key_points=POINTS, language={"type": "string"})

OFFER: JsonObject = {
    "title": "Summarise a text or a web page",
    "description": (
        "Give a text of up to 100000 characters, or the https url of a public page. You get a summary of at most max_words words (20 to "
        "600, default 150; up to 10 % more is delivered, anything longer is not) as a paragraph or bullets, and 3 to 7 key points. For a "
        "url order the units you expect: the page is fetched before the order is accepted, and if its text comes to another number, the "
        "order is declined with the number needed. Text beyond 100000 characters of a page is clipped, and said to be. An answer of the "
        "language model that is cut off, empty or refused is not delivered; the order is declined then and costs nothing."
    ),
    "category": "text",
    "tags": ["summarize", "summary", "llm"],
    **by_characters(40_000, PER, MAX_CHARS),
    "unit_basis_note": "ceil(characters of text / 10000); for a url order the units its text comes to",
    "input_schema": object_schema(
        {
            "text": text(MAX_CHARS, pattern=r"\S"),
            "url": text(MAX_URL, 8, pattern="^https?://"),
            "max_words": {"type": "integer", "minimum": 20, "maximum": 600, "default": DEFAULT_WORDS},
            "style": {"enum": ["paragraph", "bullets"], "default": "paragraph"},
            "focus": text(300),
            "language": text(60, 2),
        },
        [],
        oneOf=[{"required": ["text"]}, {"required": ["url"]}],
    ),
    "output_schema": exact(
        summary={"type": "string", "minLength": 1},
        key_points={**POINTS, "minItems": MIN_POINTS, "maxItems": MAX_POINTS},
        language={"type": "string"},
        words={"type": "integer"},
        source=exact(
            kind={"enum": ["text", "url"]},
            chars={"type": "integer"},
            url=NULLABLE,
            final_url=NULLABLE,
            title=NULLABLE,
            clipped={"type": "boolean"},
        ),
        model={"type": "string"},
    ),
    "example_input": {"text": "Agents hire agents. They pay on delivery. Nobody holds the money.", "max_words": 20},
    "example_output": {
        "summary": "Agents hire each other and pay on delivery, without anybody in between.",
        "key_points": ["Agents hire agents.", "Payment is on delivery.", "Nobody holds the money."],
        "language": "English",
        "words": 12,
        "source": {"kind": "text", "chars": 65, "url": None, "final_url": None, "title": None, "clipped": False},
        "model": "a-model",
    },
    **on_delivery(600),
}


async def work(kit: Kit, order: Order) -> Json:
    read, source = await _source(kit, order.input)
    need_units(order, len(read), PER)
    return await _answered(kit, order.input, read, source)


async def _source(kit: Kit, asked: Mapping[str, Any]) -> tuple[str, JsonObject]:
    """Return the text to summarise, and where it is from."""
    if "text" in asked:
        return asked["text"], _said("text", len(asked["text"]))
    try:
        article = await kit.reader.read(asked["url"])
    except Unreadable as why:
        raise Decline(str(why)) from None
    read = article.text[:MAX_CHARS]
    place = {"url": asked["url"], "final_url": article.page.final_url, "title": article.title}
    return read, _said("url", len(read), **place, clipped=len(read) < len(article.text))


def _said(kind: str, chars: int, **more: Any) -> JsonObject:
    return {"kind": kind, "chars": chars, "url": None, "final_url": None, "title": None, "clipped": False, **more}


async def _answered(kit: Kit, asked: Mapping[str, Any], read: str, source: JsonObject) -> Json:
    most, style = asked.get("max_words", DEFAULT_WORDS), asked.get("style", "paragraph")
    wanted = {"max_words": most, "style": style, "focus": asked.get("focus"), "language": asked.get("language")}

    async def judged(said: Any) -> JsonObject:
        summary, points = said["summary"].strip(), [one.strip() for one in said["key_points"]]
        check(summary, points, most, style)
        return {
            "summary": summary,
            "key_points": [one[:1000] for one in points],
            "language": said["language"][:60],
            "words": words_in(summary),
            "source": source,
        }

    return await ask_model(kit, TASK, wanted, read, ANSWER, judged)


def check(summary: str, points: list[str], most: int, style: str) -> None:
    """Raise Unusable if a summary is empty, too long or not in the requested style."""
    if not summary:
        raise Unusable("the summary is empty")
    if words_in(summary) > most * (1 + TOLERANCE):
        raise Unusable("the summary is longer than was asked for")
    if not MIN_POINTS <= len(points) <= MAX_POINTS or not all(points):
        raise Unusable("there are not three to seven key points")
    bullets = [line.startswith("- ") for line in summary.splitlines() if line.strip()]
    if not all(bullets) if style == "bullets" else any(bullets):
        raise Unusable("the summary is not in the style that was asked for")


def words_in(summary: str) -> int:
    """Count the words; in a script without spaces, each two characters are one.

    The dash of a bullet is not a word.
    """
    unspaced = len(_UNSPACED.findall(summary))
    spaced = [word for word in _UNSPACED.sub(" ", summary).split() if word != "-"]
    return len(spaced) + ceil(unspaced / 2)


SERVICE = Service("summarize", OFFER, work, needs_model=True)
