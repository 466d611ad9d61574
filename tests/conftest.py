"""What every test may ask for: a store on each database, emptied or copied for the test."""

import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from storage.open import open_database, serve
from storage.store import Store
from storage.unit import Tx
from tests.databases import (
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
from tools.records.eventdata import PAYLOADS

EVENTS = {kind: TypeAdapter(data) for kind, data in PAYLOADS.items()}
MODES_BEFORE = modes_above(Path(sys.prefix), Path(__file__).parents[1], Path.home(), Path(tempfile.gettempdir()))
COLLECTED = pytest.StashKey[list[pytest.Item]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    if not (installed() or wheel()):
        pytest.exit(NO_SERVER, returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remember what was collected before -k or -m takes some away, for the test that compares both databases' tests."""
    config.stash[COLLECTED] = list(items)


@pytest.fixture(scope="session", autouse=True)
def events_as_documented() -> Iterator[None]:
    """What any operation or worker says in any test has the shape that is published for it."""
    say = Tx.say

    def checked(tx: Tx, to: str, env: str, kind: str, data: str, at: datetime) -> None:
        if sys._getframe(1).f_globals["__name__"].startswith("tools."):  # a test may say what it likes
            EVENTS[kind].validate_json(data, strict=True, extra="forbid")
        say(tx, to, env, kind, data, at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tx, "say", checked)
        yield


@pytest.fixture
def collected(request: pytest.FixtureRequest) -> list[pytest.Item]:
    return request.config.stash[COLLECTED]


@pytest.fixture
def modes_before() -> dict[Path, int]:
    """The mode each folder around the tests had before any test ran."""
    return MODES_BEFORE


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """This process's server, started when the first test needs it."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_database(postgres: PostgresServer) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(postgres)
    yield database
    database.close()


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
