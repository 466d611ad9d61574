"""A SQLite file that is written beside the process that serves it: only if its tables are of this version."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from storage.beside import open_beside
from storage.migrate import newest, upgrade
from storage.open import open_database
from storage.sqlite import said_of
from storage.tables import SettingsRow
from storage.transaction import Unavailable


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'market.db'}"


async def test_tables_of_an_earlier_version_are_brought_up_to_date_unless_they_are_served(
    url: str, tmp_path: Path
) -> None:
    with closing(open_database(url)) as serving:
        upgrade(serving, "0052")
        with pytest.raises(Unavailable, match="not those of this version"):
            open_beside(url)
    open_beside(url).close()
    assert said_of(tmp_path / "market.db").revision == newest()


async def test_a_unit_of_work_on_tables_of_another_version_writes_nothing(url: str, tmp_path: Path) -> None:
    with closing(open_database(url)) as serving:
        upgrade(serving)
        with closing(open_beside(url)) as store:
            await store.write(lambda tx: tx.add(SettingsRow(name="a", value="1")))
            with closing(sqlite3.connect(tmp_path / "market.db")) as other, other:
                other.execute("UPDATE alembic_version SET version_num = '9999'")
            with pytest.raises(Unavailable, match="newer version"):
                await store.write(lambda tx: tx.add(SettingsRow(name="b", value="1")))
            assert await store.read(lambda tx: [tx.get(SettingsRow, one) is None for one in "ab"]) == [False, True]
