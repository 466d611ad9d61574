"""Sanctions lists from files and URLs, reloaded when they change. An unreadable list keeps its last version."""

import asyncio
import json
import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import httpx
import structlog

from server.adapters.http import http_client, read_bounded
from tools.engine.ports import Screening

log = structlog.get_logger("emporion.sanctions")
ADDRESS = re.compile(r"\b0x[0-9a-f]{40}\b")
LOOK_SECONDS = 5.0  # between checks of files
FETCH_SECONDS, RETRY_SECONDS = 6 * 3600.0, 600.0
TIMEOUT_SECONDS, MAX_BYTES = 20.0, 32 * 1024 * 1024


class BadList(ValueError):
    """The text is not a list of addresses."""


class Source:
    """A list in a file of the operator, or at a URL.

    A URL's list has a copy on disk, so that a restart without network still screens.
    """

    def __init__(self, name: str, path: Path, url: str | None, monotonic: Callable[[], float]) -> None:
        self.name, self.path, self.url, self.monotonic = name, path, url, monotonic
        self.addresses: frozenset[str] | None = None
        self.updated_at: datetime | None = None
        self.seen = -1  # modification time of the last version that was read, valid or not
        self.next_at = 0.0

    async def refresh(self) -> None:
        """Read the file if it has changed, or fetch the list if it is due."""
        if self.url is None:
            await asyncio.to_thread(self.read)
        elif (now := self.monotonic()) >= self.next_at:
            self.next_at = now + RETRY_SECONDS
            await asyncio.to_thread(self._take, await fetched(self.url))
            self.next_at = now + FETCH_SECONDS

    def read(self) -> None:
        """Read the file if it has changed; the copy of a URL may be missing."""
        if self.url is not None and not self.path.exists():
            return
        changed = self.path.stat().st_mtime_ns
        if changed != self.seen:
            self.seen = changed
            self._hold(addresses_in(self.path.read_text(encoding="utf-8")), changed)

    def _take(self, text: str) -> None:
        """Put a fetched list in force.

        Raises BadList for an empty list if the current one has addresses, because an empty page must not turn screening
        off.
        """
        found = addresses_in(text)
        if self.addresses and not found:
            raise BadList("it names nobody, and the one in force does")
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = self.path.with_suffix(f".{os.getpid()}")  # each process has its own temporary file
        new.write_text(text, encoding="utf-8")
        new.replace(self.path)
        self._hold(found, self.path.stat().st_mtime_ns)

    def _hold(self, addresses: frozenset[str], changed: int) -> None:
        """Put these addresses in force, with the file's modification time in nanoseconds."""
        self.addresses, self.seen, self.updated_at = addresses, changed, datetime.fromtimestamp(changed / 1e9, UTC)


class SanctionsLists:
    """The union of all lists that were loaded."""

    def __init__(
        self,
        files: tuple[Path, ...],
        urls: tuple[str, ...],
        folder: Path,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read all files; raises BadList if one cannot be read, because it would screen nobody."""
        self.sources = [Source(str(path), path, None, monotonic) for path in files]
        for url in urls:
            copy = folder / f"sanctions-{sha256(url.encode()).hexdigest()[:16]}.txt"
            self.sources.append(Source(url.split("?")[0], copy, url, monotonic))  # the query may contain a password
        self._counted: tuple[tuple[frozenset[str] | None, ...], int] = ((), 0)  # lists, addresses in all
        for source in self.sources:
            try:
                source.read()
            except (OSError, ValueError) as error:
                if source.url is None:
                    raise BadList(f"no list of addresses could be read from {source.name}: {error}") from None
                _told(source.name, error)

    def names(self, address: str) -> bool:
        wanted = address.lower()
        return any(wanted in source.addresses for source in self.sources if source.addresses)

    def state(self) -> Screening | None:
        loaded = [source for source in self.sources if source.addresses is not None]
        if not loaded:
            return None
        lists = tuple(source.addresses for source in self.sources)
        if self._counted[0] != lists:  # unchanged lists are the same objects, so this compares identities only
            self._counted = lists, len(frozenset[str]().union(*filter(None, lists)))
        return Screening(self._counted[1], max(source.updated_at for source in loaded if source.updated_at))

    async def refresh(self) -> None:
        """Reload what has changed and count the addresses in a thread."""
        await asyncio.gather(*map(self._refresh, self.sources))
        await asyncio.to_thread(self.state)

    async def run(self) -> None:
        """Reload the lists until cancelled."""
        while self.sources:
            await self.refresh()
            await asyncio.sleep(LOOK_SECONDS)

    async def _refresh(self, source: Source) -> None:
        try:
            await source.refresh()
        except (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL) as error:
            _told(source.name, error)


async def fetched(url: str) -> str:
    """Fetch a URL of the operator; raises BadList unless it is a 200 within size and time."""
    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        http_client(follow_redirects=True, max_redirects=5) as http,
        http.stream("GET", url) as answer,
    ):
        if answer.status_code != 200:
            raise BadList(f"status {answer.status_code}")
        body = await read_bounded(answer.aiter_bytes(), MAX_BYTES)
    if body is None:
        raise BadList(f"more than {MAX_BYTES} bytes")
    return body.decode("utf-8")


def addresses_in(text: str) -> frozenset[str]:
    """Return the EVM addresses of a list in JSON, CSV, XML or lines, where # begins a comment."""
    if text.lstrip().startswith(("[", "{")):
        json.loads(text)  # a truncated list is refused
    else:
        text = re.sub(r"#.*", "", text)
    found = frozenset(ADDRESS.findall(text.lower()))
    if not found and text.strip() not in ("", "[]"):
        raise BadList("no EVM address was found")
    return found


def _told(name: str, error: Exception) -> None:
    log.error("sanctions list not read, the last good one is kept", source=name, error=repr(error))
