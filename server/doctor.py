"""`emporion doctor`: check settings, secrets, database, clock and chains, and print what is wrong."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import typer

from server.adapters.clock import SystemClock
from server.adapters.facilitator import HttpFacilitator
from server.app import make_world
from server.archive_checks import check_archives
from server.findings import Findings
from server.recompute_run import Stopped, recomputed
from server.sandbox.journal import JOURNAL_NAME
from server.secrets import Secrets, check_brand, check_secrets, known_secrets, read_secrets
from server.settings import BadSettings, Settings, check_named, config_of
from storage.beside import open_beside
from storage.listing_search import stale_listings_counted, unseen_counted
from storage.open import open_store
from storage.requests import retired_keys
from storage.search_tokens import TOKENS_VERSION
from storage.snapshots import open_reader
from storage.store import Store
from storage.transaction import ServedElsewhere, StorageError
from storage.vocabulary import Env
from tools.chain.transfer_verification import ChainDown, block_time_in
from tools.engine.ports import Chain, Clock, Facilitator, SettleNotSent, SettleUnknown
from tools.jobs.contributions import count_waiting
from tools.kernel.keys import did_of
from tools.listings.stats import drifted_listings
from tools.operator.aggregate_checks import Drift

Recompute = Callable[[Store], AsyncIterator[Drift]]
MAX_DRIFT_SECONDS = 2.0
DRIFT_PATIENCE_SECONDS, DRIFT_STEP_SECONDS = 4.5, 0.25  # a busy chain makes a block every 2 seconds
LOSES_COMMITS = (
    "commits: synchronous_commit is off. A crash of the server may lose calls and payments that were acknowledged, and a replica may "
    "answer without an agent's own writes. Set it to on for this database"
)
PATIENCE_SECONDS = 600.0  # long, because a listing may have any number of jobs, and a thread any number of messages


async def examine(
    settings: Settings, recomputing: bool = False, archive: Path | None = None, from_start: bool = False
) -> int:
    """Print one line for each finding; return 0 if all is well, otherwise 1.

    With `recomputing`, every stored aggregate is computed again and compared; a run that was stopped is continued,
    unless it is to begin `from_start`. With the folder of an `archive`, the rows in it are compared too. A signal that
    stops it gives 128 and its number.
    """
    found = Findings()
    again = partial(recomputed, folder=settings.data_dir, from_start=from_start) if recomputing else None
    try:
        await _examine(settings, again, archive, found)
    except Stopped as stopped:
        typer.echo(stopped, err=True)
        return stopped.exit_code
    return found.exit_code


async def _examine(settings: Settings, again: Recompute | None, archive: Path | None, found: Findings) -> None:
    if settings.database_file is not None and not settings.database_file.exists():
        found.add(False, f"database: {settings.database_file} is not there; `emporion serve` makes it")
        return
    secrets = read_secrets(settings)
    found.add(True, f"settings: {', '.join(sorted(settings.model_fields_set)) or 'none set'}")
    try:
        warning = check_named(settings)
        found.add(warning is None, warning or f"service name: {settings.service_name}")
    except BadSettings as bad:
        found.add(False, str(bad))
    try:
        store, served = await _open(settings)
    except StorageError as error:
        found.add(False, f"database: {error}")
        return
    with closing(store):
        beside = "a market serves it; it is only read" if served else "it is up to date"
        found.add(True, f"database: {settings.database_shown} opens, {beside}")
        _check_modes(settings.database_file, found)
        if settings.database_file is None:
            await asyncio.to_thread(_check_postgres, settings, found)
        try:
            if served:
                in_force = await known_secrets(store, secrets, settings.service_name)
            else:
                in_force = await check_secrets(store, secrets)
                await check_brand(store, settings.service_name)
            found.add(True, "secrets and service name: the ones this database was made with")
            found.add(
                True,
                f"signing key: {did_of(in_force.public_key)}, {len(await store.read(lambda tx: tx.all(retired_keys)))} before it",
            )
        except BadSettings as bad:
            found.add(False, str(bad))
        if settings.read_database_url is not None:
            await asyncio.to_thread(_check_replica, settings.session_database, settings.read_database_url, found)
        await _check_rows(store, served, again, found)
        if served and archive is not None:  # a snapshot cannot put rows back, not even to compare them
            with closing(open_beside(settings.session_database)) as written:
                await check_archives(written, archive, found)
        else:
            await check_archives(store, archive, found)
    await _check_chains(settings, secrets, found)


async def _open(settings: Settings) -> tuple[Store, bool]:
    """Open the database; only read a SQLite file that a market serves."""
    try:
        return open_store(settings.session_database, scan_seconds=PATIENCE_SECONDS), False
    except ServedElsewhere:
        return await open_reader(settings.session_database), True


def _check_postgres(settings: Settings, found: Findings) -> None:
    """Report a pooler of another database, and a server that may lose what it has acknowledged."""
    from storage.postgres import Postgres  # it imports the driver of PostgreSQL

    database = Postgres(settings.database, settings.database_direct_url)
    try:
        database.check_sessions()
        safe = database.keeps_commits()
    except StorageError as error:
        found.add(False, f"sessions: {error}")
    else:
        found.add(True, "sessions: they are kept, and notified through EMPORION_DATABASE_URL")
        found.add(safe, "commits: they are on the disk when they are acknowledged" if safe else LOSES_COMMITS)


def _check_replica(primary: str, url: str, found: Findings) -> None:
    """Report a replica that cannot answer in place of the database."""
    from storage.replica import check_replica  # it imports the driver of PostgreSQL

    try:
        check_replica(primary, url)
    except StorageError as error:
        found.add(False, f"replica: {error}")
    else:
        found.add(True, "replica: it replays this database")


def _check_modes(file: Path | None, found: Findings) -> None:
    """Report database files that other users can read; an older version created them so."""
    beside = () if file is None else (file.with_name(file.name + end) for end in ("", "-wal", "-shm"))
    shown = [str(one) for one in beside if one.exists() and one.stat().st_mode & 0o077]
    if shown:
        found.add(False, f"database: other users of this machine can open {', '.join(shown)}: chmod 600 them")


async def _check_rows(store: Store, served: bool, again: Recompute | None, found: Findings) -> None:
    """Compare the stored figures with the rows that they count."""
    clock = SystemClock()
    # The jobs that an older version left uncounted would appear as drift.
    while not served and await store.write(lambda tx: count_waiting(tx, clock.now()), "count"):
        pass
    stale = await store.read(lambda tx: tx.one(stale_listings_counted, version=TOKENS_VERSION))
    found.add(True, f"search: {stale or 0} listings wait to be indexed again, which the market does as it runs")
    unseen = await store.read(lambda tx: tx.one(unseen_counted))
    found.add(True, f"search: {unseen or 0} listings rank last, because their sellers made no call for a while")
    if again is not None:
        async for drift in again(store):
            found.add(not drift.count, f"recomputed: {drift}")
    else:
        wrong = await drifted_listings(store)
        shown = f": {wrong[:5]}" if wrong else ""
        found.add(not wrong, f"figures: {len(wrong)} listings differ from their rows{shown}")


async def _check_facilitator(env: Env, facilitator: Facilitator, network: str, found: Findings) -> None:
    """Check that a facilitator answers and settles on the network that the settings name."""
    assert isinstance(facilitator, HttpFacilitator)
    try:
        known = await facilitator.networks()
    except (SettleNotSent, SettleUnknown) as down:
        silent = f"does not answer GET /supported ({down}); nothing is paid gas-free meanwhile"
        found.add(False, f"facilitator {env}: {silent}")
    else:
        says = "settles" if network in known else "does not say that it settles"
        found.add(network in known, f"facilitator {env}: {says} on {network}")


def drifted(env: Env, seconds: float | None) -> tuple[bool, str]:
    """Report the difference between this host's clock and the chain; None: no new blocks came."""
    if seconds is None:
        return True, f"clock and chain {env}: not compared, the chain makes no new blocks now"
    if abs(seconds) <= MAX_DRIFT_SECONDS:
        return True, f"clock and chain {env}: {abs(seconds):.1f} seconds apart"
    side = "ahead of" if seconds > 0 else "behind"
    return False, f"clock: this host is {abs(seconds):.0f} seconds {side} chain {env}; set it by NTP"


async def clock_drift(chain: Chain, clock: Clock) -> float | None:
    """Return the host clock's lead over a new block in seconds; None if no block came in time.

    Only a new block counts, because an older one may just be followed by an idle time.
    """
    until, first = clock.monotonic() + DRIFT_PATIENCE_SECONDS, None
    while clock.monotonic() < until:
        number = await chain.head()
        ahead = clock.now().timestamp() - float(block_time_in(await chain.block(number)) or 0)
        if ahead <= MAX_DRIFT_SECONDS or (first is not None and number > first):
            return ahead
        first = number if first is None else first
        await asyncio.sleep(DRIFT_STEP_SECONDS)
    return None


async def _check_chains(settings: Settings, secrets: Secrets, found: Findings) -> None:
    config = config_of(settings, secrets.pepper)
    world, opened = make_world(settings, config, secrets)
    for env in Env:
        chain = world.chains.get(env)
        if chain is None:
            kept = env is Env.TEST and (settings.data_dir / JOURNAL_NAME).exists()
            without = (
                "`emporion serve --sandbox` brings its own, which is kept here" if kept else "payments there answer 502"
            )
            found.add(True, f"chain {env}: not set; {without}")
            continue
        try:
            found.add(True, f"chain {env}: head {await chain.head()}")
            found.add(*drifted(env, await clock_drift(chain, SystemClock())))
        except ChainDown as down:
            found.add(False, f"chain {env}: {down}")
    for env, facilitator in world.facilitators.items():
        await _check_facilitator(env, facilitator, config.networks[env].id, found)
    for one in opened:
        await one.close()
