"""What the operator takes out of a market, also while it is served: all of it table by table, or one agent's own document."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from server.app import make_world
from server.folders import make_empty, new_file, sums, sync, write_file
from server.secrets import known_secrets, read_secrets
from server.settings import BadSettings, Settings, house_of
from server.world.signer import SeedSigner
from storage.dump import KEPT_BACK, LEFT_OUT, next_page, shown, taken
from storage.migrate import newest
from storage.moment import Moment, open_moment
from storage.rows import Row
from storage.tables import AgentRow, AgentStatus, DocumentRow, HouseRow, JobDeliveryRow, JobRow
from tools.context import Approach, Caller, Outside, Surface
from tools.dispatch import Market
from tools.operations.exports import document
from tools.ports import Env
from tools.records.base import stamp
from tools.rules.scopes import EVERYTHING
from tools.steps.agents import any_agent
from tools.steps.exports import Reader, gathered
from tools.steps.jobs import see_all

MANIFEST = "manifest.json"
HERE = Approach(Surface.REST, "", "export")  # nobody's call: no credential, no address


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an export is: of which market and when, how many rows of each table, and what is in none of its files."""

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


@dataclass(slots=True)
class Sealed:
    """Jobs whose output their buyers may not see yet, and the documents that are nothing but such outputs."""

    jobs: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)

    def meet(self, row: Row) -> None:
        """What another row names too is sealed no more: the same words may be many things."""
        of = row.id if isinstance(row, JobRow) else row.job_id if isinstance(row, JobDeliveryRow) else None
        for name, value in row.__dict__.items():
            if value in self.documents and not (name == "output" and of in self.jobs):
                self.documents.discard(value)


async def export_market(settings: Settings, folder: Path, now: datetime) -> Manifest:
    """A file of JSON Lines for each table, and the manifest, which comes last. Nothing secret, nothing sealed."""
    async with _read(settings) as moment:
        name = await moment.look(lambda tx: tx.get(HouseRow, "service_name"))
        make_empty(folder)
        sealed, rows = await _sealed(moment), {}
        for kind in taken():
            rows[str(kind.__table__.name)] = await _write_table(moment, kind, folder, sealed)
    brand = settings.service_name if name is None else name.value
    made = Manifest(version("emporion"), stamp(now), brand, newest(), rows, sums(folder))
    write_file(folder / MANIFEST, orjson.dumps(asdict(made), option=orjson.OPT_INDENT_2))
    sync(folder)
    return made


async def export_agent(settings: Settings, who: str, env: Env, path: Path, now: datetime) -> str:
    """The document this agent gets by export_me with a key of that environment, as of `now`; its id."""
    async with _read(settings) as moment:
        secrets = await known_secrets(moment, read_secrets(settings), settings.service_name)
        house = house_of(settings, secrets.pepper)
        world, opened = make_world(settings, house, secrets)
        still = replace(world, clock=Still(now), signer=SeedSigner(secrets.signing_seed))
        try:
            agent = await find(moment, who)
            await _write_pieces(path, agent_document(Market(moment, still, house), agent.id, env))
        finally:
            for one in opened:
                await one.close()
    return agent.id


@dataclass(frozen=True, slots=True)
class Still:
    """A clock that stands at the moment that is read."""

    at: datetime

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return 0.0


class OperatorsReader(Reader):
    """Reads what an agent may read, and asks it for no key."""

    async def may_go_on(self) -> bool:
        return True


def agent_document(market: Market, agent_id: str, env: Env) -> AsyncGenerator[bytes, None]:
    """Read as that agent, by its own operations: what it may not see is not in it."""
    caller = Caller(agent_id, None, env, (EVERYTHING,), HERE)
    outside = Outside(
        market.store, market.shelf, market.pulse, market.bell, market.snapshots, market.desk, market.searches,
        market.world, market.house, caller, env, market.world.clock.now(), market.operations,
    )  # fmt: skip
    return gathered(document(OperatorsReader(outside)))


async def find(moment: Moment, who: str) -> AgentRow:
    row = await moment.look(lambda tx: any_agent(tx, who))
    if row is None:
        raise BadSettings(f"--agent {who}: there is no such agent")
    if row.status is AgentStatus.DELETED:
        raise BadSettings(f"--agent {who}: has left; what is kept of it is in an export without --agent")
    return row


@asynccontextmanager
async def _read(settings: Settings) -> AsyncIterator[Moment]:
    if settings.database_file is not None and not settings.database_file.exists():
        raise BadSettings(f"{settings.database_file} is not there: there is nothing to export")
    moment = await open_moment(settings.database)
    try:
        yield moment
    finally:
        moment.close()


async def _sealed(moment: Moment) -> Sealed:
    found = Sealed()
    async for page in _pages(moment, JobRow):
        delivered = [row for row in page if row.output is not None and row.price]
        for seen in await moment.look(lambda tx: see_all(tx, delivered)):  # noqa: B023
            if seen.facts.is_sealed:
                found.jobs.add(seen.row.id)
                found.documents |= {str(seen.row.output), *(one.output for one in seen.deliveries)}
    return found


async def _write_table(moment: Moment, kind: type[Row], folder: Path, sealed: Sealed) -> int:
    path, count = folder / f"{kind.__table__.name}.jsonl", 0
    with os.fdopen(new_file(path), "wb") as file:
        async for page in _pages(moment, kind):
            for line in _lines(page, sealed):
                file.write(line)
                count += 1
    sync(path)
    return count


def _lines(page: list[Any], sealed: Sealed) -> Iterator[bytes]:
    for row in page:
        if isinstance(row, DocumentRow):
            if row.hash in sealed.documents:
                continue
        else:
            sealed.meet(row)
        yield orjson.dumps(
            shown(row), default=_told, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATETIME
        )


def _told(value: object) -> str:
    assert isinstance(value, datetime), f"{type(value).__name__} has no form here"
    return stamp(value)


async def _pages(moment: Moment, kind: type[Row]) -> AsyncIterator[list[Any]]:
    page: list[Any] = await moment.look(lambda tx: next_page(tx, kind, None))
    while page:
        yield page
        last = page[-1]
        page = await moment.look(lambda tx: next_page(tx, kind, last))  # noqa: B023


async def _write_pieces(path: Path, pieces: AsyncGenerator[bytes, None]) -> None:
    with _whole(path) as file:
        async with aclosing(pieces):
            async for piece in pieces:
                file.write(piece)


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """A new file, which is there only if all of it was written."""
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
