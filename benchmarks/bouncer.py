"""pgbouncer in front of a database, if it is installed, on a Unix socket in its folder."""

import os
import pwd
import shutil
import subprocess
import time
from pathlib import Path
from tempfile import mkdtemp

import psycopg

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
START_SECONDS = 10
CONFIG = """
[databases]
* = host={server} user=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
"""


class Bouncer:
    """A running pgbouncer over the server whose socket is in `server`."""

    def __init__(self, server: Path, mode: str, size: int) -> None:
        assert PROGRAM
        self.folder = Path(mkdtemp(prefix="emporion-bouncer-"))
        config = self.folder / "pgbouncer.ini"
        config.write_text(CONFIG.format(server=server, folder=self.folder, mode=mode, size=size))
        account = pwd.getpwnam("postgres") if os.geteuid() == 0 else None  # pgbouncer refuses root, like PostgreSQL
        if account:
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        uid, gid = (account.pw_uid, account.pw_gid) if account else (None, None)
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM, config], stdout=log, stderr=log, stdin=subprocess.DEVNULL, user=uid, group=gid,
                extra_groups=[] if account else None,
            )  # fmt: skip
        self._wait()

    @property
    def pid(self) -> int:
        return self.process.pid

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}&port=6432"

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)

    def _wait(self) -> None:
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"pgbouncer does not start: {(self.folder / 'log').read_text()}") from None
                time.sleep(0.02)
            else:
                return
