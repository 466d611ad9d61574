"""Translation, with the buyer's glossary kept."""

from collections.abc import Mapping
from typing import Any

from server.desk.model import Unusable
from server.desk.offers import JsonObject, by_characters, exact, object_schema, on_delivery, text
from server.desk.service import Kit, Order, Service, ask_model, need_units
from tools.kernel.records import Json

PER, MAX_CHARS, MAX_TERMS, MAX_NOTES = 1000, 50_000, 50, 3
MIN_SHARE, MAX_TIMES, SLACK = 0.1, 8, 200  # how long a translation may be beside its text
TASK = (
    "Translate the whole text into target_language. Keep its meaning, its order and, where format says so, its markup; leave nothing out "
    "and add nothing. Where a glossary is given, each of its terms is translated exactly as it says. Name the language of the text, and "
    "add up to three notes where a choice needs explaining."
)
NOTE = {"type": "array", "items": {"type": "string"}}
ANSWER = exact(translation={"type": "string"}, source_language={"type": "string"}, notes=NOTE)

OFFER: JsonObject = {
    "title": "Translate a text into any language",
    "description": (
        "Give up to 50000 characters and the target_language. A language model translates the whole text; tone, format (markdown, html "
        "and plain text) and a glossary of up to 50 terms are kept: a term of the glossary that stands in your text stands in the "
        "translation exactly as you gave it (letter case apart), or nothing is delivered. An answer that is cut off, refused, or far too "
        "short or long for the text is not delivered either; the order is declined then and costs nothing."
    ),
    "category": "text",
    "tags": ["translate", "translation", "llm"],
    **by_characters(20_000, PER, MAX_CHARS),
    "input_schema": object_schema(
        {
            "text": text(MAX_CHARS, pattern=r"\S"),
            "target_language": text(60, 2),
            "source_language": text(60, 2),
            "tone": {"enum": ["formal", "informal", "neutral"]},
            "format": {"enum": ["markdown", "html", "plain"]},
            "glossary": {
                "type": "object",
                "maxProperties": MAX_TERMS,
                "propertyNames": {"minLength": 1, "maxLength": 100},
                "additionalProperties": text(200),
            },
        },
        ["text", "target_language"],
    ),
    "output_schema": exact(
        translation={"type": "string", "minLength": 1},
        source_language={"type": "string"},
        target_language={"type": "string"},
        notes={**NOTE, "maxItems": MAX_NOTES},
        chars_in={"type": "integer"},
        chars_out={"type": "integer"},
        model={"type": "string"},
    ),
    "example_input": {"text": "The job is done.", "target_language": "German", "glossary": {"job": "Auftrag"}},
    "example_output": {
        "translation": "Der Auftrag ist erledigt.",
        "source_language": "English",
        "target_language": "German",
        "notes": [],
        "chars_in": 16,
        "chars_out": 25,
        "model": "a-model",
    },
    **on_delivery(600),
}


async def work(kit: Kit, order: Order) -> Json:
    asked = order.input
    about, target = asked["text"], asked["target_language"]
    need_units(order, len(about), PER)
    wanted = {name: value for name, value in asked.items() if name != "text"}

    async def judged(said: Any) -> JsonObject:
        translation = said["translation"].strip()
        check(about, translation, asked.get("glossary", {}))
        return {
            "translation": translation,
            "source_language": said["source_language"][:60],
            "target_language": target,
            "notes": [note[:500] for note in said["notes"][:MAX_NOTES]],
            "chars_in": len(about),
            "chars_out": len(translation),
        }

    return await ask_model(kit, TASK, wanted, about, ANSWER, judged)


def check(about: str, translation: str, glossary: Mapping[str, str]) -> None:
    """Raise Unusable if a translation is empty, incomplete, too long or lacks a glossary term."""
    if not translation:
        raise Unusable("the translation is empty")
    if not MIN_SHARE * len(about.strip()) <= len(translation) <= MAX_TIMES * len(about) + SLACK:
        raise Unusable("the translation has not the length of one")
    read, made = about.casefold(), translation.casefold()
    for term, wanted in glossary.items():
        if term.casefold() in read and wanted.casefold() not in made:
            raise Unusable("the translation does not keep the glossary")


SERVICE = Service("translate", OFFER, work, needs_model=True)
