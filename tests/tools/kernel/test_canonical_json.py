"""RFC 8785: the official files and numbers, and the fast path against the reference library."""

import json
import struct
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools.kernel.canonical_json import NotCanonical, canonical, sha256_hex

VECTORS = Path(__file__).parents[2] / "vectors"
FILES = sorted(path.stem for path in (VECTORS / "jcs" / "input").iterdir())
NUMBERS = json.loads((VECTORS / "jcs_numbers.json").read_text())["numbers"]
EXACT = 2**53 - 1


def test_the_vectors_are_whole() -> None:
    assert FILES == ["arrays", "french", "structures", "unicode", "values", "weird"]
    assert len(NUMBERS) == 26


@pytest.mark.parametrize("name", FILES)
def test_the_official_files_get_their_official_bytes(name: str) -> None:
    value = json.loads((VECTORS / "jcs" / "input" / f"{name}.json").read_bytes())
    expected = bytes.fromhex((VECTORS / "jcs" / "outhex" / f"{name}.txt").read_text())
    assert canonical(value) == expected == (VECTORS / "jcs" / "output" / f"{name}.json").read_bytes()


@pytest.mark.parametrize("bits, text", NUMBERS)
def test_the_official_numbers_get_their_official_spelling(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == text.encode()
    assert canonical({"a": [1, number]}) == b'{"a":[1,%s]}' % text.encode()


@pytest.mark.parametrize(
    "value, text",
    [
        ({"b": 1.0, "a": -0.0, "c": [2.50, 1e15, 1e16, 1e-7, 0.00001]}, '{"a":0,"b":1,"c":[2.5,1000000000000000,10000000000000000,1e-7,0.00001]}'),
        ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'),
        ({"a": "\U0001f600", "\ufb33": 2}, '{"a":"\U0001f600","\ufb33":2}'),
        ({"10": 1, "9": 2, "": 3}, '{"":3,"10":1,"9":2}'),
        ("\x00\x1f\x7f\u2028/\"\\\n", '"\\u0000\\u001f\x7f\u2028/\\"\\\\\\n"'),
        ([True, False, None, EXACT, -EXACT], f"[true,false,null,{EXACT},-{EXACT}]"),
    ],
)  # fmt: skip
def test_a_document_has_one_spelling(value: Any, text: str) -> None:
    assert canonical(value).decode() == text


@pytest.mark.parametrize(
    "value",
    [
        EXACT + 1,
        {"a": [-EXACT - 1]},
        2**80,
        float("nan"),
        [1.5, float("inf")],
        {"a": None, "b": float("-inf")},
        "\ud800",
        {"\udfff": 1},
        {1: 2},
        [b"raw"],
    ],
)
def test_a_value_without_a_canonical_form_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical, match="no canonical JSON form"):
        canonical(value)


def test_sha256_is_lower_case_hex() -> None:
    assert sha256_hex(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256_hex(canonical({"b": 1, "a": 2.0})) == sha256_hex(b'{"a":2,"b":1}')


TEXTS = st.text(
    st.characters(exclude_categories=("Cs",)) | st.sampled_from("\U0001f600\U00010000\ue000\uffff\ufb33a\x00\x7f\"\\"),
    max_size=5,
)  # fmt: skip
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1e3, 1e3) | st.floats(1e-7, 1e-3)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-EXACT, EXACT) | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None)
@given(TREES)
@example([1.0, 0.1])
@example({"a": 0.00001, "b": 0.000009999999999999999})
@example({"a": [{"\U0001f600": 0, "\ue000": 1}]})
def test_the_fast_path_and_the_reference_write_the_same_bytes(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_spelled_as_the_reference_spells_it(number: float) -> None:
    assert canonical([number]) == rfc8785.dumps([number])


def test_a_large_output_takes_the_fast_path() -> None:
    rows = [{"id": f"row-{n}", "text": "some words 😀 " * 4, "score": n / 7 + 0.5, "whole": float(n), "tags": ["a", None]} for n in range(3500)]  # fmt: skip
    raw = orjson.dumps(rows)
    fast, slow = [], []
    for _ in range(3):
        started = time.thread_time()
        written = canonical(rows)
        fast.append(time.thread_time() - started)
        started = time.thread_time()
        expected = rfc8785.dumps(rows)
        slow.append(time.thread_time() - started)
    print(f"{len(raw)} bytes: {min(fast) * 1e3:.1f} ms, reference {min(slow) * 1e3:.1f} ms")
    assert written == expected
