"""Schemas given by agents: the official suite, every error, the cost of hostile schemas, and lists of faults."""

import json
import time
from functools import reduce
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.kernel import json_schema as rules
from tools.kernel.json_schema import (
    KEPT_CHECKERS,
    SchemaRefused,
    Validator,
    Violation,
    checker_for,
    is_expensive,
    validate_schema,
)
from tools.kernel.schema_patterns import MAX_READING, TOO_LONG

SUITE = sorted((Path(__file__).parents[2] / "vectors" / "jsonschema").glob("*.json"))
# Tests whose verdict differs from the suite's although the schema is admitted, each with its reason. There are none.
DIFFERING: dict[tuple[str, str, str], str] = {}


def with_a(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, **more}


def refusal(schema: Any) -> tuple[str, str] | None:
    try:
        validate_schema(schema)
    except SchemaRefused as refused:
        return refused.message, refused.path
    return None


def wrapped(schema: Any) -> dict[str, Any]:
    """Wrap a schema of the suite as the schema of one property; move its definitions to the top."""
    inner = dict(schema) if isinstance(schema, dict) else schema
    if not isinstance(inner, dict):
        return with_a(inner)
    inner.pop("$schema", None)
    return with_a(inner, **({"$defs": inner.pop("$defs")} if "$defs" in inner else {}))


@pytest.mark.parametrize("wrap", [False, True])
def test_every_admitted_schema_of_the_official_suite_judges_as_the_suite_says(wrap: bool) -> None:
    counted = {"admitted": 0, "refused": 0, "tests": 0}
    differing: set[tuple[str, str, str]] = set()
    for file in SUITE:
        for group in json.loads(file.read_text()):
            schema = wrapped(group["schema"]) if wrap else group["schema"]
            if refusal(schema) is not None:
                counted["refused"] += 1
                continue
            counted["admitted"] += 1
            checker = Validator(schema)
            for test in group["tests"]:
                counted["tests"] += 1
                document = {"a": test["data"]} if wrap else test["data"]
                assert (checker.violations(document) == []) == checker.is_valid(document)
                if checker.is_valid(document) != test["valid"]:
                    differing.add((file.stem, group["description"], test["description"]))
    print(counted)
    assert differing == DIFFERING.keys()
    assert counted == (
        {"admitted": 306, "refused": 75, "tests": 1112} if wrap else {"admitted": 7, "refused": 374, "tests": 26}
    )


def nested(depth: int, keyword: str = "not") -> Any:
    return reduce(lambda inner, _: {keyword: inner}, range(depth), {})


def chain_of_refs(length: int) -> dict[str, Any]:
    defs: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(length)}
    return with_a({"$ref": "#/$defs/d0"}, **{"$defs": {**defs, f"d{length}": {}}})


def bomb(depth: int, keyword: str) -> dict[str, Any]:
    defs: dict[str, Any] = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)}
    return with_a({"$ref": "#/$defs/d0"}, **{"$defs": {**defs, f"d{depth}": {"type": "string"}}})


def doubling(depth: int, keyword: str) -> dict[str, Any]:
    """Build a schema in which each level makes the engine evaluate the level below twice."""

    def layer(inner: Any, _: int) -> Any:
        if keyword == "contains":
            return {"contains": inner, "unevaluatedItems": False}
        return {keyword: [{"properties": {"a": inner}}], "unevaluatedProperties": False}

    return with_a(reduce(layer, range(depth), {"type": "object"}))


REF = "$ref must be #/$defs/<name> of a schema at the top, its name of letters, digits, '.', '_' and '-'."
TOP = 'The schema must say "type": "object" at its top.'
EXPANDS = "The schema has more than 32 levels or 20000 subschemas when its references are followed."
MANY = "The schema has more than is admitted: 4000 subschemas, 100 patterns and 200 references."
FLAGS = "A pattern sets flags, which ECMA-262 has not: leave (?i) out and write [Aa] for both cases."
REGEX = "A pattern is no regular expression without lookaround and backreferences, or too large."
RECURSIVE = "A recursive $ref is not supported."
INVALID = "The schema is not valid in draft 2020-12: "
REFUSALS: dict[str, tuple[Any, str, str | None]] = {
    "no object": (True, TOP, ""),
    "an array": ([], TOP, ""),
    "no type": ({}, TOP, ""),
    "another type": ({"type": "array"}, TOP, ""),
    "two types": ({"type": ["object", "null"]}, TOP, ""),
    "too many bytes": (with_a({"description": "x" * 65_536}), "The schema is larger than 65536 bytes.", ""),
    "draft 7": ({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}, "$schema must be absent or draft 2020-12.", "/$schema"),
    "no dialect": ({"type": "object", "$schema": 5}, "$schema must be absent or draft 2020-12.", "/$schema"),
    "inner dialect": (with_a({"$schema": "https://json-schema.org/draft/2020-12/schema"}), "$schema is not supported here.", "/properties/a/$schema"),
    "$id": ({"type": "object", "$id": "http://x/"}, "$id is not supported here.", "/$id"),
    "inner $id": (with_a({"allOf": [{"if": {"$id": "x"}}]}), "$id is not supported here.", "/properties/a/allOf/0/if/$id"),
    "$id under an escaped name": ({"type": "object", "properties": {"a/b~": {"$id": "x"}}}, "$id is not supported here.", "/properties/a~1b~0/$id"),
    "$anchor": (with_a({"$anchor": "x"}), "$anchor is not supported here.", "/properties/a/$anchor"),
    "$dynamicRef": (with_a({"$dynamicRef": "#x"}), "$dynamicRef is not supported here.", "/properties/a/$dynamicRef"),
    "$dynamicAnchor": ({"type": "object", "$defs": {"x": {"$dynamicAnchor": "y"}}}, "$dynamicAnchor is not supported here.", "/$defs/x/$dynamicAnchor"),
    "$recursiveRef": ({"type": "object", "$recursiveRef": "#"}, "$recursiveRef is not supported here.", "/$recursiveRef"),
    "$vocabulary": ({"type": "object", "$vocabulary": {}}, "$vocabulary is not supported here.", "/$vocabulary"),
    "dependencies": (with_a({"dependencies": {"a": {"$ref": "file:///etc/passwd"}}}), "dependencies is not supported here.", "/properties/a/dependencies"),
    "remote reference": (with_a({"$ref": "http://127.0.0.1/x"}), REF, "/properties/a/$ref"),
    "file reference": (with_a({"$ref": "file:///etc/passwd"}), REF, "/properties/a/$ref"),
    "reference to the root": (with_a({"$ref": "#"}), REF, "/properties/a/$ref"),
    "reference elsewhere": (with_a({"$ref": "#/properties/a"}), REF, "/properties/a/$ref"),
    "reference into a definition": (with_a({"$ref": "#/$defs/x/not"}, **{"$defs": {"x": {"not": {}}, "x/not": {}}}), REF, "/properties/a/$ref"),
    "escaped reference": (with_a({"$ref": "#/$defs/%78"}, **{"$defs": {"x": {}, "%78": {}}}), REF, "/properties/a/$ref"),
    "reference with a line feed": (with_a({"$ref": "#/$defs/x\n"}, **{"$defs": {"x": {}, "x\n": {}}}), REF, "/properties/a/$ref"),
    "reference to nothing": (with_a({"$ref": "#/$defs/x"}), REF, "/properties/a/$ref"),
    "reference to an inner definition": (with_a({"$defs": {"x": {}}, "$ref": "#/$defs/x"}), REF, "/properties/a/$ref"),
    "reference that is no text": (with_a({"$ref": 5}), REF, "/properties/a/$ref"),
    "reference among no definitions": (with_a({"$ref": "#/$defs/0"}, **{"$defs": [{}]}), REF, "/properties/a/$ref"),
    "too many references": (with_a({"allOf": [{"$ref": "#/$defs/x"}] * 201}, **{"$defs": {"x": {}}}), MANY, "/properties/a/allOf/200"),
    "loop": (with_a({"$ref": "#/$defs/x"}, **{"$defs": {"x": {"$ref": "#/$defs/x"}}}), RECURSIVE, "/$defs"),
    "tree": (with_a({"$ref": "#/$defs/x"}, **{"$defs": {"x": with_a({"$ref": "#/$defs/x"})}}), RECURSIVE, "/$defs"),
    "circle nobody enters": ({"type": "object", "$defs": {"x": {"not": {"$ref": "#/$defs/y"}}, "y": {"$ref": "#/$defs/x"}}}, RECURSIVE, "/$defs"),
    "33 levels": (with_a(nested(32)), EXPANDS, ""),
    "33 levels nobody enters": ({"type": "object", "$defs": {"x": nested(33)}}, EXPANDS, ""),
    "33 levels of references": (chain_of_refs(30), EXPANDS, ""),
    "far too deep": (with_a(nested(10_000)), "The document is nested more than 64 levels deep.", ""),
    "too many subschemas": (with_a({"allOf": [{}] * 4000}), MANY, "/properties/a/allOf/3998"),
    "a choice that doubles": (bomb(14, "anyOf"), EXPANDS, ""),
    "a conjunction that doubles": (bomb(14, "allOf"), EXPANDS, ""),
    "unevaluatedProperties that doubles": (doubling(12, "anyOf"), EXPANDS, ""),
    "unevaluatedItems that doubles": (doubling(14, "contains"), EXPANDS, ""),
    "long pattern": (with_a({"pattern": "a" * 513}), "A pattern is longer than 512 characters.", "/properties/a"),
    "long property pattern": (with_a({"patternProperties": {"a" * 513: {}}}), "A pattern is longer than 512 characters.", "/properties/a"),
    "too many patterns": (with_a({"allOf": [{"pattern": "a"}] * 101}), MANY, "/properties/a/allOf/100"),
    "lookaround": (with_a({"pattern": "(?=a)b"}), REGEX, "/properties/a/pattern"),
    "backreference": (with_a({"pattern": "(a)\\1"}), REGEX, "/properties/a/pattern"),
    "a pattern of many classes": (with_a({"pattern": r"\w" * 250}), TOO_LONG, ""),
    "a pattern of many spaces": (with_a({"pattern": r"\s" * 120}), TOO_LONG, ""),
    "a pattern of long classes": (with_a({"pattern": "[" + r"\s" * 250 + "]"}), TOO_LONG, ""),
    "patterns of many classes": (with_a({"patternProperties": {r"\d" * 60 + "a" * n: {} for n in range(50)}}), TOO_LONG, ""),
    "a flag": (with_a({"pattern": r"^\\(?i)[\x00-\x{10ffff}]$"}), FLAGS, "/properties/a"),
    "flags in a group": (with_a({"pattern": "a(?s-i:b)"}), FLAGS, "/properties/a"),
    "huge repetition": (with_a({"pattern": "((a{100}){100}){100}"}), REGEX, "/properties/a/pattern"),
    "lookaround in a name": (with_a({"patternProperties": {"(?!a)b": {}}}), REGEX, "/properties/a/patternProperties/(?!a)b"),
    "long enum": (with_a({"enum": list(range(1001))}), "An enum has more than 1000 values.", "/properties/a/enum"),
    "bad type": (with_a({"type": "zork"}), INVALID, "/properties/a/type"),
    "bad keyword": (with_a({"minimum": "x"}), INVALID, "/properties/a/minimum"),
    "properties as a list": ({"type": "object", "properties": []}, INVALID, "/properties"),
    "definitions as a list": ({"type": "object", "$defs": []}, INVALID, "/$defs"),
    "items as a list": (with_a({"items": [{}]}), INVALID, "/properties/a/items"),
    "multiple of nothing": (with_a({"multipleOf": 0}), INVALID, "/properties/a/multipleOf"),
    "an integer no one reads alike": (with_a({"const": 2**64}), "An integer beyond ±(2^53-1) is not admitted; send it as a string.", ""),
    "a lone surrogate": (with_a({"const": "\ud800"}), "A lone surrogate is not a character: text must be valid Unicode.", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_a13_a14_a_schema_outside_the_bounds_is_refused(name: str) -> None:
    schema, message, path = REFUSALS[name]
    started = time.thread_time()
    refused = refusal(schema)
    print(f"{name}: {(time.thread_time() - started) * 1e3:.2f} ms")
    assert refused is not None
    assert refused[0].startswith(message) if message == INVALID else refused[0] == message
    assert refused[1] == path


MOMENT = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$"
ADMITTED: dict[str, Any] = {
    "the least": {"type": "object"},
    "the dialect": {"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema#"},
    "names that only look like keywords": {"type": "object", "properties": {"$id": {}, "$ref": {"type": "string"}, "dependencies": {}}},
    "keywords inside values": with_a({"const": {"$id": "http://x/"}, "default": {"$ref": "http://x/"}, "enum": [{"$anchor": "y"}]}),
    "shared definitions": with_a({"$ref": "#/$defs/A.b-c_1"}, **{"$defs": {"A.b-c_1": {"type": "string"}, "odd/name": True}}),
    "32 levels": with_a(nested(30)),
    "31 levels of references": chain_of_refs(28),
    "nested strict objects": reduce(lambda inner, _: with_a(inner, unevaluatedProperties=False), range(25), {}),
    "unknown keywords": with_a({"x-ui": {"$id": 5}, "examples": [1], "format": "email", "contentSchema": {}}),
    "a pattern for every script": with_a({"pattern": r"^\p{L}[\p{L}\p{N} ]{0,30}$"}),
    "a pattern that backtracks elsewhere": with_a({"pattern": "^(a+)+$"}),
    "a pattern that only looks as if it set a flag": with_a({"pattern": r"^\(?i\)(?:a|b)(?P<c>d)$"}),
    "a hundred dates": with_a({"allOf": [{"pattern": MOMENT}] * 100}),
    "1000 values": with_a({"enum": [f"code-{n}" for n in range(1000)]}),
}  # fmt: skip


@pytest.mark.parametrize("name", ADMITTED)
def test_an_ordinary_schema_is_admitted(name: str) -> None:
    assert refusal(ADMITTED[name]) is None


KEYWORDS = st.sampled_from([
    "type", "$ref", "$defs", "$id", "properties", "items", "prefixItems", "allOf", "anyOf", "not", "if", "then", "enum", "const", "a",
    "pattern", "patternProperties", "required", "minimum", "multipleOf", "dependentSchemas", "unevaluatedItems", "$schema", "contains",
])  # fmt: skip
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats()
    | st.sampled_from(["object", "#/$defs/a", "a", "(", "string", ""])
)
TREES: st.SearchStrategy[Any] = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4), max_leaves=15
)


@settings(deadline=None)
@given(st.dictionaries(KEYWORDS, TREES, max_size=5), st.booleans())
def test_anything_at_all_is_admitted_or_refused(tree: dict[str, Any], as_object: bool) -> None:
    schema = {**tree, "type": "object"} if as_object else tree
    if refusal(schema) is None:
        assert Validator(schema).violations({}) == [] or not Validator(schema).is_valid({})
        is_expensive(orjson.dumps(schema).decode(), 100)


# --- agreement with the reference implementation


SCALARS: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-3, 12) | st.sampled_from([0.5, 1.0, 2.5, -1.5]) | st.text("ab", max_size=3)
)
NAMES = st.sampled_from(["a", "b", "c"])
DOCUMENTS: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    parts, some = st.dictionaries(NAMES, inner, max_size=3), st.lists(inner, min_size=1, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
            "properties": parts, "patternProperties": st.dictionaries(st.sampled_from(["^a", "b|c"]), inner, max_size=2),
            "additionalProperties": inner, "required": st.lists(NAMES, max_size=2, unique=True), "propertyNames": inner,
            "items": inner, "prefixItems": some, "contains": inner, "minContains": st.integers(0, 2), "uniqueItems": st.booleans(),
            "allOf": some, "anyOf": some, "oneOf": some, "not": inner, "if": inner, "then": inner, "else": inner,
            "dependentSchemas": parts, "unevaluatedProperties": inner, "unevaluatedItems": inner,
            "enum": st.lists(SCALARS, min_size=1, max_size=3, unique_by=repr), "const": DOCUMENTS,
            "minimum": st.integers(-2, 5), "multipleOf": st.sampled_from([2, 0.5]), "maxLength": st.integers(0, 2),
            "pattern": st.sampled_from(["^a", "b$", "^(a|b)*$"]), "maxItems": st.integers(0, 2), "minProperties": st.integers(0, 2),
            "$ref": st.just("#/$defs/shared"),
        },
    )  # fmt: skip


SCHEMAS = st.recursive(st.booleans() | st.fixed_dictionaries({"type": TYPES}), schemas, max_leaves=6)


@settings(deadline=None)
@given(SCHEMAS, TYPES, DOCUMENTS, DOCUMENTS)
def test_the_engine_and_the_reference_implementation_agree(schema: Any, shared: str, first: Any, second: Any) -> None:
    whole = with_a(schema, **{"$defs": {"shared": {"type": shared, "maxItems": 1}}})
    validate_schema(whole)
    checker, reference = Validator(whole), jsonschema.Draft202012Validator(whole)
    for document in ({"a": first}, {"a": second}):
        violations = checker.violations(document)
        assert checker.is_valid(document) == reference.is_valid(document) == (violations == [])
        for violation in violations:
            assert at(document, violation.path) is not None
            assert 0 < len(violation.message) <= 300


def at(document: Any, path: str) -> list[Any] | None:
    """Return the value at a JSON Pointer, in a list; None if there is none."""
    for step in path.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        else:
            return None
    return [document]


# --- the list of faults


ORDER = {
    "type": "object",
    "required": ["rows", "note"],
    "properties": {
        "rows": {"type": "array", "maxItems": 4, "items": {"$ref": "#/$defs/row"}},
        "a/b~c": {"type": "string", "maxLength": 2},
        "choice": {"oneOf": [{"type": "string"}, {"type": "string", "minLength": 2}]},
        "when": {"if": {"type": "string"}, "then": {"pattern": "^[0-9]+$"}, "else": {"type": "integer"}},
        "strict": {"allOf": [{"properties": {"x": True}}], "unevaluatedProperties": False},
        "coded": {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False},
        "never": False,
    },
    "$defs": {
        "row": {
            "type": "object",
            "properties": {"id": {"type": "integer", "minimum": 1}, "owner": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/owner"}]}},
            "required": ["id"],
            "additionalProperties": False,
        },
        "owner": {"type": "object", "properties": {"kind": {"enum": ["agent", "human"]}}, "additionalProperties": {"type": "number"}},
    },
}  # fmt: skip


def test_all_faults_are_listed_each_at_its_place() -> None:
    document: Any = {
        "rows": [{"id": 0, "owner": {"kind": "bot", "n": 1, "m": "x"}}, {"owner": None, "extra": 1}, 5],
        "a/b~c": "long",
        "choice": "ab",
        "when": "x",
        "strict": {"x": 1, "y": 2},
        "coded": {"x-a": "no"},
        "never": 1,
    }
    assert {(fault.path, fault.message) for fault in Validator(ORDER).violations(document)} == {
        ("", 'The required property "note" is missing.'),
        ("/rows/0/id", 'The value, a number, does not satisfy "minimum": 1'),
        ("/rows/0/owner/kind", 'The value, a string, does not satisfy "enum": ["agent","human"]'),
        ("/rows/0/owner/m", 'The value, a string, does not satisfy "type": "number"'),
        ("/rows/1", 'The required property "id" is missing.'),
        ("/rows/1/extra", "Nothing is allowed here; leave it out."),
        ("/rows/2", 'The value, a number, does not satisfy "type": "object"'),
        ("/a~1b~0c", 'The value, a string, does not satisfy "maxLength": 2'),
        ("/choice", 'The value, a string, does not satisfy "oneOf": [{"type":"string"},{"type":"string","minLength":2}]'),
        ("/when", 'The value, a string, does not satisfy "pattern": "^[0-9]+$"'),
        ("/strict", 'The value, an object, does not satisfy "unevaluatedProperties": false'),
        ("/coded", 'The value, an object, does not satisfy "patternProperties": {"^x-":{"type":"integer"}}'),
        ("/never", "Nothing is allowed here; leave it out."),
    }  # fmt: skip
    assert Validator(ORDER).violations({"rows": [{"id": 1, "owner": None}], "note": 5}) == []


def test_names_the_patterns_leave_over_are_told() -> None:
    faults = Validator(ORDER).violations({"rows": [], "note": 1, "coded": {"y": 1}})
    assert faults == [Violation("/coded", 'The value, an object, does not satisfy "additionalProperties": false')]


def test_at_most_the_asked_number_of_faults_is_listed() -> None:
    checker = Validator(with_a({"items": {"type": "string"}}))
    assert [len(checker.violations({"a": [1] * 50}, limit)) for limit in (1, 7, 20)] == [1, 7, 20]
    assert checker.violations({"a": [1] * 50})[19] == Violation(
        "/a/19", 'The value, a number, does not satisfy "type": "string"'
    )


def test_a_fault_quotes_neither_the_document_nor_more_than_300_characters() -> None:
    faults = Validator(with_a({"enum": ["é" * 400]}, required=["b" * 400])).violations({"a": "secret"})
    assert [len(fault.message) for fault in faults] == [300, 300]
    assert not any("secret" in fault.message for fault in faults)


@pytest.mark.parametrize(
    "schema, document, count",
    [
        ({"items": {"type": "string"}}, [1] * 260_000, 20),
        ({"anyOf": [{"items": {"type": "string"}}, {"maxItems": 1}]}, [1] * 260_000, 1),
        ({"items": {"type": "integer"}}, [1] * 260_000 + ["x"], 1),
        ({"items": {"items": {"anyOf": [{"const": n} for n in range(50)]}}}, [[99] * 500] * 500, 20),
        ({"pattern": "^(a+)+$"}, "a" * 500_000 + "!", 1),
        ({"uniqueItems": True}, [{"n": n} for n in range(20_000)] + [{"n": 5}], 1),
    ],
)
def test_a13_the_faults_of_a_large_document_are_found_without_listing_them_all(
    schema: Any, document: Any, count: int
) -> None:
    checker = Validator(with_a(schema))
    started = time.thread_time()
    faults = checker.violations({"a": document})
    print(f"{schema}: {(time.thread_time() - started) * 1e3:.1f} ms")
    assert len(faults) == count


def test_a_schema_too_large_to_explain_still_gets_a_fault() -> None:
    patterns = [{"pattern": f"[ab]*a[ab]{{{n + 20}}}c"} for n in range(99)]
    checker = Validator(with_a({"type": "array", "items": {"type": "string", "allOf": patterns}}))
    faults = checker.violations({"a": ["abc"]})
    assert len(faults) >= 1


SLOWLY_READ = {"properties": {f"p{n}": {"pattern": r"\d" * 25 + "a" * n} for n in range(45)}}


def test_a13_what_is_admitted_takes_long_to_read_at_most_once_and_then_not_beside_others() -> None:
    """Compiling rewrites each character class of a pattern and rereads the pattern each time."""
    text = orjson.dumps(with_a(SLOWLY_READ)).decode()
    assert 0.8 * MAX_READING < rules.pattern_cost(text) <= MAX_READING
    assert refusal(with_a(SLOWLY_READ)) is None
    assert is_expensive(text, 2)
    assert not is_expensive(orjson.dumps(with_a({"pattern": MOMENT})).decode(), 200)


def test_a13_to_explain_a_document_patterns_are_not_read_again_at_every_level(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = with_a(reduce(lambda inner, _: {"allOf": [inner]}, range(28), SLOWLY_READ))
    validate_schema(schema)
    checker, compile_, read = Validator(schema), rules._compile, list[float]()
    monkeypatch.setattr(rules, "_compile", lambda part: read.append(rules.reading_of(part)) or compile_(part))
    assert checker.violations({"a": dict.fromkeys(SLOWLY_READ["properties"], "zz")}) != []
    assert sum(read) <= 50_000


def test_a14_the_kept_checkers_are_bounded_and_shared() -> None:
    texts = [orjson.dumps(with_a({"const": n})).decode() for n in range(KEPT_CHECKERS + 5)]
    checkers = [checker_for(text) for text in texts]
    assert checker_for(texts[-1]) is checkers[-1]
    assert checker_for.cache_info().maxsize == checker_for.cache_info().currsize == KEPT_CHECKERS
    assert [checkers[7].is_valid({"a": value}) for value in (7, 8)] == [True, False]


ROW = {
    "id": {"type": "string"},
    "price": {"type": "number", "minimum": 0},
    "tags": {"type": "array", "items": {"type": "string"}},
}


@pytest.mark.parametrize(
    "schema, light_bytes",
    [
        ({"type": "object"}, 65_536),
        (
            with_a({"items": {"type": "object", "properties": ROW, "required": ["id"], "additionalProperties": False}}),
            33_333,
        ),
        (with_a({"type": "string", "pattern": "^[a-z0-9-]{1,64}$"}), 15_000),
        (with_a({"items": {"anyOf": [{"const": n} for n in range(1000)]}}), 90),
        (with_a({"items": {"multipleOf": 0.01}}), 850),
        (with_a({"pattern": "((a|b)*a(a|b){20}|(b|a)*b[ab]{40}){1,5}c"}), 2_900),
        (doubling(10, "anyOf"), 110),
        (with_a({"items": {"dependentRequired": {f"k{n}": [] for n in range(3000)}}}), 790),
    ],
)
def test_a13_what_may_take_long_is_known_before_it_is_tried(schema: Any, light_bytes: int) -> None:
    validate_schema(schema)
    text = orjson.dumps(schema).decode()
    assert not is_expensive(text, int(light_bytes * 0.9))
    assert is_expensive(text, int(light_bytes * 1.1) + 1)
