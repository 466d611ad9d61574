"""Bring a database to the newest revision, under a lock, at start and from the command line."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from storage.store import Database
from storage.unit import Unavailable

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = text("SELECT pg_advisory_lock(7303015)")
UNLOCK = text("SELECT pg_advisory_unlock(7303015)")


def upgrade(database: Database, revision: str = "head") -> None:
    """Run what is missing up to `revision`, all or nothing; Unavailable where the database does not let itself be opened.

    Two processes that start together take turns.
    """
    try:
        _upgrade(database, revision)
    except DBAPIError as error:
        raise Unavailable(f"the database cannot be opened: {' '.join(str(error.orig).split())}") from error


def _upgrade(database: Database, revision: str) -> None:
    with database.engine.connect() as connection:
        if connection.dialect.name == "sqlite":  # the file's side lock is held already
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # the driver begins none for CREATE TABLE
            command.upgrade(config(connection), revision)
            connection.commit()
            return
        connection.execute(LOCK)
        connection.commit()
        try:
            command.upgrade(config(connection), revision)
            connection.commit()
        finally:
            connection.execute(UNLOCK)
            connection.commit()


def knows(revision: str) -> bool:
    """Whether this program can bring tables of that revision up to date: not when a newer one made them."""
    return revision in {script.revision for script in ScriptDirectory.from_config(_scripts()).walk_revisions()}


def newest() -> str:
    """The revision of this program's tables."""
    head = ScriptDirectory.from_config(_scripts()).get_current_head()
    assert head is not None
    return head


def config(connection: Connection) -> Config:
    """Alembic's settings, without a file: the scripts stand beside this module."""
    settings = _scripts()
    settings.attributes["connection"] = connection
    return settings


def _scripts() -> Config:
    settings = Config()
    settings.set_main_option("script_location", str(MIGRATIONS))
    return settings
