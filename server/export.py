"""`emporion export`: write the market's tables as JSON Lines, or one agent's document, even while it is served."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from server.adapters.clock import SeedSigner
from server.app import make_world
from server.atomic_files import new_file, sums, sync, write_manifest
from server.secrets import known_secrets, read_secrets
from server.settings import BadSettings, Settings, config_of, make_empty
from storage.migrate import newest
from storage.rows import Row
from storage.snapshots import SnapshotStore, open_moment
from storage.table_dump import KEPT_BACK, LEFT_OUT, next_page, shown, taken
from storage.tables import AgentRow, JobDeliveryRow, JobRow, JobTextRow, SettingsRow
from storage.vocabulary import AgentStatus, Env
from tools.account.export_writer import Reader, gather_pages
from tools.account.operations import document
from tools.agents.logic import any_agent
from tools.engine.caller import EVERYTHING, Caller, CallRequest, Surface
from tools.engine.context import ReadContext
from tools.engine.dispatch import Market
from tools.jobs.snapshot import load_all
from tools.jobs.stored_texts import INPUT
from tools.jobs.views import marks_of
from tools.kernel.records import stamp

MANIFEST = "manifest.json"
HERE = CallRequest(Surface.REST, "", "export")  # a call without credential and address


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of an export: market, time, rows of each table, and what was left out."""

    version: str
    made_at: str
    service_name: str
    revision: str
    rows: dict[str, int]
    files: dict[str, str]
    kept_back: dict[str, list[str]] = field(
        default_factory=lambda: {name: sorted(KEPT_BACK[name]) for name in KEPT_BACK}
    )
    left_out: dict[str, str] = field(default_factory=lambda: dict(LEFT_OUT))
    object: str = "emporion_export"
    format: int = 1


async def export_market(settings: Settings, folder: Path, now: datetime) -> Manifest:
    """Write each table as JSON Lines into an empty folder, then the manifest."""
    with closing(await _open(settings)) as moment:
        name = await moment.read(lambda tx: tx.get(SettingsRow, "service_name"))
        make_empty(folder)
        sealed, rows = await _sealed(moment), {}
        for kind in taken():
            rows[str(kind.__table__.name)] = await _write_table(moment, kind, folder, sealed)
    brand = settings.service_name if name is None else name.value
    made = Manifest(version("emporion"), stamp(now), brand, newest(), rows, sums(folder))
    write_manifest(folder, MANIFEST, made)
    return made


async def export_agent(settings: Settings, who: str, env: Env, path: Path, now: datetime) -> str:
    """Write the document that export_me gives this agent in `env`, as of `now`; return its id."""
    with closing(await _open(settings)) as moment:
        secrets = await known_secrets(moment, read_secrets(settings), settings.service_name)
        config = config_of(settings, secrets.pepper)
        world, opened = make_world(settings, config, secrets)
        still = replace(world, clock=Still(now), signer=SeedSigner(secrets.signing_seed))
        try:
            agent = await find(moment, who)
            await _write_pieces(path, agent_document(Market(moment, still, config), agent.id, env))
        finally:
            for one in opened:
                await one.close()
    return agent.id


@dataclass(frozen=True, slots=True)
class Still:
    """A clock that always shows the same time."""

    at: datetime

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return 0.0


class OperatorsReader(Reader):
    """The reader of an export, which needs no key of the agent."""

    async def may_go_on(self) -> bool:
        return True


def agent_document(market: Market, agent_id: str, env: Env) -> AsyncGenerator[bytes, None]:
    """Yield the export_me document of an agent; it contains only what the agent may see."""
    caller = Caller(agent_id, None, env, (EVERYTHING,), HERE)
    read_ctx = ReadContext(market.services, caller, env, market.world.clock.now())
    return gather_pages(document(OperatorsReader(read_ctx)))


async def find(moment: SnapshotStore, who: str) -> AgentRow:
    row = await moment.read(lambda tx: any_agent(tx, who))
    if row is None:
        raise BadSettings(f"--agent {who}: there is no such agent")
    if row.status is AgentStatus.DELETED:
        raise BadSettings(f"--agent {who}: has left; what is kept of it is in an export without --agent")
    return row


async def _open(settings: Settings) -> SnapshotStore:
    """Open the database as of this moment; raises BadSettings if it is missing."""
    if settings.database_file is not None and not settings.database_file.exists():
        raise BadSettings(f"{settings.database_file} is not there: there is nothing to export")
    return await open_moment(settings.session_database)


async def _sealed(moment: SnapshotStore) -> set[str]:
    """Return the ids of the jobs whose outputs their buyers may not see yet."""
    found = set[str]()
    async for page in _pages(moment, JobRow):
        delivered = [row for row in page if row.output is not None and row.price]
        for seen in await moment.read(lambda tx: load_all(tx, delivered)):  # noqa: B023
            if seen.facts.is_sealed:
                found.add(seen.row.id)
    return found


async def _write_table(moment: SnapshotStore, kind: type[Row], folder: Path, sealed: set[str]) -> int:
    path, count = folder / f"{kind.__table__.name}.jsonl", 0
    with os.fdopen(new_file(path), "wb") as file:
        async for page in _pages(moment, kind):
            for line in _lines(page, sealed):
                file.write(line)
                count += 1
    sync(path)
    return count


def _lines(page: list[Any], sealed: set[str]) -> Iterator[bytes]:
    for row in page:
        if isinstance(row, JobTextRow) and row.job_id in sealed and row.part != INPUT:
            continue
        kept = shown(row) | _hidden(row, sealed)
        yield orjson.dumps(kept, default=_told, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATETIME)


def _hidden(row: Row, sealed: set[str]) -> dict[str, object]:
    """Return replacements for sealed fields, so that the export shows only what the buyer sees."""
    if not isinstance(row, JobRow | JobDeliveryRow):
        return {}
    if (row.id if isinstance(row, JobRow) else row.job_id) not in sealed:
        return {}
    marks = marks_of(row, sealed=True)
    return {"output": marks["output_hash"], "output_salt": None, "output_bytes": marks["output_bytes"]}


def _told(value: object) -> str:
    assert isinstance(value, datetime), f"{type(value).__name__} has no form here"
    return stamp(value)


async def _pages(moment: SnapshotStore, kind: type[Row]) -> AsyncIterator[list[Any]]:
    page: list[Any] = await moment.read(lambda tx: next_page(tx, kind, None))
    while page:
        yield page
        last = page[-1]
        page = await moment.read(lambda tx: next_page(tx, kind, last))  # noqa: B023


async def _write_pieces(path: Path, pieces: AsyncGenerator[bytes, None]) -> None:
    with _whole(path) as file:
        async with aclosing(pieces):
            async for piece in pieces:
                file.write(piece)


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for writing, and delete it if writing fails."""
    try:
        file = os.fdopen(new_file(path), "wb")
    except FileExistsError:
        raise BadSettings(f"{path} is there already: it is not written over") from None
    try:
        with file:
            yield file
        sync(path)
    except BaseException:
        path.unlink()
        raise
