"""Migrations: bring a database to the newest revision, under a lock, at start and from the command line."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from storage.database import Database
from storage.transaction import Unavailable

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = text("SELECT pg_advisory_lock(7303015)")
UNLOCK = text("SELECT pg_advisory_unlock(7303015)")


def upgrade(database: Database, revision: str = "head") -> None:
    """Run the missing migrations up to `revision`, all or nothing.

    Two processes that start at the same time take turns. Raises Unavailable if the database cannot be opened.
    """
    database.check_sessions()
    try:
        _upgrade(database, revision)
    except DBAPIError as error:
        raise Unavailable(f"the database cannot be opened: {' '.join(str(error.orig).split())}") from error


def _upgrade(database: Database, revision: str) -> None:
    with database.engine.connect() as connection:
        if connection.dialect.name == "sqlite":  # the lock beside the file is already held
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # the driver begins no transaction for CREATE TABLE
            _run(connection, revision)
            return
        connection.execute(LOCK)
        connection.commit()
        try:
            _run(connection, revision)
        finally:
            connection.rollback()  # a revision that failed leaves its transaction open
            connection.execute(UNLOCK)
            connection.commit()


def newer_sentence(found: str) -> str:
    """Return the message that a newer version wrote the tables, and what to do."""
    return (
        f"this database was written by a newer version (tables {found}; this version knows them up to {newest()}): start that version, "
        "or restore the backup made before the upgrade"
    )


def _run(connection: Connection, revision: str) -> None:
    """Run the missing revisions.

    Raises Unavailable for tables of a revision that this version does not know.
    """
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and not knows(found):
        raise Unavailable(newer_sentence(found))
    command.upgrade(_config(connection), revision)
    connection.commit()


def knows(revision: str) -> bool:
    """Check whether this version knows a revision; a newer version may have made it."""
    return revision in {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


def newest() -> str:
    """Return the revision of this version's tables."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def _config(connection: Connection | None = None) -> Config:
    """Return Alembic's settings, without a file: the scripts are beside this module."""
    settings = Config(attributes={"connection": connection})
    settings.set_main_option("script_location", str(MIGRATIONS))
    return settings
