"""openapi.json gives generators names: no two types of one name, and no type without one."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCUMENT: Any = json.loads(
    subprocess.run(
        [sys.executable, "-m", "server", "openapi"], cwd=Path(__file__).parents[2], capture_output=True, check=True
    ).stdout
)
SCHEMAS: Any = DOCUMENT["components"]["schemas"]
OPERATIONS: Any = [one for methods in DOCUMENT["paths"].values() for one in methods.values()]
ERROR = {"$ref": "#/components/schemas/Error"}


def test_every_refusal_is_the_one_error_with_its_codes() -> None:
    seen = 0
    for operation in OPERATIONS:
        for status, response in operation["responses"].items():
            if int(status) >= 400 and operation["operationId"] != "get_access_token":
                whole = resolved(response)
                schema = whole["content"]["application/json"]["schema"]
                if (operation["operationId"], status) == ("buy_with_x402", "402"):
                    assert schema == {"$ref": "#/components/schemas/X402Quote"}
                    continue
                assert schema == ERROR or (status == "402" and names_terms(schema)), (operation["operationId"], status)
                assert all(f"{code}: " in whole["description"] for code in whole["x-codes"])
                seen += len(whole["x-codes"])
    assert seen > 1000


def test_a_body_is_an_object_with_a_name() -> None:
    for operation in OPERATIONS:
        request = operation.get("requestBody", {"content": {}})
        for media in request["content"].values():
            assert list(media["schema"]) == ["$ref"], operation["operationId"]
            schema = resolved(media["schema"])
            assert schema["type"] == "object", operation["operationId"]
            assert request["required"] is bool(schema.get("required")), operation["operationId"]


def test_no_field_is_null_alone() -> None:
    found = [place for place, schema in fields() if schema.get("type") == "null" or schema.get("const", 0) is None]
    assert found == []


def test_no_schema_has_the_name_that_a_field_gives_to_its_own_type() -> None:
    """A field whose type has no name is named after its schema and itself."""
    unnamed = {name + pascal(field) for (name, field), schema in fields() if makes_a_type(schema)}
    assert unnamed & SCHEMAS.keys() == set()
    assert "EvaluatorRecord" in unnamed


def test_no_schema_is_named_like_what_generators_make_of_an_operation() -> None:
    made = {pascal(one["operationId"]) + end for one in OPERATIONS for end in ("Request", "Response")}
    assert made & SCHEMAS.keys() == set()


def test_every_enumeration_has_a_name_of_its_own() -> None:
    inline = [place for place, part in parts(DOCUMENT) if isinstance(part.get("enum"), list) and not is_top(place)]
    assert inline == []
    named = [frozenset(schema["enum"]) for schema in SCHEMAS.values() if "enum" in schema]
    assert len(named) == len(set(named)) > 50


def test_every_tag_is_described() -> None:
    described = {tag["name"] for tag in DOCUMENT["tags"] if tag["description"]}
    assert {tag for one in OPERATIONS for tag in one["tags"]} == described


def names_terms(schema: Any) -> bool:
    kinds = [one["$ref"].rpartition("/")[2] for one in schema["anyOf"]]
    return kinds == ["PaymentTermsWithError", "Error"]


def fields() -> Iterator[tuple[tuple[str, str], Any]]:
    for name, schema in SCHEMAS.items():
        for field, part in schema.get("properties", {}).items():
            yield (name, field), part


def makes_a_type(schema: Any) -> bool:
    """Check whether the field is an object or an enumeration without a name of its own."""
    branches = [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]
    return schema.get("type") == "object" or "enum" in schema or any(makes_a_type(one) for one in branches)


def parts(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each object of the document with its place; examples are no part of it."""
    if isinstance(value, dict):
        yield place, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        if name not in ("example", "examples") or place[-1:] == ("properties",):
            yield from parts(part, (*place, str(name)))


def is_top(place: tuple[str, ...]) -> bool:
    return place[:2] == ("components", "schemas") and len(place) == 3


def resolved(part: Any) -> Any:
    if "$ref" not in part:
        return part
    _, group, name = part["$ref"].removeprefix("#/").split("/")
    return DOCUMENT["components"][group][name]


def pascal(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
