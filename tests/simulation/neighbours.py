"""Simulated web servers and name servers."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from hashlib import blake2b
from random import Random

import orjson

from tools.engine.ports import Fetched, Reply
from tools.kernel.ssrf_guard import UrlUnreachable

KEPT = 100  # bodies of one URL


class Receivers:
    """Web servers that take webhooks, each once by its ids; the last bodies are kept by URL.

    While `failing`, each answers with an error or not at all, also after it took the body, and `note` counts it. `watch`
    sees every body, and `check` every body with its headers.
    """

    def __init__(self, random: Random, note: Callable[[str], None]) -> None:
        self.random, self.note, self.failing = random, note, False
        self.watch: Callable[[str, bytes], None] = lambda url, body: None
        self.check: Callable[[bytes, Mapping[str, str]], None] = lambda body, headers: None
        self.received: dict[str, deque[bytes]] = defaultdict(lambda: deque(maxlen=KEPT))
        self.taken: dict[tuple[str, str], bytes] = {}  # by URL and ids of event and webhook: the hash
        self.posts = Counter[str]()  # by ids of event and webhook
        self.refused = Counter[str]()  # by ids of event and webhook: the times that it was not taken
        self.lost = Counter[str]()  # by URL: the bodies that were taken without an answer
        self.repeated = 0
        self.contradictions: list[tuple[str, str]] = []  # URLs and ids that came with two bodies

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], by: str) -> Reply:
        self.watch(url, body)
        self.check(body, headers)
        ids = f"{headers['webhook-id']} {headers['X-Webhook-Id']}"
        self.posts[ids] += 1
        fate = self.random.choice(("silent", "error", "lost")) if self.failing else "usual"
        if fate in ("silent", "error"):
            self.note("webhook")
            self.refused[ids] += 1
        else:
            self._take((url, ids), body)
        if fate == "lost":
            self.note("webhook_lost")
            self.lost[url] += 1
        if fate in ("silent", "lost"):
            raise UrlUnreachable("timeout")
        return Reply(self.random.choice((500, 503, 404)) if fate == "error" else 200)

    def _take(self, name: tuple[str, str], body: bytes) -> None:
        """Take a body, unless it is repeated.

        The body of an event never changes. A task is described as it is when it is sent.
        """
        digest = blake2b(body, digest_size=8).digest() if "webhook_id" in orjson.loads(body) else b""
        if name not in self.taken:
            self.received[name[0]].append(body)
        self.repeated += name in self.taken
        if self.taken.setdefault(name, digest) != digest:
            self.contradictions.append(name)

    async def get(self, url: str, by: str) -> Fetched:
        return Fetched(404, b"")


class Zone:
    """Name servers; the owners of zones write `records`."""

    def __init__(self) -> None:
        self.records: dict[str, list[bytes]] = {}

    async def texts(self, name: str) -> list[bytes]:
        return self.records.get(name, [])
