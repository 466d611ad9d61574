"""A call produces every error that an operation declares: each has a test, named test_<operation>_<code>."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.refusals import DECLARED
from tools.catalogue import CATALOGUE


def names_of_tests() -> Iterator[str]:
    """Find the tests in test_refusals.py of each noun."""
    for path in Path(__file__).parent.rglob("test_refusals.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.AsyncFunctionDef) and any(
                ast.unparse(one) == "refusal" for one in node.decorator_list
            ):
                yield node.name


def test_every_declared_error_has_its_test_and_no_other() -> None:
    assert sorted(names_of_tests()) == sorted(DECLARED)


def test_no_two_errors_have_tests_of_one_name() -> None:
    assert len(DECLARED) == sum(len(operation.errors) for operation in CATALOGUE.values())
