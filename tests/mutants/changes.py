"""Finds every change of a module that our operators can make: each replaces one node of the syntax tree."""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parents[2]
MAX_CONTEXT = 160  # characters of code around a change, in listings and excuses

# Each comparison becomes its neighbour at the bound and, if that is a different one, its opposite.
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
CALLS = {
    "any": ("boolean", "all"),
    "all": ("boolean", "any"),
    "min": ("comparison", "max"),
    "max": ("comparison", "min"),
}
SIMPLE = (ast.Expr, ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)
# These have no behaviour or are only the author's assertions, so they are not changed.
LEFT = (ast.Import, ast.ImportFrom, ast.Assert, ast.Global, ast.Nonlocal)
LEFT_FIELDS = frozenset({"annotation", "returns", "decorator_list", "bases"})


@dataclass(frozen=True, slots=True)
class Edit:
    """A place in the tree (`parent.field` or `parent.field[index]`) and its new value."""

    parent: ast.AST
    field: str
    index: int | None
    new: Any

    def swap(self) -> "Edit":
        """Put the new value in its place; return the edit that restores the old one."""
        held = getattr(self.parent, self.field)
        if self.index is None:
            setattr(self.parent, self.field, self.new)
            return replace(self, new=held)
        old, held[self.index] = held[self.index], self.new
        return replace(self, new=old)


@dataclass(frozen=True, slots=True)
class Change:
    """One change: its place, the operator that makes it, and the code before and after."""

    module: str
    function: str  # qualified name; "" at module level
    line: int
    operator: str
    text: str
    edit: Edit

    @property
    def name(self) -> str:
        """Return a name without the line, which identifies the change in excuses and stored results."""
        return f"{self.module}:{self.function}: {self.text}"


@dataclass(frozen=True, slots=True)
class Source:
    """A module to change: its file, its syntax tree and all its changes."""

    module: str
    path: Path
    tree: ast.Module
    changes: tuple[Change, ...]

    def compiled(self, change: Change | None = None) -> CodeType:
        """Compile the module with the change made, or unchanged."""
        with made(change.edit if change else None):
            return compile(ast.fix_missing_locations(self.tree), str(self.path), "exec")


def read(module: str) -> Source:
    """Read a module of this repository and find its changes."""
    path = path_of(module)
    return found_in(module, path.read_text(encoding="utf-8"), path)


def path_of(module: str) -> Path:
    """Return the file of a module of this repository."""
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


def found_in(module: str, text: str, path: Path = Path("<text>")) -> Source:
    """Return the changes of a module's source text."""
    tree = ast.parse(text)
    finder = _Finder(module)
    finder.block(tree, "body", (), "")
    return Source(module, path, tree, tuple(_numbered(finder.found)))


def sample(changes: list[Change], number: int, seed: str) -> list[Change]:
    """Draw a number of changes, one of each line first, in an order fixed by the seed."""
    lines: dict[tuple[str, int], list[Change]] = {}
    for change in sorted(changes, key=lambda one: _lot(seed, one.name)):
        lines.setdefault((change.module, change.line), []).append(change)
    rounds = [[found[place] for found in lines.values() if place < len(found)] for place in range(len(changes))]
    return [change for each in rounds for change in each][:number]


@contextmanager
def made(edit: Edit | None) -> Iterator[None]:
    """Apply the edit to the tree inside the `with` block."""
    if edit is None:
        yield
        return
    back = edit.swap()
    try:
        yield
    finally:
        back.swap()


def _lot(seed: str, name: str) -> bytes:
    return sha256(f"{seed}:{name}".encode()).digest()


def _numbered(found: list[Change]) -> Iterator[Change]:
    """Number identical changes in one function, so that each has its own name."""
    seen = Counter[str]()
    for change in found:
        seen[change.name] += 1
        again = seen[change.name]
        yield replace(change, text=f"{change.text} ({again})") if again > 1 else change


class _Finder:
    """Walks a syntax tree, keeps the ancestors of the current node, and collects the changes."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.found: list[Change] = []

    def block(self, node: ast.AST, field: str, around: tuple[ast.AST, ...], function: str) -> None:
        """Visit the statements of a block; statements of some kinds can be removed."""
        for place, statement in enumerate(getattr(node, field)):
            if _is_docstring(statement) or isinstance(statement, LEFT) or _is_alias(statement):
                continue
            if _is_removable(statement):
                edit = Edit(node, field, place, ast.copy_location(ast.Pass(), statement))
                before = ast.unparse(statement).partition("\n")[0]
                self._add(statement, function, "removed statement", f"{before} -> (removed)", edit)
            self.visit(statement, (*around, node), function)

    def visit(self, node: ast.AST, around: tuple[ast.AST, ...], function: str) -> None:
        """Collect a node's own changes, then those of its children."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".removeprefix(".")
        for operator, edit in _changes_of(node):
            self._add(node, function, operator, _shown(edit, node, around), edit)
        if not function and not (around and isinstance(around[-1], ast.Subscript)):
            self._rows(node)
        for field, value in ast.iter_fields(node):
            if field in LEFT_FIELDS or _is_strict(node):
                continue
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                self.block(node, field, around, function)
                continue
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, ast.AST):
                    self.visit(one, (*around, node), function)

    def _rows(self, node: ast.AST) -> None:
        """Remove each row of a module's table, and each keyword argument in a row."""
        field = "keywords" if isinstance(node, ast.Call) else "elts"
        if not isinstance(node, ast.Call | ast.Tuple | ast.List | ast.Set) or not _is_read(node):
            return
        rows: list[ast.AST] = getattr(node, field)
        for place, row in enumerate(rows):
            edit = Edit(node, field, None, [*rows[:place], *rows[place + 1 :]])
            self._add(row, "", "removed row", f"{ast.unparse(row)} -> (removed)", edit)

    def _add(self, node: ast.AST, function: str, operator: str, text: str, edit: Edit) -> None:
        line: int = node.target.lineno if isinstance(node, ast.comprehension) else getattr(node, "lineno", 0)
        self.found.append(Change(self.module, function, line, operator, text, edit))


def _changes_of(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    """Yield the operators' changes of one node."""
    match node:
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    yield "comparison", Edit(node, "ops", place, other())
        case ast.BoolOp(op=op):
            yield "boolean", Edit(node, "op", None, ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "boolean", Edit(node, "operand", None, _not(operand))
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield "arithmetic", Edit(node, "op", None, ARITHMETIC[type(op)]())
        case ast.Name(id=name) if name in CALLS:
            operator, other = CALLS[name]
            yield operator, Edit(node, "id", None, other)
        case ast.Return(value=ast.expr() as value):
            is_none = isinstance(value, ast.Constant) and value.value is None
            yield (
                "return value",
                Edit(node, "value", None, ast.copy_location(ast.Constant(1 if is_none else None), value)),
            )
        case ast.Constant(value=value):
            yield from _constants(node, value)
    yield from _negations(node)


def _constants(node: ast.Constant, value: object) -> Iterator[tuple[str, Edit]]:
    if isinstance(value, bool):
        yield "boolean", Edit(node, "value", None, not value)
    elif isinstance(value, int | float):
        yield "constant", Edit(node, "value", None, value + 1)
        yield "constant", Edit(node, "value", None, value - 1)


def _negations(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    """Negate a condition, unless it is a comparison or a `not`, which have their own changes."""
    if isinstance(node, ast.If | ast.IfExp | ast.While) and _is_plain(node.test):
        yield "boolean", Edit(node, "test", None, _not(node.test))
    if isinstance(node, ast.comprehension):
        for place, test in enumerate(node.ifs):
            if _is_plain(test):
                yield "boolean", Edit(node, "ifs", place, _not(test))


def _is_read(node: ast.Call | ast.Tuple | ast.List | ast.Set) -> bool:
    """Check whether an expression is a value, not the target of an assignment."""
    return not isinstance(getattr(node, "ctx", None), ast.Store)


def _is_plain(test: ast.expr) -> bool:
    return not isinstance(test, ast.Compare | ast.UnaryOp | ast.BoolOp)


def _not(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _shown(edit: Edit, node: ast.AST, around: tuple[ast.AST, ...]) -> str:
    """Return the code before and after an edit: the largest part that is short enough."""
    shown = node
    for outer in reversed(around):
        if not isinstance(
            outer, ast.expr | ast.Return | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Raise
        ):
            if not isinstance(outer, ast.keyword | ast.comprehension):
                break
            continue
        if len(ast.unparse(outer)) > MAX_CONTEXT:
            break
        shown = outer
    before = _line(shown)
    with made(edit):
        return f"{before} -> {_line(shown)}"


def _line(node: ast.AST) -> str:
    if isinstance(node, ast.comprehension):
        return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}" + "".join(
            f" if {ast.unparse(one)}" for one in node.ifs
        )
    return ast.unparse(node).partition("\n")[0]


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_alias(node: ast.stmt) -> bool:
    """Check whether a statement defines a type alias, which mypy checks instead of tests."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func) == "TypeVar"
    return isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"


def _is_strict(node: ast.AST) -> bool:
    """Check whether a node is `strict=True` of zip, which is an assertion."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _is_removable(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return not node.orelse
    stored = isinstance(node, ast.Assign) and all(
        isinstance(one, ast.Attribute | ast.Subscript) for one in node.targets
    )
    return stored or isinstance(node, SIMPLE)


if __name__ == "__main__":
    for change in read(sys.argv[1]).changes:
        print(f"{change.line} {change.operator} in {change.function or 'the module'}: {change.text}")
