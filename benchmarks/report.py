"""The report: a table for readers, the same as JSON for history, and a description of the machine."""

import os
import platform
import sqlite3
from collections.abc import Sequence
from importlib.metadata import version
from math import isfinite
from typing import Any

import psutil

from benchmarks.goals import Goal
from benchmarks.rounds import Row

LIBRARIES = (
    "uvicorn", "uvloop", "starlette", "orjson", "pydantic", "sqlalchemy", "mcp", "a2a-sdk", "fastmcp", "fastapi", "sqlmodel"
)  # fmt: skip
WIDTHS = "{:8} {:72} {:>8} {:>10} {:>9} {:>9} {:>7} {:>8} {:>8}  {:6} {}"
HEAD = WIDTHS.format("goal", "what", "figure", "limits off", "subject", "floor", "spread", "must", "aim", "", "")


def line(row: Row) -> str:
    goal = row.goal
    return WIDTHS.format(
        goal.name.partition(" ")[0],
        goal.what,
        number(row.figure),
        "" if row.unlimited is None else number(row.unlimited),
        row.subject,
        row.floor,
        "" if row.spread is None else f"{row.spread:.0%}",
        mark(goal, goal.must),
        mark(goal, goal.aim),
        row.verdict,
        " ".join(part for part in (goal.unit, f"({row.note})" if row.note else "") if part),
    ).rstrip()


def number(figure: float) -> str:
    return f"{figure:.3g}" if figure < 1000 else f"{figure:,.0f}"


def mark(goal: Goal, bound: float | None) -> str:
    return "" if bound is None else f"{'≥' if goal.least else '≤'} {number(bound)}"


def summary(rows: Sequence[Row]) -> list[str]:
    """Name the rows that failed, that were too noisy, and that miss their aim."""
    lists = {
        "failed": [row for row in rows if row.failed],
        "too noisy to say": [row for row in rows if row.verdict == "noisy"],
        "as fast as they must be, slower than their aim": [row for row in rows if row.verdict == "must"],
    }
    return [
        f"{words} ({len(some)}): {', '.join(row.goal.name for row in some)}" for words, some in lists.items() if some
    ]


def machine() -> str:
    """Describe the cores, their load, and the versions of the software."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    busy = ", ".join(f"{average:.1f}" for average in psutil.getloadavg())
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {busy}"
    return f"{system}; Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {libraries}"


def record(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the rows as JSON."""
    return {
        "machine": machine(),
        "rows": [
            {
                "goal": row.goal.name,
                "what": row.goal.what,
                "figure": row.figure if isfinite(row.figure) else None,
                "limits_off": row.unlimited,
                "unit": row.goal.unit or "ratio",
                "least": row.goal.least,
                "subject": row.subject,
                "floor": row.floor,
                "spread": row.spread,
                "must": row.goal.must,
                "aim": row.goal.aim,
                "verdict": row.verdict,
                "note": row.note,
            }
            for row in rows
        ],
    }
