"""The market's own patterns match the whole argument, to its last character, whatever its length."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.catalogue import CATALOGUE
from tools.engine.arguments import read_arguments
from tools.engine.errors import InvalidRequest
from tools.engine.registry import Operation

READ_BY_OPERATIONS = {
    "transaction",
    "since",
}  # these operations check them: tests/tools/chain/test_transfer_verification.py, test_ids.py


def whole_patterns() -> Iterator[tuple[Operation, str, Any]]:
    """Yield the arguments that a pattern checks completely: operation, name, schema."""
    for op in CATALOGUE.values():
        for name, schema in op.input.model_json_schema().get("properties", {}).items():
            for form in schema.get("anyOf", [schema]):
                if name not in READ_BY_OPERATIONS and form.get("pattern", "").endswith("$"):
                    yield op, name, form


WHOLE = list(whole_patterns())


def refused(op: Operation, given: dict[str, Any]) -> set[str]:
    """Return the names of the invalid arguments."""
    try:
        read_arguments(op.input, given)
    except InvalidRequest as error:
        return {one["param"] for one in error.details["violations"]} | {str(error.param)}
    return set()


@pytest.mark.parametrize(("op", "name", "form"), WHOLE, ids=[f"{op.name}-{name}" for op, name, _ in WHOLE])
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_what_matches_is_refused_with_a_line_feed_before_or_behind_it(
    op: Operation, name: str, form: Any, data: st.DataObject
) -> None:
    good = data.draw(st.from_regex(form["pattern"].removeprefix("^").removesuffix("$"), fullmatch=True))
    for text in (f"{good}\n", f"\n{good}", f"{good}\n{good}", f"{good}\0", f"{good}\u2028"):
        assert name in refused(op, {name: text})


@pytest.mark.parametrize(("op", "name", "form"), WHOLE, ids=[f"{op.name}-{name}" for op, name, _ in WHOLE])
def test_a_mebibyte_that_nearly_matches_is_refused(op: Operation, name: str, form: Any) -> None:
    for one in "a0-_/x ":
        assert name in refused(op, {name: one * 2**20 + "\n"})


def test_there_are_patterns_in_every_part_of_the_market() -> None:
    names = {name for _, name, _ in WHOLE}
    assert names >= {"handle", "public_key", "address", "signature", "proof", "secret", "key"}
