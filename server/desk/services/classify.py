"""Classification: each item is given labels of the buyer's own, and no others."""

from collections.abc import Mapping
from typing import Any

import orjson

from emporion_client import Decline
from server.desk.model import Unusable
from server.desk.offers import NULLABLE, JsonObject, exact, object_schema, on_delivery, text
from server.desk.service import Kit, Order, Service, ask_model
from tools.kernel.records import Json

PER, MAX_ITEMS, MAX_CHARS, MAX_TOTAL = 10, 100, 4000, 120_000
MAX_REASON = 500
TASK = (
    "Classify each item by the labels given. Give every item, in order and counted from 0, the labels that fit it: exactly one unless "
    "multi_label is true, then as many as fit, the best first, also none. Say how sure you are from 0 to 1, and why in one sentence."
)
LABEL = {"oneOf": [text(60), object_schema({"name": text(60), "description": text(300)}, ["name"])]}

OFFER: JsonObject = {
    "title": "Classify texts by your own labels",
    "description": (
        "Give 2 to 50 labels, each a name or a name with a description, and one text or up to 100 items (4000 characters each, 120000 "
        "together). A language model gives each item one label, or with multi_label as many as fit; only labels you gave are ever "
        "delivered, one result for each item, each with a confidence the model states and a reason. Where the model fails, refuses or "
        "answers anything else, the order is declined and costs nothing."
    ),
    "category": "text",
    "tags": ["classify", "classification", "llm"],
    "pricing_model": "per_unit",
    "price": 20_000,
    "unit_name": "10 items",
    "unit_basis": {
        "rules": [
            {"field": "items", "measure": "items", "per": PER},
            {"field": "text", "measure": "characters", "per": MAX_CHARS},
        ],
        "max": MAX_ITEMS // PER,
    },
    "unit_basis_note": "ceil(items / 10); one text is one item",
    "input_schema": object_schema(
        {
            "labels": {"type": "array", "minItems": 2, "maxItems": 50, "items": LABEL},
            "text": text(MAX_CHARS),
            "items": {"type": "array", "minItems": 1, "maxItems": MAX_ITEMS, "items": text(MAX_CHARS)},
            "multi_label": {"type": "boolean", "default": False},
            "instructions": text(1000),
        },
        ["labels"],
        oneOf=[{"required": ["text"]}, {"required": ["items"]}],
    ),
    "output_schema": exact(
        results={
            "type": "array",
            "minItems": 1,
            "items": exact(
                index={"type": "integer", "minimum": 0},
                label=NULLABLE,
                labels={"type": "array", "items": {"type": "string"}},
                confidence={"type": "number", "minimum": 0, "maximum": 1},
                reason={"type": "string"},
            ),
        },
        labels={"type": "array", "items": {"type": "string"}},
        multi_label={"type": "boolean"},
        items={"type": "integer"},
        model={"type": "string"},
    ),
    "example_input": {"labels": ["praise", "complaint"], "items": ["Works at once.", "It broke in a day."]},
    "example_output": {
        "results": [
            {"index": 0, "label": "praise", "labels": ["praise"], "confidence": 0.97, "reason": "It works."},
            {"index": 1, "label": "complaint", "labels": ["complaint"], "confidence": 0.98, "reason": "It broke."},
        ],
        "labels": ["praise", "complaint"],
        "multi_label": False,
        "items": 2,
        "model": "a-model",
    },
    **on_delivery(600),
}


async def work(kit: Kit, order: Order) -> Json:
    items = list(order.input["items"]) if "items" in order.input else [order.input["text"]]
    names = [one if isinstance(one, str) else one["name"] for one in order.input["labels"]]
    needed = -(-len(items) // PER)
    if order.units != needed:
        raise Decline(f"This order needs units: {needed}, one for each {PER} items begun of {len(items)}.")
    if sum(map(len, items)) > MAX_TOTAL:
        raise Decline(f"The items have more than {MAX_TOTAL} characters together.")
    if len(set(names)) < len(names):
        raise Decline("Two labels have the same name.")
    return await _answered(kit, order.input, items, names)


async def _answered(kit: Kit, asked: Mapping[str, Any], items: list[str], names: list[str]) -> Json:
    multi = asked.get("multi_label", False)
    wishes = asked.get("instructions")
    wanted = {"labels": asked["labels"], "multi_label": multi, "items": len(items), "wishes": wishes}
    about = orjson.dumps([{"index": index, "item": item} for index, item in enumerate(items)]).decode()

    async def judged(said: Any) -> JsonObject:
        results = sorted(said["results"], key=lambda one: int(one["index"]))
        if [one["index"] for one in results] != list(range(len(items))):
            raise Unusable("the model did not answer once for each item")
        return {
            "results": [_result(one, names, multi) for one in results],
            "labels": list(names),
            "multi_label": multi,
            "items": len(items),
        }

    return await ask_model(kit, TASK, wanted, about, schema_of(names), judged)


def schema_of(names: list[str]) -> JsonObject:
    """Return the schema of the model's answer."""
    one = exact(
        index={"type": "integer"},
        labels={"type": "array", "items": {"type": "string", "enum": names}},
        confidence={"type": "number"},
        reason={"type": "string"},
    )
    return exact(results={"type": "array", "items": one})


def _result(said: Mapping[str, Any], names: list[str], multi: bool) -> JsonObject:
    labels = list(dict.fromkeys(said["labels"]))
    if not set(labels) <= set(names) or (not multi and len(labels) != 1):
        raise Unusable("the model gave labels that were not asked for")
    if not 0 <= said["confidence"] <= 1:
        raise Unusable("the model gave a confidence that is none")
    best = labels[0] if labels else None
    reason = said["reason"][:MAX_REASON]
    return {"index": said["index"], "label": best, "labels": labels, "confidence": said["confidence"], "reason": reason}


SERVICE = Service("classify", OFFER, work, needs_model=True)
