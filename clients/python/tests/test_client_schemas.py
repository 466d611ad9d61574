"""JSON Schemas of type hints, and values of the hinted types out of JSON."""

import dataclasses
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import jsonschema
import pydantic
import pytest

from emporion_client import Order
from emporion_client.schemas import from_json, input_schema, output_schema, to_json
from emporion_client.selling import Offers


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Judged(TypedDict):
    tone: Literal["friendly", "hostile"]
    reason: NotRequired[str]


class Inner(pydantic.BaseModel):
    name: str


class Outer(pydantic.BaseModel):
    inner: Inner
    many: list[Inner] = []


def work(
    text: Annotated[str, "any language", {"minLength": 1}],
    order: Order,
    points: list[Point] | None = None,
    more: dict[str, int] | None = None,
    outer: Outer | None = None,
    fast: bool = False,
) -> Judged:
    return {"tone": "friendly"}


def test_hints_become_a_schema_that_is_valid_and_self_contained() -> None:
    schema = input_schema(work)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["required"] == ["text"]
    assert "order" not in schema["properties"]
    assert schema["properties"]["text"] == {"type": "string", "description": "any language", "minLength": 1}
    assert schema["properties"]["fast"] == {"type": "boolean", "default": False}
    good: dict[str, Any] = {"text": "a", "points": [{"x": 1}], "more": {"a": 1}, "outer": {"inner": {"name": "n"}}}
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(good)
    for wrong in (
        {"text": ""},
        {"text": "a", "points": [{}]},
        {"text": "a", "outer": {"inner": {}}},
        {"text": "a", "b": 1},
    ):
        assert not validator.is_valid(wrong)
    result = output_schema(work)
    assert result is not None
    assert jsonschema.Draft202012Validator(result).is_valid({"tone": "hostile"})
    assert not jsonschema.Draft202012Validator(result).is_valid({"reason": "x"})


def test_the_function_gets_values_of_its_types() -> None:
    offers = Offers()
    offers.sells(title="Judge", price="0.01")(work)
    given = {"text": "a", "points": [{"x": 1}], "outer": {"inner": {"name": "n"}}, "order": "not the buyer's to give"}
    order = Order("job_1", given, 1, "job_1-0", 1, None, {})
    found = offers.services["work"].arguments(order)
    assert found["points"] == [Point(1)]
    assert found["outer"] == Outer(inner=Inner(name="n"))
    assert found["order"] is order
    assert from_json(str, {"a": 1}) == {"a": 1}


def test_outputs_become_json() -> None:
    assert to_json(Point(1)) == {"x": 1, "y": 0}
    assert to_json(Outer(inner=Inner(name="n"))) == {"inner": {"name": "n"}, "many": []}
    assert to_json([1]) == [1]


def test_a_type_without_a_schema_and_a_name_used_twice_are_refused() -> None:
    def unknown(value: object, other: complex) -> None: ...

    with pytest.raises(TypeError, match="complex"):
        input_schema(unknown)
    offers = Offers()
    offers.sells(title="Judge", price="0.01")(work)
    with pytest.raises(ValueError, match="name"):
        offers.sells(title="Judge again", price="0.01")(work)
    with pytest.raises(TypeError, match="write the amount as a text"):
        offers.sells(title="Judge", price=1, name="other")(work)
