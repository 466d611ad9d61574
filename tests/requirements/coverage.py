"""Finds the tests that claim each clause; it reads their source without running them."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.requirements import REQUIREMENTS
from tests.requirements.model import Requirement

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Claim:
    """A test's claim of a clause; `id` is a clause's id or a family such as `agent.field.*`."""

    test: str
    id: str


@dataclass(frozen=True, slots=True)
class Report:
    """The claims compared with the list of clauses."""

    tested: frozenset[str]  # ids of tested clauses
    unknown: tuple[Claim, ...]  # claims of clauses that do not exist
    too_early: tuple[Claim, ...]  # claims of deferred clauses, which should no longer be deferred
    missing: tuple[Requirement, ...]  # neither tested nor deferred

    @property
    def whole(self) -> bool:
        return not (self.unknown or self.too_early or self.missing)


class UnreadableClaim(ValueError):
    """A covers(...) that cannot be read from the source, or that is not on a test."""


def claims(folder: Path = TESTS) -> list[Claim]:
    """Return every `@covers(...)` on a test function or class under the folder.

    Raises UnreadableClaim if one cannot be read.
    """
    return [claim for path in sorted(folder.rglob("*.py")) for claim in _of_file(path, path.relative_to(folder))]


def compare(found: Iterable[Claim], wanted: Iterable[Requirement] = REQUIREMENTS) -> Report:
    """Compare the claims with the clauses: tested, missing and wrong ones."""
    claimed, listed = list(found), list(wanted)
    said = {claim.id for claim in claimed}
    tested = frozenset(one.id for one in listed if said & _names_of(one))
    known = {name for one in listed for name in _names_of(one)}
    later = {name for one in listed if one.deferred is not None for name in _names_of(one)}
    return Report(
        tested=tested,
        unknown=tuple(claim for claim in claimed if claim.id not in known),
        too_early=tuple(claim for claim in claimed if claim.id in later),
        missing=tuple(one for one in listed if one.deferred is None and one.id not in tested),
    )


def _names_of(requirement: Requirement) -> set[str]:
    """Return the names by which a test can claim a clause: its id and its family."""
    return {requirement.id, requirement.id.rpartition(".")[0] + ".*"}


def _of_file(path: Path, shown: Path) -> Iterator[Claim]:
    text = path.read_text(encoding="utf-8")
    if "covers(" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                yield from _of_decorator(decorator, node.name, f"{shown}::{node.name}")


def _of_decorator(decorator: ast.expr, name: str, test: str) -> Iterator[Claim]:
    if not (isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "covers"):
        return
    if not name.startswith(("test_", "Test")):
        raise UnreadableClaim(f"{test} is no test, so it covers nothing")
    if decorator.keywords or not decorator.args:
        raise UnreadableClaim(f"{test}: covers takes ids")
    for argument in decorator.args:
        if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
            raise UnreadableClaim(f"{test}: covers takes ids written out, not {ast.unparse(argument)}")
        yield Claim(test, argument.value)
