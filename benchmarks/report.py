"""The report: a table for readers, the same as JSON for history, and a description of the machine."""

import os
import platform
import sqlite3
from importlib.metadata import version
from typing import Any

import psutil

from benchmarks.rounds import Row

LIBRARIES = ("uvicorn", "uvloop", "starlette", "orjson", "pydantic", "sqlalchemy", "mcp", "a2a-sdk")
WIDTHS = "{:11} {:62} {:>9} {:>9} {:>14} {:>7} {:>9}  {:6} {}"
HEAD = WIDTHS.format("goal", "what", "figure", "subject", "floor", "spread", "mark", "", "")


def line(row: Row) -> str:
    goal = row.goal
    bound = "≥" if goal.least else "≤"
    return WIDTHS.format(
        goal.name,
        goal.what,
        f"{row.figure:.3g}" if row.figure < 1000 else f"{row.figure:.0f}",
        row.subject,
        row.floor,
        "" if row.spread is None else f"{row.spread:.0%}",
        f"{bound} {goal.mark:g}",
        row.verdict,
        " ".join(part for part in (goal.unit, f"({row.note})" if row.note else "") if part),
    )


def machine() -> str:
    """Describe the cores, their load, and the versions of the software."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    busy = ", ".join(f"{average:.1f}" for average in psutil.getloadavg())
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {busy}"
    return f"{system}; Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {libraries}"


def record(rows: list[Row]) -> dict[str, Any]:
    """Return the rows as JSON."""
    return {
        "machine": machine(),
        "rows": [
            {
                "goal": row.goal.name,
                "what": row.goal.what,
                "figure": row.figure,
                "unit": row.goal.unit or "ratio",
                "least": row.goal.least,
                "subject": row.subject,
                "floor": row.floor,
                "spread": row.spread,
                "first": row.goal.first,
                "required": row.goal.required,
                "mark": row.goal.mark,
                "verdict": row.verdict,
                "note": row.note,
            }
            for row in rows
        ],
    }
