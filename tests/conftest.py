"""Fixtures for all tests: above all a store on each database, which is empty at the start of a test."""

import gc
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from server.serve import COLLECT_AFTER
from storage.open import open_database, serve
from storage.store import Store
from storage.transaction import Tx
from tests import suites
from tests.support.databases import (
    DATABASES,
    NO_SERVER,
    Opening,
    PostgresDatabase,
    PostgresServer,
    SQLiteTemplate,
    close,
    installed,
    modes_above,
    wheel,
)
from tests.support.memory_folder import use_memory
from tests.support.replica import Replica
from tests.support.tls import share_tls_context
from tools.events.payloads import PAYLOADS

use_memory()
share_tls_context()
gc.disable()  # collecting eleven thousand tests makes no garbage; `pytest_collection_finish` enables it again
EVENTS = {kind: TypeAdapter(data) for kind, data in PAYLOADS.items()}
pytest_plugins = ["tests.support.market_fixtures", "tests.support.chain_fixtures"]
MODES_BEFORE = modes_above(Path(sys.prefix), Path(__file__).parents[1], Path.home(), Path(tempfile.gettempdir()))
COLLECTED = pytest.StashKey[list[pytest.Item]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    if not (installed() or wheel()):
        pytest.exit(NO_SERVER, returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep all collected tests for the test that compares the databases; then select the suite.

    The list is kept before -k or -m deselect any.
    """
    config.stash[COLLECTED] = list(items)
    suites.select(config, items)


def pytest_collection_finish() -> None:
    """Keep the collected tests out of later garbage collections, a third of the CPU time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    suites.pytest_addoption(parser)


def pytest_configure(config: pytest.Config) -> None:
    suites.limit_time(config)


@pytest.fixture
def repetitions(request: pytest.FixtureRequest) -> int:
    """The number of times that a test with the mark `repeated` repeats itself in this suite."""
    return suites.repetitions(request.node)


@pytest.fixture(scope="session", autouse=True)
def events_as_documented() -> Iterator[None]:
    """Checks each event that the tools write in any test against its published schema."""
    say = Tx.emit

    def checked(tx: Tx, to: str, env: str, kind: str, data: str, at: datetime) -> None:
        if sys._getframe(1).f_globals["__name__"].startswith("tools."):  # a test itself may write any event
            EVENTS[kind].validate_json(data, strict=True, extra="forbid")
        say(tx, to, env, kind, data, at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tx, "emit", checked)
        yield


@pytest.fixture
def collected(request: pytest.FixtureRequest) -> list[pytest.Item]:
    return request.config.stash[COLLECTED]


@pytest.fixture
def modes_before() -> dict[Path, int]:
    """The mode of each folder around the tests before any test ran."""
    return MODES_BEFORE


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The PostgreSQL server of this process. It starts when the first test needs it."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_database(postgres: PostgresServer) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(postgres)
    yield database
    database.close()


@pytest.fixture(scope="session")
def replica(postgres: PostgresServer, postgres_database: PostgresDatabase) -> Iterator[Replica]:
    """A streaming replica of the server. A test leaves it running."""
    made = Replica(postgres)
    yield made
    made.stop()


@pytest.fixture(scope="session")
def sqlite_template() -> SQLiteTemplate:
    return SQLiteTemplate.shared()


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """The database of this run of the test: sqlite or postgres."""
    word: str = request.param
    return word


@pytest.fixture
def database_url(database: str, request: pytest.FixtureRequest) -> str:
    """The URL of an empty, migrated database."""
    url: str = request.getfixturevalue(f"{database}_url")
    return url


@pytest.fixture
def sqlite_url(sqlite_template: SQLiteTemplate, tmp_path: Path) -> str:
    return sqlite_template.copy(tmp_path)


@pytest.fixture
def postgres_url(postgres_database: PostgresDatabase) -> str:
    return postgres_database.empty()


@pytest.fixture
async def opening() -> AsyncIterator[Opening]:
    """A function that opens a store on a migrated database. Each store is closed after the test."""
    opened: list[Store] = []

    def opens(url: str) -> Store:
        opened.append(serve(open_database(url)))
        return opened[-1]

    yield opens
    for store in opened:
        await close(store)


@pytest.fixture
async def store(database_url: str, opening: Opening) -> Store:
    return opening(database_url)
