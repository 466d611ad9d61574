"""Strict JSON reading: the official cases, every error with its path, and agreement with Python's own parser."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools.kernel import strict_json as jsontext
from tools.kernel.strict_json import MAX_DEPTH, MAX_INTEGER, BadJson, MalformedJson, parse, validate_tree, with_integers

CASES = json.loads((Path(__file__).parents[2] / "vectors" / "json_parsing.json").read_text())["cases"]
GENERATED = {
    "n_structure_100000_opening_arrays.json": b"[" * 100_000,
    "n_structure_open_array_object.json": b'[{"":' * 50_000 + b"\n",
}
# Cases that the suite calls valid and our stricter rules refuse, each with the rule.
STRICTER = {
    "y_object_duplicated_key.json": "The key 'a' stands twice in one object.",
    "y_object_duplicated_key_and_value.json": "The key 'a' stands twice in one object.",
    "y_object_escaped_null_in_key.json": "Key 1 of an object is refused. The character U+0000 is not admitted in text.",
    "y_string_null_escape.json": "The character U+0000 is not admitted in text.",
}
# Cases that the suite leaves open and we accept: numbers too small for a double are read as 0.
TAKEN = {"i_number_double_huge_neg_exp.json", "i_number_real_underflow.json"}
TOO_LARGE = "An integer beyond ±(2^53-1) is not admitted; send it as a string."
TWICE = "The key 'a' stands twice in one object."
NO_NUL = "The character U+0000 is not admitted in text."
LONE = "A lone surrogate is not a character: text must be valid Unicode."
NOT_FINITE = "NaN and Infinity are not JSON numbers."
TOO_DEEP = "The document is nested more than 64 levels deep."
MIB = 1 << 20


def text_of(case: dict[str, Any]) -> bytes:
    raw: str | None = case["b64"]
    return GENERATED[case["name"]] if raw is None else base64.b64decode(raw)


def verdict(raw: bytes) -> str | None:
    try:
        parse(raw)
    except BadJson as refused:
        return refused.message
    return None


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_official_parsing_cases_are_judged_as_the_suite_says(case: dict[str, Any]) -> None:
    name, refusal = case["name"], verdict(text_of(case))
    if name.startswith("n_"):
        assert refusal is not None
    elif name.startswith("y_"):
        assert refusal == STRICTER.get(name)
    else:
        assert (refusal is None) == (name in TAKEN)


def test_the_suite_is_whole() -> None:
    assert len(CASES) == 318
    assert {case["name"] for case in CASES} > STRICTER.keys() | TAKEN | GENERATED.keys()


@pytest.mark.parametrize(
    "raw, message, path",
    [
        (b'{"a":1,"a":2}', TWICE, ""),
        (b'{"a":1,"\\u0061":1}', TWICE, ""),
        (b'{"x":[0,{"y":{"a":{},"a":[]}}]}', TWICE, "x.1.y"),
        (b'{"a":"\\u003a","a":1,"b":"::"}', TWICE, ""),
        (b'{"a":{"b":{"c":":"}},"a":"\\u003a\\u003a\\u003A"}', TWICE, ""),
        (b'{"a":[[[1,99999999999999999]]],"a":1}', TWICE, ""),
        (b'{"a":9007199254740992}', TOO_LARGE, "a"),
        (b'{"a":[1,-9007199254740992]}', TOO_LARGE, "a.1"),
        (b"18446744073709551616", TOO_LARGE, ""),
        (b'["x",1000000000000000000000000000000]', TOO_LARGE, "1"),
        (b"[" + b"9" * 300 + b"]", TOO_LARGE, "0"),
        (b"[1e17]", TOO_LARGE, "0"),
        (b"[[], -9.1E+15]", TOO_LARGE, "1"),
        (b"[9007199254740993.0]", TOO_LARGE, "0"),
        (b"[0.5, 12345678901234567.5]", TOO_LARGE, "1"),
        (b'{"a":{"b":["ok","x\\u0000"]}}', NO_NUL, "a.b.1"),
        (b'{"a":{"ok":1,"b\\u0000":2}}', f"Key 2 of an object is refused. {NO_NUL}", "a"),
        (nested(65), TOO_DEEP, ".".join("0" * 64)),
        (nested(1000), TOO_DEEP, ".".join("0" * 64)),
        (b'["1e1",%s]' % nested(64), TOO_DEEP, ".".join("1" + "0" * 63)),
        (b'{"a":%s,"a":1}' % nested(500), TWICE, ""),
    ],
)
def test_what_two_readers_could_understand_differently_is_refused_with_its_path(
    raw: bytes, message: str, path: str
) -> None:
    with pytest.raises(BadJson) as refused:
        parse(raw)
    assert (refused.value.message, str(refused.value), refused.value.path) == (message, message, path)
    assert not isinstance(refused.value, MalformedJson)


@pytest.mark.parametrize(
    "raw, message",
    [
        (b"", "The JSON text is malformed at line 1, column "),
        (b"\xef\xbb\xbf{}", "The JSON text starts with a byte order mark; send UTF-8 without one."),
        (b'{"a":"\xff"}', "The JSON text is not valid UTF-8 at byte 6."),
        (b'"\xed\xa0\x80"', "The JSON text is not valid UTF-8 at byte 1."),
        (b'"\\ud800"', "The JSON text is malformed at line 1, column "),
        (b'{"\\udfff":1}', "The JSON text is malformed at line 1, column "),
        (b"[1,\n2,]", "The JSON text is malformed at line 2, column "),
        (b"{} {}", "The JSON text is malformed at line 1, column "),
        (b"[NaN]", "The JSON text is malformed at line 1, column "),
        (b"[-Infinity]", "The JSON text is malformed at line 1, column "),
        (b"[1e400]", "The JSON text is malformed at line 1, column "),
        (b'"a\0"', "The JSON text is malformed at line 1, column "),
        (nested(2_000), "The JSON text is malformed at line 1, column "),
    ],
)
def test_what_is_no_json_text_is_called_malformed(raw: bytes, message: str) -> None:
    with pytest.raises(MalformedJson) as refused:
        parse(raw)
    assert refused.value.message.startswith(message)
    assert refused.value.message.endswith(".")
    assert refused.value.path == ""


@pytest.mark.parametrize(
    "raw, value",
    [
        (b"[9007199254740991, -9007199254740991]", [MAX_INTEGER, -MAX_INTEGER]),
        (b"[1e21, -1.5e300, 1e-400, 6.022E+23]", [1e21, -1.5e300, 0.0, 6.022e23]),
        (b'["1e17", "12345678901234567890123", "0e0"]', ["1e17", "12345678901234567890123", "0e0"]),
        (b'["\\\\u0000", "\\\\\\\\u0000"]', ["\\u0000", "\\\\u0000"]),
        (b'{"a":"\\u003a:\\u003A", "b":1}', {"a": ":::", "b": 1}),
        (b'{"a":1,"A":1,"":1}', {"a": 1, "A": 1, "": 1}),
        (nested(64), json.loads(nested(64))),
        (b'"\\ud83d\\ude00 \xf0\x9f\x98\x80"', "😀 😀"),
        (b'["1e1",%s]' % nested(63), ["1e1", json.loads(nested(63))]),
        (b" null ", None),
        (b"[1.0, 0.1, 5]", [1.0, 0.1, 5]),
    ],
)
def test_what_only_looks_dangerous_is_taken_as_it_stands(raw: bytes, value: object) -> None:
    taken = parse(raw)
    assert (taken, repr(taken)) == (value, repr(value))


@pytest.mark.parametrize(
    "tree, message, path",
    [
        ({"a": [float("nan")]}, NOT_FINITE, "a.0"),
        ({"a": float("inf")}, NOT_FINITE, "a"),
        ([1.5, 9007199254740992.0], TOO_LARGE, "1"),
        ([2**70], TOO_LARGE, "0"),
        (["ok", "\ud800"], LONE, "1"),
        ({"\udfff": 1}, f"Key 1 of an object is refused. {LONE}", ""),
        ({"a": {"b\0": 1}}, f"Key 1 of an object is refused. {NO_NUL}", "a"),
        ({"a": {"b": "\0"}}, NO_NUL, "a.b"),
        ({"a": {1: 2}}, "Key 1 of an object is refused. An object's key must be text, not int.", "a"),
        ({"a": (1, 2)}, "A tuple is not a JSON value.", "a"),
        ([b"raw"], "A bytes is not a JSON value.", "0"),
        ([{}, {"x\ny" * 40: {"\u202e": 2**60}}], TOO_LARGE, f"1.{('x�y' * 40)[:64]}.�"),
    ],
)
def test_a_tree_from_another_reader_meets_the_same_rules(tree: object, message: str, path: str) -> None:
    with pytest.raises(BadJson) as refused:
        validate_tree(tree)
    assert (refused.value.message, refused.value.path) == (message, path)


def test_a_tree_of_any_depth_is_refused_without_recursion() -> None:
    tree: list[Any] = []
    for _ in range(200_000):
        tree = [tree]
    with pytest.raises(BadJson, match="nested more than 64 levels"):
        validate_tree(tree)
    validate_tree(json.loads(nested(MAX_DEPTH)))
    validate_tree([1.0, 1e300, MAX_INTEGER, -0.0, True, None, "é😀", {"": []}])


def test_floats_without_a_fraction_become_integers_where_they_are_exact() -> None:
    tree: Any = {"a": [1.0, -0.0, 1.5, 9007199254740991.0, 1e21, True, "1.0", None], "b": 20000.0}
    expected = {"a": [1, 0, 1.5, MAX_INTEGER, 1e21, True, "1.0", None], "b": 20000}
    assert repr(with_integers(tree)) == repr(expected)


def test_a_value_that_a_later_twin_hides_may_not_be_endlessly_deep() -> None:
    with pytest.raises(BadJson) as refused:
        parse(b'{"a":%s,"a":1}' % nested(1000))
    assert refused.value.message in (TWICE, TOO_DEEP)  # which one depends on the interpreter's recursion limit


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))
NUMBERS = st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: not MAX_INTEGER < abs(number) < 1e21
)
TREES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None)
@given(TREES, st.booleans(), st.sampled_from([None, 1]))
def test_every_admitted_value_is_read_back_equal(tree: Any, ascii_only: bool, indent: int | None) -> None:
    raw = json.dumps(tree, ensure_ascii=ascii_only, indent=indent).encode()
    assert repr(parse(raw)) == repr(tree)
    validate_tree(tree)


def slow_verdict(raw: bytes) -> bool:
    """Check a text against the rules with a simple, slow implementation."""

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in members}) < len(members):
            raise ValueError
        return dict(members)

    def integer(digits: str) -> int:
        if abs(int(digits)) > MAX_INTEGER:
            raise ValueError
        return int(digits)

    def fraction(digits: str) -> float:
        number = float(digits)
        if MAX_INTEGER < abs(number) < 1e21 or abs(number) == float("inf"):
            raise ValueError
        return number

    def constant(name: str) -> None:
        raise ValueError(name)

    try:
        text = raw.decode()
        tree = json.loads(
            text, object_pairs_hook=pairs, parse_int=integer, parse_float=fraction, parse_constant=constant
        )
        written = json.dumps(tree, ensure_ascii=False)
        written.encode()
    except ValueError:
        return False
    return "\\u0000" not in written.replace("\\\\", "") and not text.startswith("\ufeff")


PIECES = [
    "{", "}", "[", "]", ",", ":", '"a"', '"a":', '"x":', '"\\u0000"', '"\\\\u0000"', '"\\u003a"', '"\\ud800"', "\\", '"', "é", " ",
    "1", "0", "1.5", "1e17", "-", "e", "true", "null", "9007199254740992", "12345678901234567890123", "\ufeff",
]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20))
@example('{"a":{"a":1,"x":2},"x":1}')
@example("[12345678901234567890123]")
def test_any_text_is_judged_like_the_plain_slow_way(text: str) -> None:
    raw = text.encode(errors="surrogatepass")
    assert (verdict(raw) is None) == slow_verdict(raw)


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_a_refusal(raw: bytes) -> None:
    assert (verdict(raw) is None) == slow_verdict(raw)


def test_a5_the_largest_bodies_are_judged_quickly() -> None:
    row = b'{"id":"row-%d","title":"a title: of some length","hash":"%064x","score":0.25,"tags":["a","b"],"ok":true}'
    bodies = {
        "honest, 512 KB": b"[" + b",".join(row % (n, 7**n % 2**256) for n in range(3300)) + b"]",
        "empty objects": b"[" + b",".join([b"{}"] * 49_999) + b"]",
        "integers": b"[" + b",".join([b"1"] * (MIB // 2)) + b"]",
        "texts": b"[" + b",".join([b'"a"'] * (MIB // 4)) + b"]",
        "one text": b'"' + b"a" * MIB + b'"',
    }
    refused = {
        "digits": b"[" + b"1" * MIB + b"]",
        "opening brackets": b"[" * MIB,
        "one object too many": b"[" + b",".join([b"{}"] * 50_000) + b"]",
        "many deep lists": b"[" + b",".join([b"[" * 58 + b"]" * 58] * 8_800) + b"]",
        "the last key twice": b"[" + b",".join([b"{}"] * (MIB // 3)) + b',{"a":1,"a":1}]',
        "the last integer too large": b"[" + b",".join([b"1"] * (MIB // 2)) + b",12345678901234567890123]",
        "the last text with NUL": b"[" + b",".join([b'"a"'] * (MIB // 4)) + b',"\\u0000"]',
        "long keys": b"{" + b",".join(b'"%0200d":1' % n for n in range(MIB // 206)) + b',"x":1e17}',
    }
    for name, raw in (bodies | refused).items():
        seconds = []
        for _ in range(3):
            started = time.thread_time()
            refusal = verdict(raw)
            seconds.append(time.thread_time() - started)
        print(f"{name}: {len(raw)} bytes, {min(seconds) * 1e3:.1f} ms, {refusal or 'taken'}")
        assert (refusal is None) == (name in bodies)


def nodes(tree: Any) -> int:
    members = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else None
    return 0 if members is None else 1 + sum(map(nodes, members))


@settings(deadline=None)
@given(TREES, st.booleans(), st.integers(0, 12))
def test_objects_and_lists_are_counted_as_they_are_whatever_stands_in_texts(
    tree: Any, ascii_only: bool, bound: int
) -> None:
    tree = [tree, '\\"[{', {'["': "\\"}]
    raw = json.dumps(tree, ensure_ascii=ascii_only).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsontext, "MAX_CONTAINERS", bound)
        refusal = verdict(raw)
    assert (refusal is None) == (nodes(tree) <= bound)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":[' + b",".join([b"[]"] * 340_000) + b"]}",
        b"[" + b'{"a":' * 60_000,
        b'["\\\\"' + b',{"]":"\\""}' * 60_000 + b"]",
    ],
    ids=["lists", "open objects", "texts between them"],
)
def test_a_text_of_too_many_objects_and_lists_is_refused_before_any_is_made(
    raw: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[bytes]()
    monkeypatch.setattr(jsontext.jiter, "from_json", lambda raw, **_: read.append(raw))
    assert (verdict(raw), read) == (f"The text holds more than {jsontext.MAX_CONTAINERS} objects and lists.", [])


def test_a_text_full_of_brackets_is_one_text() -> None:
    text = '[{"\\' * 100_000
    assert parse(json.dumps({"a": text, "b": ["[", text]}).encode()) == {"a": text, "b": ["[", text]}
