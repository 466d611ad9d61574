"""The home folder of one agent: its keys in a file with mode 0600, its locks, and the journal."""

import fcntl
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from emporion_client.answers import parsed
from emporion_client.errors import EmporionError, HomeDamaged
from emporion_client.journal import Journal

OWNER = re.compile(r"[0-9]{1,20}-[0-9a-f]{8}")
LABEL = r"[0-9A-Za-z_-]{1,63}"
HOST = rf"(?:{LABEL}(?:\.{LABEL})*\.?|\[[0-9A-Fa-f:.]+\])"  # a name, or an address of IPv6
URL = re.compile(rf"(?i:https?)://{HOST}(?::[0-9]{{0,5}})?(?:[/?#][!-~]{{0,2000}})?")
MAX_HOST = 253


def default_folder(url: str, env: str) -> Path:
    """Return the folder of a market and an environment."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    base = Path(os.environ.get("EMPORION_HOME") or Path.home() / ".emporion")
    return base / f"{(parts.hostname or 'market').replace(':', '_')}-{port}-{env}"


class Home:
    """The files of one agent on one market and environment."""

    def __init__(self, folder: Path) -> None:
        _make_private(folder)
        self.folder, self.file, self.pid = folder, folder / "agent.json", os.getpid()
        self.journal = Journal(folder / "journal.db")
        try:
            self.owner, self._alive = self._claim()
        except EmporionError:
            self.journal.close()
            raise
        self.at_work: set[str] = set()  # purchases on which this process works now

    def read_keys(self) -> dict[str, str]:
        """Return the keys; an empty dict before the first."""
        try:
            found = parsed(_read(self.file))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise HomeDamaged(f"{self.file} cannot be read ({error.strerror}); it was left as it is") from None
        if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
            raise HomeDamaged(f"{self.file} has an unknown form; it was left as it is")
        with suppress(OSError):  # the file belongs to another user
            self.file.chmod(0o600)
        return found

    def add_keys(self, **keys: str) -> dict[str, str]:
        """Add keys that are not there yet; return all. On disk before this returns."""
        with self.lock("keys", wait=True):
            known = self.read_keys()
            if new := {name: value for name, value in keys.items() if name not in known}:
                known |= new
                _write_private(self.file, json.dumps(known, indent=1))
            return known

    def forget_agent(self, api_key: str) -> None:
        """Remove an agent that the market does not know any more; the wallet stays.

        The old keys are kept in another file. If another process has registered an agent meanwhile, it stays.
        """
        with self.lock("keys", wait=True):
            known = self.read_keys()
            if known.get("api_key") != api_key:
                return
            aside = self.folder / f"agent-{secrets.token_hex(4)}.json"
            _write_private(aside, json.dumps(known, indent=1))
            self.journal.clear()
            wallet = {name: value for name, value in known.items() if name in ("wallet", "address")}
            _write_private(self.file, json.dumps(wallet, indent=1))

    @contextmanager
    def lock(self, name: str, *, wait: bool = False) -> Iterator[None]:
        """Hold a lock of this home, which the kernel frees when the process dies.

        Without `wait`, raise EmporionError if another process or task holds it.
        """
        with _open_private(self.folder / f"{name}.lock") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Held(
                    f"{self.folder}: another process already does this ({name}); stop it, or use another home"
                ) from None
            except OSError as error:
                raise _unusable(self.folder, error) from None
            yield

    def lives(self, owner: str) -> bool:
        """Tell whether the process that claimed this name still runs."""
        if owner == self.owner:
            return True
        return OWNER.fullmatch(str(owner)) is not None and _is_locked(self.folder / f"{owner}.alive")

    def close(self) -> None:
        """Close the journal and give up the claim."""
        self.journal.close()
        self._alive.close()
        with suppress(OSError):  # another process removes it if this one cannot
            (self.folder / f"{self.owner}.alive").unlink()

    def _claim(self) -> tuple[str, FileIO]:
        """Lock a file of this process; the kernel frees it when the process dies in any way."""
        owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        with self.lock("claims", wait=True):  # otherwise another process could remove the file before it is locked
            for other in self.folder.glob("*.alive"):
                if not _is_locked(other):
                    with _named(other):
                        other.unlink(missing_ok=True)
            file = _open_private(self.folder / f"{owner}.alive")
            with _named(self.folder):
                fcntl.flock(file, fcntl.LOCK_EX)
        return owner, file


class Held(EmporionError):
    """Another process of this home holds the lock."""


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Raise an error of the file system as one of this package."""
    try:
        yield
    except OSError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: OSError) -> EmporionError:
    return EmporionError(f"{path} cannot be used ({error.strerror})")


def is_made(folder: Path) -> bool:
    """Tell whether a folder is the home of an agent already."""
    return os.access(folder / "agent.json", os.F_OK)


def _make_private(folder: Path) -> None:
    for one in (*reversed(folder.parents), folder):
        with _named(folder):
            if not one.exists():
                one.mkdir(mode=0o700, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise EmporionError(f"{folder} cannot be written; set EMPORION_HOME to another folder")


def _open_private(path: Path) -> FileIO:
    with _named(path):
        return FileIO(path, "r+", opener=lambda name, flags: _at_once(name, flags | os.O_CREAT))


def _at_once(path: str | Path, flags: int) -> int:
    """Open a file without waiting, because a FIFO in its place waits for another process."""
    return os.open(path, flags | os.O_NONBLOCK, 0o600)


def _is_locked(path: Path) -> bool:
    """Tell whether another process holds the lock of a file."""
    try:
        file = _at_once(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def _read(path: Path) -> bytes:
    """Return the content of a file; nothing if it is a FIFO or a device, which may have no end."""
    with FileIO(path, opener=_at_once) as file:
        return file.readall() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""


def _write_private(path: Path, text: str) -> None:
    """Replace a file in one step; after a crash either the old or the new content is there."""
    with _named(path):
        _replace(path, text)


def _replace(path: Path, text: str) -> None:
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def is_loopback(url: str) -> bool:
    """Tell whether a URL is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name such as 127.example.com is none
        return host == "localhost"


def safe_url(url: Any, market: str, what: str) -> str:
    """Return the URL of another service if a call may go there, given where the market is.

    It is https; or http on the market's own host if the market is called over http too.
    """
    if isinstance(url, str) and _is_exact(url):
        parts, own = urlsplit(url), urlsplit(market)
        near = parts.hostname == own.hostname or (is_loopback(url) and is_loopback(market))
        if parts.scheme == "https" or (parts.scheme == own.scheme == "http" and near):
            return url
    raise EmporionError(f"the market names {str(url)[:200]!r} as its {what}; no call is made there")


def _is_exact(url: str) -> bool:
    """Tell whether a URL has a host that can be looked up, a possible port, and no user name."""
    try:
        parts = urlsplit(url)
        possible = parts.port != 0
    except ValueError:
        return False
    return possible and len(parts.hostname or "") <= MAX_HOST and URL.fullmatch(url) is not None
