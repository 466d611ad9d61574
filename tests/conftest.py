"""What every test may ask for: a store on each database, emptied or copied for the test."""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from storage.open import open_database, serve
from storage.postgres import PostgresStore
from storage.store import Store
from tests.databases import NO_SERVER, PostgresDatabase, PostgresServer, SQLiteTemplate, installed, modes_above, wheel

DATABASES = ("sqlite", "postgres")
MODES_BEFORE = modes_above(Path(sys.prefix), Path(__file__).parents[1], Path.home(), Path(tempfile.gettempdir()))
Opening = Callable[[str], Store]
COLLECTED = pytest.StashKey[list[pytest.Item]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    if not (installed() or wheel()):
        pytest.exit(NO_SERVER, returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remember what was collected before -k or -m takes some away, for the test that compares both databases' tests."""
    config.stash[COLLECTED] = list(items)


@pytest.fixture
def collected(request: pytest.FixtureRequest) -> list[pytest.Item]:
    return request.config.stash[COLLECTED]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """This process's server, started when the first test needs it."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_database(postgres: PostgresServer) -> PostgresDatabase:
    return PostgresDatabase(postgres)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> SQLiteTemplate:
    return SQLiteTemplate(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """The word for the database this run of the test is on."""
    word: str = request.param
    return word


@pytest.fixture
def database_url(database: str, request: pytest.FixtureRequest) -> str:
    """A migrated database with nothing in it."""
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
    """Opens a store on a migrated database; closed after the test."""
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


async def close(store: Store) -> None:
    """Close a store and wait until its last connection is closed too."""
    store.close()
    if isinstance(store, PostgresStore):
        await asyncio.wait([store.hearing])
