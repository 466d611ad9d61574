"""Which test says it proves which clause, read from the source of the tests without running them."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.requirements import REQUIREMENTS
from tests.requirements.model import Requirement

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Claim:
    """A test's word that it fails when the clause is broken; `id` is an id or a family of ids, `agent.field.*`."""

    test: str
    id: str


@dataclass(frozen=True, slots=True)
class Report:
    """The claims held against the list."""

    tested: frozenset[str]  # ids of clauses
    unknown: tuple[Claim, ...]  # no such clause
    too_early: tuple[Claim, ...]  # the clause is deferred: if it is tested it stands
    missing: tuple[Requirement, ...]  # neither tested nor deferred

    @property
    def whole(self) -> bool:
        return not (self.unknown or self.too_early or self.missing)


class UnreadableClaim(ValueError):
    """A covers(...) that cannot be read from the source, or does not stand on a test."""


def claims(folder: Path = TESTS) -> list[Claim]:
    """Every `@covers(...)` on a test function or a test class under the folder. UnreadableClaim for a useless one."""
    return [claim for path in sorted(folder.rglob("*.py")) for claim in _of_file(path, path.relative_to(folder))]


def compare(found: Iterable[Claim], wanted: Iterable[Requirement] = REQUIREMENTS) -> Report:
    """What the claims leave open, and which of them are wrong."""
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
    """What a claim may call a clause: by its id, or by the family it stands directly under."""
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
