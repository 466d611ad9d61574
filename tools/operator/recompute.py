"""`emporion doctor --recompute`: every stored figure is made again, page by page, and the run can be continued.

Each page is read in one snapshot of the database, which ends with the page. A check compares stored values with the
rows that they are made of, and both are in that snapshot. The market changes both in one transaction, so trade during
the run shows no difference. Nothing is summed over several pages, so a run that continues needs no figure of an earlier
page: it needs to know only how far the checks came. So the verdict is that each figure was right, or wrong, at a time
between the beginning and the end of the run. Rows that are made during the run may be left out.

Each word of the counts by day is one page, because a job changes the counts of several days. That is the longest
snapshot: one scan of the jobs.

A run continues only if the database is the one that it was begun on, and has not gone back in time: the newest event
of the last page must still be there, unchanged (`Witness`). A restored backup does not have it. Pages with differences
are read again when the run continues, because the operator may have corrected them meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from storage import operator as stored
from storage.store import Store
from storage.tables import EventRow
from storage.transaction import Tx
from tools.operator.aggregate_checks import AGGREGATES, PROOFS, SOURCES, Drift, Source
from tools.operator.checked_page import CheckedPage


@dataclass(frozen=True, slots=True)
class Witness:
    """The newest event of a snapshot: its number, and SHA-256 of its content."""

    number: int
    content: str


@dataclass(frozen=True, slots=True)
class Span:
    """Ids of a source, after one id and up to another."""

    source: int  # its place in SOURCES
    after: str
    upto: str


@dataclass(slots=True)
class Run:
    """The place that a run came to: its source, and the last id that was checked."""

    source: int = 0
    after: str = ""
    wrong: list[Span] = field(default_factory=list)  # the pages with differences
    witness: Witness | None = None


Note = Callable[[Run, int], None]  # gets the run after each page, and the number of ids checked in it


class _Page(NamedTuple):
    span: Span
    ids: Sequence[str]
    wrong: dict[int, list[str]]  # keys of wrong rows, by the place of their aggregate
    witness: Witness | None


async def recompute(store: Store, run: Run | None = None, note: Note = lambda run, ids: None) -> AsyncIterator[Drift]:
    """Compare every figure with its rows; yield the differences of each aggregate at the end.

    A given `run` is continued. An error of `note` ends the run; what it was called with can be continued.
    """
    run = Run() if run is None else run
    drifts = [Drift(one) for one in (*AGGREGATES, *PROOFS)]
    again, run.wrong = run.wrong, []
    for span in again:
        async for page in _pages(store, span):
            _add(run, drifts, page)
    for place in range(run.source, len(SOURCES)):
        async for page in _pages(store, Span(place, run.after, "")):
            _add(run, drifts, page)
            run.after, run.witness = page.span.upto, page.witness
            note(run, len(page.ids))
        run.source, run.after = place + 1, ""
    for drift in drifts:
        yield drift


async def can_continue(store: Store, run: Run) -> bool:
    """Check whether the database has the event that a run saw last."""
    if run.witness is None:
        return False
    number = run.witness.number
    found = await store.read(lambda tx: tx.get(EventRow, number))
    return found is not None and _witness(found) == run.witness


async def ids_left(store: Store, run: Run) -> dict[str, int]:
    """Count the ids of each source that a run has still to check."""
    sources = enumerate(SOURCES[run.source :])
    return {
        source.name: await store.scan(partial(source.left, after="" if place else run.after))
        for place, source in sources
    }


async def _pages(store: Store, span: Span) -> AsyncIterator[_Page]:
    after = span.after
    while True:
        page = await store.scan(partial(_checked, place=span.source, after=after, upto=span.upto))
        if not page.ids:
            return
        yield page
        await asyncio.sleep(0)  # so that a signal is noticed; a read on the event loop does not wait
        after = page.span.upto


def _checked(tx: Tx, place: int, after: str, upto: str) -> _Page:
    source: Source = SOURCES[place]
    ids = [one for one in source.after(tx, after, source.page) if not upto or one <= upto]
    page = CheckedPage(tx, ids)
    checks = enumerate((*AGGREGATES, *PROOFS) if ids else ())
    found = {number: sorted(one.drifted(page)) for number, one in checks if one.of is source}
    newest = tx.one(stored.newest_of_events)
    witness = None if newest is None else _witness(newest)
    return _Page(
        Span(place, after, ids[-1] if ids else ""),
        ids,
        {number: keys for number, keys in found.items() if keys},
        witness,
    )


def _add(run: Run, drifts: list[Drift], page: _Page) -> None:
    """Add the differences of a page, and note its span, joined with the span before it."""
    for number, keys in page.wrong.items():
        drifts[number].add(keys)
    if not page.wrong:
        return
    span = page.span
    if run.wrong and (run.wrong[-1].source, run.wrong[-1].upto) == (span.source, span.after):
        span = replace(span, after=run.wrong.pop().after)
    run.wrong.append(span)


def _witness(row: EventRow) -> Witness:
    content = repr((row.agent_id, row.env, row.kind, row.data, row.created_at))
    return Witness(row.id, sha256(content.encode()).hexdigest())
