"""JSON Schema validation as a service: any document, any valid schema of bounded cost; hostile ones are declined."""

from typing import Any

import pytest

from emporion_client import Decline
from server.desk.service import Kit, Order
from server.desk.services.validate_json import SERVICE
from tests.support.refusals import COSTLY, LONG

DEEP: dict[str, Any] = {"type": "string"}
for _ in range(31):
    DEEP = {"allOf": [DEEP]}


async def sold(kit: Kit, **given: Any) -> Any:
    return await SERVICE.work(kit, Order(given))


async def test_the_example_is_what_is_answered(kit: Kit) -> None:
    assert await sold(kit, **SERVICE.offer["example_input"]) == SERVICE.offer["example_output"]


async def test_any_document_is_checked_with_paths_of_its_own(kit: Kit) -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "items": {"$ref": "#/$defs/one"},
        "$defs": {
            "one": {"type": "object", "required": ["a"], "additionalProperties": False, "properties": {"a": True}}
        },
    }
    good = await sold(kit, schema=schema, data=[{"a": 1}])
    bad = await sold(kit, schema=schema, data=[{"b": 1}, 7])
    nothing = await sold(kit, schema={"type": "null"}, data=None)
    assert good["all_valid"]
    assert nothing["all_valid"]
    assert [(one["path"], one["keyword"]) for one in bad["results"][0]["errors"]] == [
        ("/0", "required"),
        ("/0/b", None),
        ("/1", "type"),
    ]


async def test_a_schema_that_is_none_is_told_and_nothing_is_checked(kit: Kit) -> None:
    said = await sold(kit, schema={"type": "objekt"}, documents=[1, 2])
    assert (said["all_valid"], said["results"]) == (False, [])
    assert "objekt is no type" in said["schema_error"]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "https://example.com/schema.json"}, r"\$ref must be"),
        ({"$ref": "file:///etc/passwd"}, r"\$ref must be"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "draft 2020-12"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "recursive"),
        ({"pattern": "(?=a)a"}, "lookaround"),
        (DEEP, "32 levels|64 levels"),
        ({"enum": ["x" * 70_000]}, "65536 bytes"),
    ],
    ids=["remote", "file", "another draft", "a circle", "lookaround", "deep", "large"],
)
async def test_a_schema_of_unbounded_cost_is_declined(kit: Kit, schema: Any, why: str) -> None:
    with pytest.raises(Decline, match=why):
        await SERVICE.work(kit, Order({"schema": schema, "data": 1}))


async def test_a_document_that_takes_too_long_is_declined_and_the_next_is_checked(kit: Kit) -> None:
    with pytest.raises(Decline, match="Document 1 takes more than 250 ms"):
        await SERVICE.work(kit, Order({"schema": COSTLY, "documents": [{"a": []}, LONG]}))
    assert (await sold(kit, schema={}, data=1))["all_valid"]
