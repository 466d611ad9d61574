"""Simulated web servers and name servers."""

from collections import defaultdict
from collections.abc import Mapping

from tools.engine.ports import Fetched, Reply


class Receivers:
    """Web servers that take webhooks; the bodies are kept by URL."""

    def __init__(self) -> None:
        self.received: dict[str, list[bytes]] = defaultdict(list)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], by: str) -> Reply:
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
