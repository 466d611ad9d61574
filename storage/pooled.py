"""PostgreSQL behind a pooler in transaction mode: nothing that a connection sets outlives its transaction."""

import time

import psycopg

from storage.postgres import Postgres
from storage.transaction import Cursor, Tx

READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {milliseconds}"


class PooledPostgres(Postgres):
    """A server that is used through a pooler, except for what needs a session.

    Units of work and reads go through the pooler. Their statements are not prepared, because the next transaction may
    run in another session of the server.
    """

    begin = (
        "BEGIN; SET LOCAL lock_timeout = '2ms'; SET LOCAL statement_timeout = '10s'; "
        "SET LOCAL idle_in_transaction_session_timeout = '30s'"
    )

    def write_cursor(self) -> Cursor:
        return psycopg.connect(self.address, autocommit=True, prepare_threshold=None).cursor()

    def read_cursor(self, seconds: float) -> Cursor:
        return self.write_cursor()

    def start_read(self, tx: Tx, seconds: float) -> None:
        self.control(tx, READ.format(milliseconds=int(seconds * 1000)))
        tx.deadline = time.monotonic() + seconds

    def end_read(self, tx: Tx) -> None:
        self.control(tx, "ROLLBACK")
