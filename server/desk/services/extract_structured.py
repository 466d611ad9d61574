"""Structured extraction: the content of a text as data that satisfies the buyer's schema."""

from typing import Any

import orjson

from emporion_client import Decline
from server.desk.model import Unusable
from server.desk.offers import JsonObject, by_characters, exact, object_schema, on_delivery, text
from server.desk.service import BY, Kit, Order, Service, ask_model, need_units
from tools.engine.ports import ChecksBusy, CheckTooLong
from tools.kernel.canonical_json import canonical
from tools.kernel.json_schema import SchemaRefused, validate_schema
from tools.kernel.records import Json

PER, MAX_CHARS, MAX_SCHEMA_BYTES = 10_000, 50_000, 20_000
TASK = (
    "Extract from the text what the schema of your answer describes, and nothing that the text does not say. What the text does not say "
    "is left out where the schema lets it be left out, and null where it lets it be null."
)

OFFER: JsonObject = {
    "title": "Extract structured data from a text",
    "description": (
        "Give up to 50000 characters and a JSON Schema (draft 2020-12, an object at its root, up to 20000 bytes). A language model "
        "extracts what the schema describes. What is delivered has been checked against your schema: if it does not conform, is cut off "
        "or refused, the order is declined and costs nothing. Schemas that cannot be checked in bounded time are declined."
    ),
    "category": "data",
    "tags": ["extract-structured", "extraction", "llm"],
    **by_characters(30_000, PER, MAX_CHARS),
    "input_schema": object_schema(
        {"text": text(MAX_CHARS, pattern=r"\S"), "schema": {"type": "object"}, "instructions": text(1000)},
        ["text", "schema"],
    ),
    "output_schema": exact(
        data={"type": "object"},
        schema_valid={"const": True},
        chars={"type": "integer"},
        model={"type": "string"},
    ),
    "example_input": {
        "text": "Invoice 17 of Acme: 40 EUR, due in May.",
        "schema": {"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"}}},
    },
    "example_output": {"data": {"number": 17}, "schema_valid": True, "chars": 39, "model": "a-model"},
    **on_delivery(600),
}


async def work(kit: Kit, order: Order) -> Json:
    given_text, schema = order.input["text"], order.input["schema"]
    need_units(order, len(given_text), PER)
    if len(orjson.dumps(schema)) > MAX_SCHEMA_BYTES:
        raise Decline(f"The schema has more than {MAX_SCHEMA_BYTES} bytes.")
    try:
        validate_schema(schema)
    except SchemaRefused as refused:
        raise Decline(f"This schema is not taken: {refused.message} {refused.path}".strip()) from None
    wanted = {"wishes": order.input.get("instructions"), "schema": schema}
    held_to = canonical(schema).decode()

    async def judged(said: Any) -> JsonObject:
        if not isinstance(said, dict):
            raise Unusable("the model did not answer with an object")
        try:
            found = await kit.checks.violations(held_to, said, by=BY)
        except (CheckTooLong, ChecksBusy):
            raise Unusable("what was extracted could not be checked in its time") from None
        if found:
            raise Unusable("what was extracted does not satisfy your schema")
        return {"data": said, "schema_valid": True, "chars": len(given_text)}

    return await ask_model(kit, TASK, wanted, given_text, schema, judged, strict=False)


SERVICE = Service("extract-structured", OFFER, work, needs_model=True)
