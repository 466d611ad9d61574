"""The run of `emporion doctor --recompute`: its progress on stderr, its file, and how it stops and continues."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Self

import orjson
import typer
from pydantic import AwareDatetime, TypeAdapter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from server.adapters.clock import SystemClock
from storage.migrate import newest
from storage.store import Store
from tools.kernel.records import stamp
from tools.operator.aggregate_checks import SOURCES, Drift
from tools.operator.recompute import Run, can_continue, ids_left, recompute

FILE_NAME = "recompute.json"
MAX_AGE = timedelta(hours=24)  # since the last page; older checks say little
SOURCE_NAMES = [source.name for source in SOURCES]
MAX_EVENT = 2**63
LINE_SECONDS = 10.0  # between two lines, if stderr is no terminal
STOPPED_BY = (signal.SIGINT, signal.SIGTERM)


class Stopped(Exception):
    """The run was asked to stop after a page."""

    def __init__(self, by: signal.Signals) -> None:
        super().__init__("stopped; `emporion doctor --recompute` continues here, --from-start begins again")
        self.exit_code = 128 + by


@dataclass(frozen=True, slots=True)
class Saved:
    """The content of the file."""

    begun_at: AwareDatetime
    at: AwareDatetime
    revision: str  # of the tables
    sources: list[str]
    run: Run

    @property
    def is_in_range(self) -> bool:
        """True if the database has such sources and may have such an event."""
        places = (self.run.source, *(span.source for span in self.run.wrong))
        newest_event = self.run.witness.number if self.run.witness else 0
        return all(0 <= place < len(SOURCE_NAMES) for place in places) and 0 <= newest_event < MAX_EVENT


SAVED = TypeAdapter(Saved)


class RunFile:
    """The file with the place that a run came to.

    It is replaced after each page, so a kill leaves a whole one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.begun_at, self.revision = SystemClock().now(), newest()

    async def read(self, store: Store) -> Run:
        """Return the run to continue; a new one if there is none that fits this database."""
        try:
            kept = SAVED.validate_json(self.path.read_bytes(), strict=True)
        except FileNotFoundError:
            return Run()
        except (OSError, ValueError):
            typer.echo(f"{self.path} cannot be read: begins again", err=True)
            return Run()
        same = (kept.revision, kept.sources) == (self.revision, SOURCE_NAMES) and kept.is_in_range
        if same and SystemClock().now() - kept.at <= MAX_AGE and await can_continue(store, kept.run):
            self.begun_at = kept.begun_at
            typer.echo(f"continues the run of {stamp(kept.begun_at)}", err=True)
            return kept.run
        why = "is too old, or of another state of the database"
        typer.echo(f"the run of {stamp(kept.begun_at)} {why}: begins again", err=True)
        return Run()

    def write(self, run: Run) -> None:
        begun = self.path.with_suffix(f".{os.getpid()}")
        begun.write_bytes(orjson.dumps(Saved(self.begun_at, SystemClock().now(), self.revision, SOURCE_NAMES, run)))
        begun.replace(self.path)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


async def recomputed(store: Store, folder: Path, from_start: bool) -> AsyncIterator[Drift]:
    """Recompute every figure, or continue a run that was stopped; raise Stopped if this one is.

    Progress goes to stderr. The run can be stopped by SIGINT and SIGTERM after each page, and at any time by a kill.
    """
    file = RunFile(folder / FILE_NAME)
    run = Run() if from_start else await file.read(store)
    with _asked_to_stop() as asked, _Shown(await ids_left(store, run)) as shown:

        def note(run: Run, checked: int) -> None:
            file.write(run)
            shown.advance(SOURCE_NAMES[run.source], checked)
            if asked:
                raise Stopped(asked[0])

        drifts = [drift async for drift in recompute(store, run, note)]
    file.remove()
    for drift in drifts:
        yield drift


@contextmanager
def _asked_to_stop() -> Iterator[list[signal.Signals]]:
    """Yield a list of the signals that asked to stop. A second one ends the process at once."""
    asked, loop = list[signal.Signals](), asyncio.get_running_loop()

    def stop(by: signal.Signals) -> None:
        asked.append(by)
        for one in STOPPED_BY:
            loop.remove_signal_handler(one)

    for one in STOPPED_BY:
        loop.add_signal_handler(one, stop, one)
    try:
        yield asked
    finally:
        for one in STOPPED_BY:
            loop.remove_signal_handler(one)


class _Shown:
    """The progress of each source: bars on a terminal, otherwise a line now and then."""

    def __init__(self, totals: dict[str, int]) -> None:
        self.totals, self.done, self.shown_at = totals, dict.fromkeys(totals, 0), time.monotonic()
        console = Console(stderr=True)
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        self.bars = Progress(*columns, console=console) if console.is_terminal else None
        self.tasks = (
            {name: self.bars.add_task(name, total=total) for name, total in totals.items()} if self.bars else {}
        )

    def __enter__(self) -> Self:
        if self.bars:
            self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bars:
            self.bars.stop()

    def advance(self, name: str, ids: int) -> None:
        self.done[name] += ids
        if self.bars:
            self.bars.advance(self.tasks[name], ids)
        elif time.monotonic() - self.shown_at > LINE_SECONDS:
            self.shown_at = time.monotonic()
            typer.echo(f"recompute: {name}, {self.done[name]:,} of {self.totals[name]:,}", err=True)
