"""No module, class, function, field or parameter has an old name of docs/renamed.md, except those with a reason."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("server", "tools", "protocol", "storage", "rest")
MIGRATIONS = "storage/migrations/"
PARAMETERS = {"house", "outside", "headless"}
# Names that are standard where they are. The key is the end of a path, or the whole of it.
SETTLE = {"settle": "the facilitator's endpoint of x402 has this name"}
VERDICT = {"verdict": "a published argument or field"}
UNTIL = {"until": "the end of a lease or of a range"}
ALLOWED = {
    "server/adapters/facilitator.py": SETTLE,
    "server/sandbox/facilitator.py": SETTLE,
    "tools/engine/ports.py": SETTLE,
    "server/adapters/fair_queue.py": {"release": "gives a place back, as the standard library's locks do"},
    "storage/tables/listings.py": {"until": "a column of the table"},
    "storage/tables/messages.py": {"unread": "a column of the table"},
    "tools/account/export_writer.py": {"beside": "arguments of a section, beside its id"},
    "tools/engine/dispatch.py": {"refuse": "turns an error into a response; the table renames another method"},
    "tools/events/webhooks/deliveries.py": UNTIL,
    "tools/jobs/disputes/operations.py": VERDICT,
    "tools/jobs/disputes/records.py": {"done": "a published field"},
    "tools/jobs/lifecycle.py": {"until": "becomes the published field waiting_on.until"},
    "tools/jobs/records.py": {"until": "a published field"},
    "tools/reputation/counterparty.py": VERDICT,
    "tools/reputation/records.py": VERDICT,
}


@cache
def tables() -> tuple[dict[str, str], set[str], set[str], set[str]]:
    """Return the old paths and their new ones; old names, those of one module, and members."""
    text = (ROOT / "docs" / "renamed.md").read_text()
    paths = dict(re.findall(r"^\| ([\w/.]+) \| ([\w/.]+) \|$", text, re.MULTILINE))
    old = re.findall(r"^\| `([\w.]+)`", text, re.MULTILINE)
    names = {name for name in old if "." not in name}
    members = {name[1:] for name in old if name.startswith(".")}
    return paths, names, {name for name in old if "." in name.strip(".")}, members


def defined(path: str, tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Yield the kind, the line and the name of everything that a module defines."""
    module = path.removesuffix(".py").replace("/", ".")
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield "name", node.lineno, node.name
            yield from members_of(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "name", node.lineno, node.name
            for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                yield "parameter", one.lineno, one.arg
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield "qualified", node.lineno, f"{module}.{node.name}"


def members_of(node: ast.ClassDef) -> Iterator[tuple[str, int, str]]:
    """Yield the methods and the annotated fields of a class."""
    for one in node.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "member", one.lineno, one.name
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            yield "member", one.lineno, one.target.id


def found() -> Iterator[tuple[str, int, str]]:
    """Yield the path, line and name of each definition with an old name."""
    _, names, qualified, members = tables()
    banned = {"name": names, "parameter": PARAMETERS, "member": members, "qualified": qualified}
    for folder in PRODUCT:
        for file in sorted((ROOT / folder).rglob("*.py")):
            path = str(file.relative_to(ROOT))
            if path.startswith(MIGRATIONS):
                continue
            for kind, line, name in defined(path, ast.parse(file.read_text())):
                if name in banned[kind]:
                    yield path, line, name


def test_no_definition_has_an_old_name() -> None:
    unexpected = [
        f"{path}:{line} {name}" for path, line, name in found() if name.split(".")[-1] not in ALLOWED.get(path, {})
    ]
    assert unexpected == []


def test_every_exception_is_needed_and_has_a_reason() -> None:
    needed = {(path, name.split(".")[-1]) for path, _, name in found()}
    assert {(path, name) for path, names in ALLOWED.items() for name in names} <= needed
    assert all(len(reason) > 10 for names in ALLOWED.values() for reason in names.values())


def test_no_file_lies_at_an_old_path() -> None:
    paths, *_ = tables()
    assert len(paths) > 300
    assert [old for old in paths if (ROOT / old).exists() and old not in paths.values()] == []
    assert [new for new in paths.values() if not (ROOT / new).exists()] == []
