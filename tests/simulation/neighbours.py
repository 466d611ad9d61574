"""Simulated web servers and name servers."""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from random import Random

from tools.engine.ports import Fetched, Reply
from tools.kernel.ssrf_guard import UrlUnreachable

KEPT = 100  # bodies of one URL


class Receivers:
    """Web servers that take webhooks; the last bodies are kept by URL.

    While `failing`, each answers with an error or not at all, and `note` counts it. `watch` sees every body.
    """

    def __init__(self, random: Random, note: Callable[[str], None]) -> None:
        self.random, self.note, self.failing = random, note, False
        self.watch: Callable[[str, bytes], None] = lambda url, body: None
        self.received: dict[str, deque[bytes]] = defaultdict(lambda: deque(maxlen=KEPT))

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], by: str) -> Reply:
        self.watch(url, body)
        if self.failing:
            self.note("webhook")
            if self.random.random() < 0.5:
                raise UrlUnreachable("timeout")
            return Reply(self.random.choice((500, 503, 404)))
        self.received[url].append(body)
        return Reply(200)

    async def get(self, url: str, by: str) -> Fetched:
        return Fetched(404, b"")


class Zone:
    """Name servers; the owners of zones write `records`."""

    def __init__(self) -> None:
        self.records: dict[str, list[bytes]] = {}

    async def texts(self, name: str) -> list[bytes]:
        return self.records.get(name, [])
