"""Docstrings and comments are in plain English, as far as a program can check it."""

from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from tests.shape.prose import breaches

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "clients", "protocol", "rest", "server", "storage", "tests", "tools")
LEFT = {
    "storage/migrations": "a revision that has run is not edited",
    "tests/support/echo_operations.py": "its docstrings are data that tests compare",
    "tests/protocol/test_deprecation.py": "its docstrings are data that tests compare",
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_and_comments_are_plain_english(folder: str) -> None:
    files = [file for file in sorted((ROOT / folder).rglob("*.py")) if not left(file)]
    assert files
    assert [breach for file in files for breach in breaches(file)] == []


def test_every_exception_is_still_needed() -> None:
    needed = {name for name in LEFT if any(found for file in of(name) for found in breaches(file))}
    assert needed == LEFT.keys()


def left(file: Path) -> bool:
    return any(file in of(name) for name in LEFT)


@cache
def of(name: str) -> frozenset[Path]:
    """Find the files of an exception: a folder, or the files that match a pattern."""
    found = (path for path in (ROOT / name.partition("/")[0]).rglob("*") if fnmatch(f"{path.relative_to(ROOT)}", name))
    return frozenset(file for path in found for file in (path.rglob("*.py") if path.is_dir() else [path]))
