"""Checks of archives: with the market's tables for `emporion doctor`, and offline for `emporion verify`."""

import asyncio
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from server.adapters.clock import SystemClock
from server.archive_files import MANIFEST, BadArchive, check_manifest, lines_of, manifests, read_part
from server.findings import Findings
from storage.archives import archives
from storage.store import Store
from tools.jobs.signed_documents import Checked, Retired, all_checked, revealed
from tools.jobs.stored_texts import INPUT
from tools.operator.archive_checks import Compared, compare
from tools.operator.archives import MOVED


async def check_archives(store: Store, folder: Path | None, found: Findings) -> None:
    """Add a finding for the archives; with their folder, one for each archive that is not whole."""
    rows = await store.read(lambda tx: tx.all(archives))
    jobs = sum(row.jobs for row in rows)
    if folder is None:
        if rows:
            found.add(True, f"archive: {jobs} jobs in {len(rows)} files, not read; --with-archive FOLDER reads them")
        return
    wrong = 0
    for row in rows:
        fault = await _fault(store, folder / (row.name + MANIFEST), row.sha256)
        wrong += fault is not None
        if fault is not None:
            found.add(False, f"archive: {fault}")
    found.add(not wrong, f"archive: {jobs} jobs in {len(rows)} files, of which {wrong} are wrong")


async def _fault(store: Store, path: Path, archived: str) -> str | None:
    """Return what is wrong with the archive of this SHA-256, or None."""
    try:
        part = await asyncio.to_thread(read_part, path, SystemClock().now(), archived=archived)
        await store.write(lambda tx: compare(tx, part), "compare_archive")
    except BadArchive as bad:
        return str(bad)
    except Compared as compared:
        return f"{path}: {'; '.join(compared.faults[:5])}" if compared.faults else None
    raise AssertionError("a comparison always ends with its result")


def checked_archive(folder: Path, now: datetime, trusted: str | None, retired: Retired) -> Iterator[Checked]:
    """Yield checks of each manifest of a folder, and of the receipts and outputs in its file."""
    for path in manifests(folder):
        try:
            signed = check_manifest(path, now, trusted, retired)
            _, lines = lines_of(path, now)
            yield signed
            yield from _of_jobs(map(orjson.loads, lines), now, trusted, retired)
        except (BadArchive, ValueError, KeyError, TypeError, AttributeError) as bad:
            yield Checked("archive", path.stem, None, str(bad))


def _of_jobs(lines: Iterable[Any], now: datetime, trusted: str | None, retired: Retired) -> Iterator[Checked]:
    jobs, outputs = dict[str, Any](), dict[str, str]()
    for line in lines:
        if line.get("object") == "archived_job":
            yield from all_checked(line["receipt"], now, trusted, retired)
            jobs[line["job_id"]] = line["receipt"]["receipt"]["job"]
        elif line["table"] not in MOVED:
            raise ValueError("a row of another table")
        elif line["table"] == "job_texts" and line["row"]["part"] != INPUT:
            outputs[line["row"]["job_id"]] = line["row"]["text"]  # the last one replaces those before a revision
    for job_id, text in outputs.items():
        if jobs[job_id]["output_salt"] is not None:  # the output of a job that was never paid stays sealed
            yield revealed({**jobs[job_id], "object": "job", "output": orjson.loads(text)})
