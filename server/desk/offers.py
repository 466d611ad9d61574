"""The parts of which the offers of the desk are made: prices, terms and JSON Schemas."""

from typing import Any

JsonObject = dict[str, Any]
NULLABLE = {"type": ["string", "null"]}


def on_delivery(turnaround: int) -> JsonObject:
    """Return what the offers have in common, such as payment on delivery and ten orders at once."""
    times = {"turnaround_seconds": turnaround, "accept_timeout_seconds": 900}
    return {"payment": "on_delivery", "max_open_jobs": 10, **times}


def exact(**properties: JsonObject) -> JsonObject:
    """Return the schema of an object that has all of these properties and no other."""
    return object_schema(properties, list(properties))


def by_characters(price: int, per: int, most: int) -> JsonObject:
    """Return the pricing of a text of at most `most` characters, for each `per` of them."""
    return {
        "pricing_model": "per_unit",
        "price": price,
        "unit_name": f"{per} characters",
        "unit_basis": {"rules": [{"field": "text", "measure": "characters", "per": per}], "max": most // per},
        "unit_basis_note": f"ceil(characters of text / {per})",
    }


def object_schema(properties: JsonObject, required: list[str], **more: Any) -> JsonObject:
    """Return the schema of an object that has no other properties; some are required."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False, **more}


def text(most: int, least: int = 1, **more: Any) -> JsonObject:
    return {"type": "string", "minLength": least, "maxLength": most, **more}
