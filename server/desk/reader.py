"""Reads a page for a buyer: the guarded web client fetches it, and a process that can be killed extracts its text."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from server.adapters.http_fetch import HttpFetcher, Page
from server.child_processes import clean_environment
from tools.kernel.ssrf_guard import NotAttempted, UrlUnreachable

WALL_SECONDS = 20.0  # the process ends itself after ten seconds of its own time; this is for when it cannot
MAX_FOUND_BYTES = 16 << 20
KINDS = ("text/html", "application/xhtml+xml", "text/plain")

UNREACHED = {
    "blocked_address": "its address, or one it leads on to, is not a public https address on port 443",
    "timeout": "it did not answer in time",
    "name_not_found": "its name is not known",
    "tls_failed": "its certificate does not hold",
    "connection_failed": "it cannot be reached",
    "compressed": "it is compressed in a way that is not read",
    "too_large": "it has more than 2 MB",
    "redirects": "it leads on to too many other addresses",
}


class Unreadable(Exception):
    """There is no page with a text at this address; the message is a sentence for the buyer."""


@dataclass(frozen=True, slots=True)
class Article:
    """A page's text and what the page says of itself."""

    page: Page
    title: str | None
    description: str | None
    lang: str | None
    text: str
    links: list[dict[str, str]]


class Reader:
    """Reads pages; their number at one time is limited."""

    def __init__(self, browser: HttpFetcher, at_once: int = 2) -> None:
        self.browser, self.turns = browser, asyncio.Semaphore(at_once)

    async def read(self, url: str) -> Article:
        """Return the page's text; raise Unreadable if it cannot be fetched or has no text."""
        page = await self._fetched(url)
        if page.status != 200:
            raise Unreadable(f"The page answers HTTP {page.status}.")
        if page.kind not in KINDS:  # not quoted: the sentence is ours, the header a stranger's
            raise Unreadable("The page is no HTML and no plain text, by its content-type.")
        if b"\0" in page.body:
            raise Unreadable("The page holds binary data.")
        async with self.turns:
            found = await extracted(page)
        if found is None:
            raise Unreadable("The page could not be read in its time.")
        article = Article(page, found["title"], found["description"], found["lang"], found["text"], found["links"])
        if not article.text:
            raise Unreadable("The page holds no text that could be read without running its scripts.")
        return article

    async def _fetched(self, url: str) -> Page:
        try:
            return await self.browser.page(url)
        except UrlUnreachable as why:
            said = UNREACHED.get(why.reason, "it does not answer as web servers do")
            raise Unreadable(f"The page was not fetched: {said}.") from None
        except NotAttempted:
            raise Unreadable("The page was not fetched: too much is being fetched here. Order again later.") from None


async def extracted(page: Page, wall_seconds: float = WALL_SECONDS) -> dict[str, Any] | None:
    """Return the extractor's result; None if it failed or took too long."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "server.desk.extractor",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env=clean_environment(), process_group=0,
    )  # fmt: skip
    head = orjson.dumps({"url": page.final_url, "kind": page.kind, "charset": page.charset})
    try:
        async with asyncio.timeout(wall_seconds):
            return await _talk(child, head + b"\n" + page.body)
    except TimeoutError:
        return None
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()


async def _talk(child: asyncio.subprocess.Process, asked: bytes) -> dict[str, Any] | None:
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(ConnectionError):
        child.stdin.write(asked)
        await child.stdin.drain()
        child.stdin.close()
    read = bytearray()
    while piece := await child.stdout.read(1 << 16):
        read += piece
        if len(read) > MAX_FOUND_BYTES:
            return None
    if await child.wait() != 0:
        return None
    found: dict[str, Any] = orjson.loads(read)
    return found
