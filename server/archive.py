"""`emporion archive`: move texts of jobs that ended long ago into files, and back.

Each file is one unit of work. It is on the disk and was read again before its rows are deleted. A run that was killed
is continued by the next one: a file whose rows are still in the tables is finished first, or set aside if its jobs were
changed since.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from server.app import make_world
from server.archive_files import BadArchive, check_manifest, make_folder, manifests, pack, read_part, set_aside, write
from server.secrets import check_brand, check_secrets, read_secrets
from server.settings import BadSettings, Settings, config_of
from server.workers import SYSTEM_CALLER, context_of
from storage.archives import archives
from storage.beside import open_beside
from storage.open import open_store
from storage.snapshots import PATIENCE_SECONDS
from storage.store import Store
from storage.tables import ArchivedJobRow
from storage.transaction import StorageError
from storage.vocabulary import Env
from tools.engine.archives import ARCHIVED_AFTER
from tools.engine.context import ReadContext
from tools.engine.dispatch import Market
from tools.engine.platform_signatures import platform, sign
from tools.kernel.ids import ENTROPY_BYTES, Prefix, new_id
from tools.kernel.keys import did_of
from tools.kernel.records import stamp
from tools.operator.archives import Changed, Draft, Part, draft, put_back, take_out

T = TypeVar("T")
Say = Callable[[str], None]


@dataclass(slots=True)
class Moved:
    """The jobs and files that a run moved, and the ids of jobs that are too large."""

    jobs: int = 0
    files: int = 0
    too_large: tuple[str, ...] = ()

    def add(self, part: Part | None) -> None:
        self.jobs += len(part.jobs) if part else 0
        self.files += 1 if part else 0


def open_used(settings: Settings) -> Store:
    """Open the database, which a market may use at the same time; raises StorageError."""
    if settings.database_file is not None:
        return open_beside(settings.session_database)
    return open_store(settings.session_database, PATIENCE_SECONDS)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Market]:
    """Open the market that these settings name, beside its processes."""
    if settings.database_file is not None and not settings.database_file.exists():
        raise BadSettings(f"{settings.database_file} is not there: it has no jobs")
    try:
        store = open_used(settings)
    except StorageError as error:
        raise BadSettings(f"database: {error}") from error
    try:
        secrets = await check_secrets(store, read_secrets(settings))
        await check_brand(store, settings.service_name)
        config = config_of(settings, secrets.pepper)
        world, parts = make_world(settings, config, secrets)
        try:
            yield Market(store, world, config)
        finally:
            for one in parts:
                await one.close()
    finally:
        store.close()


async def run(
    settings: Settings,
    before: datetime | None,
    to: Path | None,
    restore: Path | None,
    job_id: str | None,
    say: Say = print,
) -> None:
    """Do the work of `emporion archive` and say its result.

    Raises BadSettings if the options contradict.
    """
    if (before is None) == (restore is None) or (restore and to) or (job_id and before):
        raise BadSettings("either --before DATE with or without --to FOLDER, or --restore FOLDER with or without --job")
    async with opened(settings) as market:
        if restore is not None:
            moved = await move_back(market, restore, job_id, say)
            say(f"{restore}: {moved.jobs} jobs of {moved.files} files are in the database again.")
        elif before is not None:
            folder = to or settings.data_dir / "archive"
            moved = await move_out(market, folder, before, say)
            say(f"{folder}: {moved.jobs} jobs in {moved.files} new files.")
            if moved.too_large:
                say(f"{len(moved.too_large)} jobs are too large and stay: {', '.join(moved.too_large[:5])}")


async def move_out(market: Market, folder: Path, ended_before: datetime, say: Say) -> Moved:
    """Move the texts of jobs that ended before a time into files of a folder.

    Raises BadSettings if the time is less than ARCHIVED_AFTER ago.
    """
    now = market.world.clock.now()
    if ended_before > now - ARCHIVED_AFTER:
        raise BadSettings(f"--before: at the latest {stamp(now - ARCHIVED_AFTER)}, {ARCHIVED_AFTER.days} days ago")
    make_folder(folder)
    moved, after = Moved(), ""
    for path in await _unfinished(market, folder):
        moved.add(await _finish(market, path, say))
    while True:
        found = await market.store.read(lambda tx: draft(context_of(market, tx), ended_before, after))  # noqa: B023
        moved.too_large += found.too_large
        if found.jobs:
            moved.add(await _finish(market, await _written(market, folder, found), say))
        if found.after is None:
            return moved
        after = found.after


async def move_back(market: Market, folder: Path, job_id: str | None, say: Say) -> Moved:
    """Restore the jobs of all files in a folder, or of the file with one job.

    Raises BadArchive if a file is missing or was changed, and BadSettings if the one job is not archived.
    """
    wanted = await _archived(market, job_id)
    moved = Moved()
    for path in [one for one in manifests(folder) if one.stem in wanted]:
        archived = wanted.pop(path.stem)
        part = await asyncio.to_thread(read_part, path, market.world.clock.now(), archived=archived)
        try:
            back = await market.store.write(lambda tx: put_back(tx, part), "restore_archive")  # noqa: B023
        except Changed:
            raise BadArchive(f"{path}: not the file that was archived") from None
        if back:
            moved.add(part)
            say(f"{path.stem}: {len(part.jobs)} jobs are in the tables again")
    if wanted:
        raise BadArchive(f"{folder}: does not have {', '.join(sorted(wanted)[:5])} ({len(wanted)} archives)")
    return moved


async def _archived(market: Market, job_id: str | None = None) -> dict[str, str]:
    """Return the SHA-256 of the archives in force by name; with `job_id`, only of its archive."""
    found = {row.name: row.sha256 for row in await market.store.read(lambda tx: tx.all(archives))}
    if job_id is None:
        return found
    row = await market.store.read(lambda tx: tx.get(ArchivedJobRow, job_id))
    if row is None or row.archive not in found:
        raise BadSettings(f"{job_id} is not archived")
    return {row.archive: found[row.archive]}


async def _unfinished(market: Market, folder: Path) -> list[Path]:
    """Return the manifests that this market has signed and whose jobs are not archived."""
    known, own, now = await _archived(market), _own(market), market.world.clock.now()
    found = [path for path in manifests(folder) if path.stem not in known]
    checks = {path: _unless_gone(path, partial(check_manifest, path, now, own)) for path in found}
    return [path for path, check in checks.items() if check is not None and check.fault is None]


def _unless_gone(path: Path, read: Callable[[], T]) -> T | None:
    """Return the result of a read of a file; None if another run has set the file aside."""
    try:
        return read()
    except BadArchive:
        if path.exists():
            raise
        return None


def _own(market: Market) -> str:
    return did_of(market.world.signer.public_key)


async def _written(market: Market, folder: Path, found: Draft) -> Path:
    """Write a file and its manifest; return the path of the manifest."""
    ctx = ReadContext(market.services, SYSTEM_CALLER, Env.LIVE, market.world.clock.now())
    name = new_id(Prefix.ARCHIVE, ctx.now, market.world.dice.random_bytes(ENTROPY_BYTES))
    packed = await asyncio.to_thread(pack, name, stamp(ctx.now), found.lines, len(found.jobs), platform(ctx))
    signature = await market.store.read(lambda tx: sign(context_of(market, tx), packed.manifest))
    return await asyncio.to_thread(write, folder, packed, asdict(signature))


async def _finish(market: Market, path: Path, say: Say) -> Part | None:
    """Delete the rows that a file has, or set the file aside if its jobs were changed."""
    read = partial(read_part, path, market.world.clock.now(), _own(market))
    part = await asyncio.to_thread(_unless_gone, path, read)
    if part is None:
        return None
    try:
        await market.store.write(lambda tx: take_out(context_of(market, tx), part), "archive")
    except Changed:
        set_aside(path.parent, part.name)
        say(f"{part.name}: its jobs were changed meanwhile; the file is set aside")
        return None
    say(f"{part.name}: {len(part.jobs)} jobs")
    return part
