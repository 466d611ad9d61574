"""Migrations: bring a database to the newest revision, under a lock, at start and from the command line.

Alembic and what it imports take 7 MB of memory, so it is imported only if a revision is missing. 4 MB of them are
lexers for pages that show errors of its templates; Mako works without them.
"""

import sys
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from storage.database import Database
from storage.transaction import Unavailable

MIGRATIONS = Path(__file__).parent / "migrations"
VERSION_TABLE = "alembic_version"
CURRENT = text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608 - a constant
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
    found = connection.scalar(CURRENT) if inspect(connection).has_table(VERSION_TABLE) else None
    if found is not None and not knows(found):
        raise Unavailable(newer_sentence(found))
    if found != (newest() if revision == "head" else revision):
        sys.modules.setdefault("mako.ext.pygmentplugin", None)  # type: ignore[arg-type]
        from alembic import command
        from alembic.config import Config

        settings = Config(attributes={"connection": connection})
        settings.set_main_option("script_location", str(MIGRATIONS))
        command.upgrade(settings, revision)
    connection.commit()


def knows(revision: str) -> bool:
    """Check whether this version knows a revision; a newer version may have made it."""
    return revision in revisions()


def newest() -> str:
    """Return the revision of this version's tables."""
    return revisions()[-1]


@cache
def revisions() -> tuple[str, ...]:
    """Return the revisions in their order: the numbers with which the names of the files begin."""
    return tuple(sorted(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("[0-9]*.py")))
