"""JSON Schemas of type hints, and values of the hinted types out of JSON."""

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

JsonObject = dict[str, Any]
PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
PARAMETERS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def input_schema(work: Callable[..., Any]) -> JsonObject:
    """Return the schema of a function's parameters; `order` is not the buyer's to give."""
    hints = typing.get_type_hints(work, include_extras=True)
    signature = inspect.signature(work).parameters.values()
    taken = [one for one in signature if one.name != "order" and one.kind in PARAMETERS]
    schema: JsonObject = {
        "type": "object",
        "properties": {one.name: _with_default(schema_of(hints.get(one.name, Any)), one.default) for one in taken},
        "additionalProperties": any(one.kind is inspect.Parameter.VAR_KEYWORD for one in signature),
    }
    needed = [one.name for one in taken if one.default is inspect.Parameter.empty]
    return _lifted(schema | ({"required": needed} if needed else {}))


def output_schema(work: Callable[..., Any]) -> JsonObject | None:
    """Return the schema of a function's result; None if its type hint says nothing."""
    hint = typing.get_type_hints(work, include_extras=True).get("return")
    return None if hint is None or hint is Any else _lifted(schema_of(hint))


def schema_of(hint: Any) -> JsonObject:
    """Return the JSON Schema of a type hint."""
    if hint is Any or hint is object:
        return {}
    if hint is None:
        return {"type": "null"}
    if isinstance(hint, type) and hint in PLAIN:
        return {"type": PLAIN[hint]}
    if hasattr(hint, "model_json_schema"):  # pydantic, if the seller uses it
        made: JsonObject = hint.model_json_schema()
        return made
    if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
        return _record(hint)
    made_of_parts = _generic(hint)
    if made_of_parts is None:
        raise TypeError(f"{hint}: no JSON Schema is known for this type; give input_schema= or output_schema=")
    return made_of_parts


def _generic(hint: Any) -> JsonObject | None:
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        return _annotated(inner)
    if kind is Literal:
        return {"enum": list(inner)}
    if kind in (Union, types.UnionType):
        return {"anyOf": [schema_of(one) for one in inner]}
    if kind in (list, set, tuple):
        return {"type": "array"} | ({"items": schema_of(inner[0])} if inner else {})
    if kind is dict:
        return {"type": "object"} | ({"additionalProperties": schema_of(inner[1])} if inner else {})
    return None


def _annotated(inner: tuple[Any, ...]) -> JsonObject:
    """Return the schema of Annotated: a text is the description, a dict is more schema."""
    schema = schema_of(inner[0])
    for one in inner[1:]:
        if isinstance(one, str):
            schema = schema | {"description": one}
        if isinstance(one, dict):
            schema = schema | one
    return schema


def _record(hint: Any) -> JsonObject:
    hints = typing.get_type_hints(hint, include_extras=True)
    if typing.is_typeddict(hint):
        needed = sorted(hint.__required_keys__)
        hints = {name: _unwrapped(one) for name, one in hints.items()}
    else:
        needed = [one.name for one in dataclasses.fields(hint) if _is_needed(one)]
    schema: JsonObject = {"type": "object", "properties": {name: schema_of(one) for name, one in hints.items()}}
    return schema | ({"required": needed} if needed else {})


def _unwrapped(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in (typing.Required, typing.NotRequired) else hint


def _is_needed(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _with_default(schema: JsonObject, default: Any) -> JsonObject:
    if isinstance(default, str | int | float | bool):
        return schema | {"default": default}
    return schema


def _lifted(schema: JsonObject) -> JsonObject:
    """Move nested definitions to the top, where their references look for them."""
    definitions: JsonObject = {}

    def without(value: Any) -> Any:
        if isinstance(value, list):
            return [without(one) for one in value]
        if not isinstance(value, dict):
            return value
        if isinstance(value.get("$defs"), dict):
            definitions.update(without(value["$defs"]))
        return {name: without(one) for name, one in value.items() if name != "$defs"}

    moved: JsonObject = without(schema)
    return moved | ({"$defs": definitions} if definitions else {})


def from_json(hint: Any, value: Any) -> Any:
    """Return a JSON value as its hinted type: dataclasses and pydantic models are made."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return from_json(inner[0], value)
    if kind in (Union, types.UnionType):
        fitting = (one for one in inner if _fits(one, value))
        return from_json(next(fitting, Any), value)
    if kind is list and inner and isinstance(value, list):
        return [from_json(inner[0], one) for one in value]
    if kind is dict and inner and isinstance(value, dict):
        return {name: from_json(inner[1], one) for name, one in value.items()}
    if not isinstance(value, dict) or not _is_class_of_records(hint):
        return value
    if hasattr(hint, "model_validate"):
        return hint.model_validate(value)
    hints = typing.get_type_hints(hint, include_extras=True)
    return hint(**{name: from_json(hints.get(name, Any), one) for name, one in value.items()})


def _fits(hint: Any, value: Any) -> bool:
    """Tell whether values of a type hint have the JSON form of this value."""
    kind = get_origin(hint) or hint
    if isinstance(value, list):
        return kind is list
    return isinstance(value, dict) and (kind is dict or _is_class_of_records(hint))


def _is_class_of_records(hint: Any) -> bool:
    return hasattr(hint, "model_validate") or (isinstance(hint, type) and dataclasses.is_dataclass(hint))


def to_json(output: Any) -> Any:
    """Return what a function returned as JSON can hold it."""
    if hasattr(output, "model_dump"):
        return output.model_dump(mode="json")
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        return dataclasses.asdict(output)
    return output
