"""`emporion overview --watch`: the operator's overview, read again and again, with what is stuck first."""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from server.operator_client import Refused
from tools.kernel.durations import two_units

ROWS = 6  # of each table; its title says how many there are

Read = Callable[[], dict[str, Any]]


def watch(read: Read, every_seconds: float, console: Console) -> None:
    """Show the overview until Ctrl-C.

    Raises Refused if the first read fails. A later failure is shown above the last figures, and the next read may
    succeed again.
    """
    try:
        record, failure = read(), ""
        with Live(screened(record), console=console, screen=True, auto_refresh=False) as live:
            while True:
                time.sleep(every_seconds)
                try:
                    record, failure = read(), ""
                except Refused as refused:
                    failure = str(refused)
                live.update(screened(record, failure), refresh=True)
    except KeyboardInterrupt:
        return


def screened(record: dict[str, Any], failure: str = "") -> Group:
    """Return the whole screen: a failure to read, what is stuck, and the counts."""
    now = record["generated_at"]
    parts: list[Table | Text] = [_line(f"Overview as of {now}. Ctrl-C ends it.", "bold")]
    if failure:
        parts.append(_line(f"Not read again: {failure}", "bold red"))
    stuck = [table for table in _stuck(record, now) if table is not None]
    parts += stuck or [_line("Nothing is stuck.", "green")]
    agents = ", ".join(f"{count} {status}" for status, count in record["agents"].items())
    parts.append(_line(f"Agents: {agents or 'none'}"))
    ended = [one for one in record["purchases"] if one["oldest_age_seconds"] is None]
    counts = (("Jobs", record["jobs"]), ("Purchases that ended in 30 days", ended))
    parts += [_line(f"{name}: {_counted(rows) or 'none'}") for name, rows in counts]
    return Group(*parts)


def _stuck(record: dict[str, Any], now: str) -> Iterable[Table | None]:
    """Yield a table for each kind of open task, the oldest rows first."""
    unfinished = [one for one in record["purchases"] if one["oldest_age_seconds"] is not None]
    unfinished.sort(key=lambda one: -int(one["oldest_age_seconds"]))
    yield _table(
        "Escalated disputes",
        ("age", "env", "dispute", "why"),
        [(age(one["age_seconds"]), one["env"], one["id"], one["escalation_reason"]) for one in record["disputes"]],
    )
    yield _table(
        "Unfinished purchases",
        ("oldest", "env", "status", "count"),
        [(age(one["oldest_age_seconds"]), one["env"], one["status"], one["count"]) for one in unfinished],
    )
    yield _table(
        "Refunds owed",
        ("since", "env", "job", "amount"),
        [(_since(one["updated_at"], now), one["env"], one["job_id"], one["display"]) for one in record["refunds_due"]],
    )
    yield _table(
        "Transfers without a job",
        ("since", "settlement", "amount"),
        [(_since(one["created_at"], now), one["id"], one["display"]) for one in record["orphaned_settlements"]],
    )
    yield _table(
        "Failing webhooks",
        ("given up", "env", "webhook", "status"),
        [(one["failures"], one["env"], one["id"], one["status"]) for one in record["failing_webhooks"]],
    )
    yield _table(
        "Reports (others' words)",
        ("since", "env", "from", "message"),
        [
            (_since(one["received_at"], now), one["env"], one["agent_id"] or "no key", one["message"])
            for one in record["reports"]
        ],
    )


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table | None:
    if not rows:
        return None
    shown = f" ({ROWS} shown)" if len(rows) > ROWS else ""
    table = Table(title=_line(f"{title}: {len(rows)}{shown}", "bold"), title_justify="left", box=None)
    for name in columns:
        table.add_column(_line(name, "dim"), no_wrap=True, overflow="ellipsis")
    for row in rows[:ROWS]:
        table.add_row(*map(_line, row))
    return table


def _line(value: Any, style: str = "") -> Text:
    """Return a text without markup and in ASCII, so that it cannot control the terminal."""
    return Text(json.dumps(str(value), ensure_ascii=True)[1:-1].replace('\\"', '"'), style)


def _counted(rows: Iterable[dict[str, Any]]) -> str:
    return ", ".join(f"{one['count']} {one['status']} ({one['env']})" for one in rows)


def _since(moment: str, now: str) -> str:
    return age(int((datetime.fromisoformat(now) - datetime.fromisoformat(moment)).total_seconds()))


def age(seconds: int) -> str:
    """Return a duration in its two largest units, such as `2 d 3 h`."""
    return " ".join(two_units(seconds))
