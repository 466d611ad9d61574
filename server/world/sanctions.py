"""Sanctions lists from files and URLs, read again as they change. Whatever cannot be read leaves the last good list in force."""

import asyncio
import json
import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import aiohttp
import structlog

from tools.ports import Screening

log = structlog.get_logger("emporion.sanctions")
ADDRESS = re.compile(r"\b0x[0-9a-f]{40}\b")
LOOK_SECONDS = 5.0  # at files
FETCH_SECONDS, RETRY_SECONDS = 6 * 3600.0, 600.0
TIMEOUT_SECONDS, MOST_BYTES = 20.0, 32 * 1024 * 1024


class BadList(ValueError):
    """Not a list of addresses."""


class ListedFile:
    """A list in a file of the operator's."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)
        self.addresses: frozenset[str] | None = None
        self.updated_at: datetime | None = None
        self.seen = -1  # modification time of what was looked at, good or not

    async def refresh(self) -> None:
        await asyncio.to_thread(self.read)

    def read(self) -> None:
        """Read the file if it has changed."""
        changed = self.path.stat().st_mtime_ns
        if changed == self.seen:
            return
        self.seen = changed
        self.hold(addresses_in(self.path.read_text(encoding="utf-8")), changed)

    def hold(self, addresses: frozenset[str], changed: int) -> None:
        """Put in force what the file held when it was changed."""
        self.addresses, self.seen, self.updated_at = addresses, changed, datetime.fromtimestamp(changed / 1e9, UTC)


class ListedUrl:
    """A list somewhere on the web. What was fetched last is kept on disk: a restart while the place is down still screens."""

    def __init__(self, url: str, folder: Path, monotonic: Callable[[], float]) -> None:
        self.url, self.monotonic = url, monotonic
        self.name = url.split("?")[0]  # what follows may be a password
        self.copy = ListedFile(folder / f"sanctions-{sha256(url.encode()).hexdigest()[:16]}.txt")
        self.next_at = 0.0

    @property
    def addresses(self) -> frozenset[str] | None:
        return self.copy.addresses

    @property
    def updated_at(self) -> datetime | None:
        return self.copy.updated_at

    def read(self) -> None:
        if self.copy.path.exists():
            self.copy.read()

    async def refresh(self) -> None:
        """Fetch the list when it is time to."""
        now = self.monotonic()
        if now < self.next_at:
            return
        self.next_at = now + RETRY_SECONDS
        await asyncio.to_thread(self._take, await fetched(self.url))
        self.next_at = now + FETCH_SECONDS

    def _take(self, text: str) -> None:
        """Put a fetched list in force. BadList for an empty one while another names somebody: a page that says nothing disarms nothing."""
        found = addresses_in(text)
        if self.addresses and not found:
            raise BadList("it names nobody, and the one in force does")
        keep(self.copy.path, text)
        self.copy.hold(found, self.copy.path.stat().st_mtime_ns)


class SanctionsLists:
    """The union of all lists that could ever be read."""

    def __init__(
        self,
        files: tuple[Path, ...],
        urls: tuple[str, ...],
        folder: Path,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """BadList where a file cannot be read at the start: what was never loaded would screen nobody."""
        self.sources: list[ListedFile | ListedUrl] = [
            *map(ListedFile, files),
            *(ListedUrl(url, folder, monotonic) for url in urls),
        ]
        self._counted: tuple[tuple[frozenset[str] | None, ...], int] = ((), 0)  # of these lists: how many addresses
        for source in self.sources:
            try:
                source.read()
            except (OSError, ValueError) as error:
                if isinstance(source, ListedFile):
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
        if self._counted[0] != lists:  # the very same lists are equal without a look into them
            self._counted = lists, len(frozenset[str]().union(*filter(None, lists)))
        return Screening(self._counted[1], max(source.updated_at for source in loaded if source.updated_at))

    async def refresh(self) -> None:
        """Read what changed since, and count it, beside the event loop."""
        await asyncio.gather(*map(self._refresh, self.sources))
        await asyncio.to_thread(self.state)

    async def run(self) -> None:
        """Until cancelled."""
        while self.sources:
            await self.refresh()
            await asyncio.sleep(LOOK_SECONDS)

    async def _refresh(self, source: ListedFile | ListedUrl) -> None:
        try:
            await source.refresh()
        except (OSError, ValueError, TimeoutError, aiohttp.ClientError) as error:
            _told(source.name, error)


async def fetched(url: str) -> str:
    """The text behind a URL of the operator's; BadList for anything but a whole answer of 200 within size and time."""
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with (
        aiohttp.ClientSession(timeout=timeout, trust_env=False) as http,
        http.get(url, max_redirects=5) as answer,
    ):
        if answer.status != 200:
            raise BadList(f"status {answer.status}")
        body = b""
        async for part in answer.content.iter_chunked(65_536):
            body += part
            if len(body) > MOST_BYTES:
                raise BadList(f"more than {MOST_BYTES} bytes")
        return body.decode("utf-8")


def keep(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_suffix(f".{os.getpid()}")  # other processes keep theirs
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def addresses_in(text: str) -> frozenset[str]:
    """The EVM addresses of a list, whatever its form: JSON, CSV, XML, or lines (then # begins a comment)."""
    if text.lstrip().startswith(("[", "{")):
        json.loads(text)  # half of one is none
    else:
        text = re.sub(r"#.*", "", text)
    found = frozenset(ADDRESS.findall(text.lower()))
    if not found and text.strip() not in ("", "[]"):
        raise BadList("no EVM address was found")
    return found


def _told(name: str, error: Exception) -> None:
    log.error("sanctions list not read, the last good one is kept", source=name, error=repr(error))
