"""Checks the English of docstrings and comments: `python -m tests.shape.prose FILE…` lists each breach with its place."""

import ast
import gc
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MAX_SUMMARY = 90  # characters of a docstring's first line
SUMMARY_STARTS = re.compile(r"(What|Who|Whoever|Whose|Whom|Whether|Of|How|Where|When|The refusal of)\b")
# A function's summary begins with a verb. These words never are one.
NO_VERBS = re.compile(
    r"(The|A|An|It|Its|He|They|This|That|These|Those|There|One|Two|None|All|Any|Each|Every|Everything|Everybody|Anything|Nothing|"
    r"Nobody|No|Not|Is|Are|Was|Were|Has|Have|Had|Can|Could|May|Must|Will|Would|In|On|At|By|For|From|To|With|Without|As|If|So|"
    r"Many|Some|Several|Such|Only|Also|Both|Another|Other|Our|Their|Your|True|False|Yes|Until|Since|Before|After|Because|Same)\b"
)
BANNED = {
    "who as a noun": r"(?:^|[.,;:(—-]\s*|\b(?:of|for|to|by|from|with|and|or|but|that|than|as|is|what|only|on|at|see|say|says|tell|tells)\s+)"
    r"[Ww]ho\b(?!\s+(?:am|is) )|\b[Ww]hoever\b|\b[Ww]homever\b|\bof whom\b",
    "a private idiom": r"\b(?:stands?|anew|in vain|all the same|that is none|that are none|hears? (?:of|that|so|only)|comes? to nothing|at its turn|"
    r"is told|are told|was told|so many (?:a|at|of)|looked at it|for ever|nobody's|somebody's|whereto|thereof|therein)\b",
    "for in place of because": r"[,;] for (?:it|they|he|she|a|an|the|this|that|there|these|those|nobody|none|no|each|every|one|its|their)\b"
    r"(?= \w+(?: \w+)? (?:is|are|was|were|has|have|had|can|may|must|would|will|does|do|did)\b)",
}
PATTERNS = {name: re.compile(pattern) for name, pattern in BANNED.items()}


class Breach(NamedTuple):
    """One breach of the rules of prose."""

    path: str
    line: int
    rule: str
    text: str


def breaches(path: Path) -> Iterator[Breach]:
    """Find the breaches in the docstrings and comments of one file."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(_parsed(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of_docstring(path, node)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(("#!", "# noqa", "# type:", "# fmt:")):
            yield from _of_text(path, token.start[0], token.string.lstrip("# "))


def _parsed(source: str) -> ast.Module:
    """Parse a file with the garbage collector off.

    If a finalizer logs an error meanwhile, its traceback parses too, and CPython 3.11 then raises SystemError.
    """
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        gc.enable()


def _of_docstring(
    path: Path, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Breach]:
    text = ast.get_docstring(node)
    if not text:
        return
    line = node.body[0].lineno
    summary = text.splitlines()[0]
    if len(summary) > MAX_SUMMARY and not isinstance(node, ast.Module):
        yield Breach(str(path), line, f"a summary over {MAX_SUMMARY} characters", summary)
    if SUMMARY_STARTS.match(summary):
        yield Breach(str(path), line, "a summary's first word", summary)
    elif (
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and NO_VERBS.match(summary) and not _is_property(node)
    ):
        yield Breach(str(path), line, "a summary without a verb", summary)
    for number, sentence in enumerate(text.splitlines()):
        yield from _of_text(path, line + number, sentence)


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function is read like a value: a property, a fixture or a test."""
    names = {ast.unparse(one).split("(")[0].split(".")[-1] for one in node.decorator_list}
    return bool(names & {"property", "cached_property", "fixture"}) or node.name.startswith("test_")


def _of_text(path: Path, line: int, text: str) -> Iterator[Breach]:
    for rule, pattern in PATTERNS.items():
        if pattern.search(text):
            yield Breach(str(path), line, rule, text.strip())


def main(paths: list[str]) -> int:
    """Print the breaches of files and folders; return 1 if there are any."""
    files = [
        file for name in paths for file in (sorted(Path(name).rglob("*.py")) if Path(name).is_dir() else [Path(name)])
    ]
    found = [breach for file in files for breach in breaches(file)]
    for breach in found:
        print(f"{breach.path}:{breach.line}: {breach.rule}: {breach.text}")
    print(f"{len(found)} breaches in {len(files)} files")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
