"""The doctor: looks at settings, secrets, database and chains, and says what is wrong in sentences."""

from collections.abc import AsyncIterator

from server.app import make_world
from server.keys import retired_count
from server.sandbox.journal import JOURNAL_NAME
from server.secrets import check_brand, check_secrets, read_secrets
from server.settings import BadSettings, Settings, house_of
from server.world.clock import SystemClock
from server.world.facilitator import HttpFacilitator
from storage.open import open_store
from storage.store import Store
from storage.unit import StorageError
from tools.house import House
from tools.ports import Env, SettleLost, SettleNotSent, World
from tools.rules.keys import did_of
from tools.rules.transfers import ChainDown
from tools.steps.figures import drifted_listings
from tools.steps.recompute import recompute
from tools.steps.recounting import count_waiting

PATIENCE_SECONDS = 600.0  # a listing has any number of jobs, a thread any number of messages


async def examine(settings: Settings, recomputing: bool = False) -> int:
    """Print one line for each finding; 0 when all is well, else 1. `recomputing` makes every aggregate again."""
    worst = 0
    async for well, sentence in _findings(settings, recomputing):
        print(("ok    " if well else "WRONG ") + sentence)
        worst = max(worst, int(not well))
    return worst


async def _findings(settings: Settings, recomputing: bool) -> AsyncIterator[tuple[bool, str]]:
    if settings.database_file is not None and not settings.database_file.exists():
        yield False, f"database: {settings.database_file} is not there; `emporion serve` makes it"
        return
    secrets = read_secrets(settings)
    yield True, f"settings: {', '.join(sorted(settings.model_fields_set)) or 'none set'}"
    try:
        store = open_store(settings.database, scan_seconds=PATIENCE_SECONDS)
    except StorageError as error:
        alone = "; a SQLite file is examined while no market serves it" if settings.database_file else ""
        yield False, f"database: {error}{alone}"
        return
    try:
        yield True, f"database: {settings.database_shown} opens and is up to date"
        try:
            in_force = await check_secrets(store, secrets)
            await check_brand(store, settings.service_name)
            yield True, "secrets and service name: the ones this database was made with"
            yield True, f"signing key: {did_of(in_force.public_key)}, {await retired_count(store)} before it"
        except BadSettings as bad:
            yield False, str(bad)
        await _count_waiting(store)
        async for finding in _recomputed(store) if recomputing else _figures(store):
            yield finding
    finally:
        store.close()
    async for finding in _chains(settings, secrets.pepper):
        yield finding


async def _count_waiting(store: Store) -> None:
    """What an older market left to be counted is no drift."""
    clock = SystemClock()
    while await store.write(lambda tx: count_waiting(tx, clock.now()), "count"):
        pass


async def _figures(store: Store) -> AsyncIterator[tuple[bool, str]]:
    drift = await drifted_listings(store)
    yield not drift, f"figures: {len(drift)} listings differ from their rows" + (f": {drift[:5]}" if drift else "")


async def _recomputed(store: Store) -> AsyncIterator[tuple[bool, str]]:
    async for drift in recompute(store):
        yield not drift.keys, f"recomputed: {drift}"


async def _facilitators(world: World, house: House) -> AsyncIterator[tuple[bool, str]]:
    """Whether each that is named answers, and settles on the network it is named for."""
    for env, named in world.facilitators.items():
        assert isinstance(named, HttpFacilitator)
        wanted = house.networks[env].id
        try:
            known = await named.networks()
        except (SettleNotSent, SettleLost) as down:
            yield (
                False,
                f"facilitator {env}: does not answer GET /supported ({down}); nothing is paid gas-free meanwhile",
            )
            continue
        says = "settles" if wanted in known else "does not say that it settles"
        yield wanted in known, f"facilitator {env}: {says} on {wanted}"


async def _chains(settings: Settings, pepper: bytes) -> AsyncIterator[tuple[bool, str]]:
    world, opened = make_world(settings, house_of(settings, pepper), read_secrets(settings))
    for env in Env:
        chain = world.chains.get(env)
        if chain is None:
            sandbox = env is Env.TEST and (settings.data_dir / JOURNAL_NAME).exists()
            without = (
                "; `emporion serve --sandbox` brings its own, which is kept here"
                if sandbox
                else "; payments there answer 502"
            )
            yield True, f"chain {env}: not set{without}"
            continue
        try:
            yield True, f"chain {env}: head {await chain.head()}"
        except ChainDown as down:
            yield False, f"chain {env}: {down}"
    async for finding in _facilitators(world, house_of(settings, pepper)):
        yield finding
    for one in opened:
        await one.close()
