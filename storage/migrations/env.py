"""Alembic's entry: runs the revisions on the connection it is given."""

from alembic import context

import storage.tables  # noqa: F401 - declares every table
from storage.rows import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    compare_server_default=False,
)
with context.begin_transaction():
    context.run_migrations()
