"""The requests of the cases, as bytes: the same for the subject and its floor."""

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import orjson

from benchmarks.data import BUSY_AGENTS, Seeded
from benchmarks.load import NUMBER, Shot
from benchmarks.search_scale import COMMON

AGENT = b"user-agent: bench\r\naccept: application/json\r\n"
MODERN = "2026-07-28"
LISTING, PAGE, JOB, TOOL = b'"how_to_order"', b'"has_more":true', b'"object":"job"', b"structuredContent"
ORDERED = {"text": "Please put this into English. ", "language": "en"}


def get(port: int, path: str, key: str, holds: bytes) -> Shot:
    head = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nx-api-key: {key}\r\n".encode()
    return Shot(head + AGENT + b"\r\n", 200, holds)


def post(port: int, path: str, key: str, body: Any, status: int, holds: bytes, more: bytes = b"") -> Shot:
    """Return a POST. `more` are header lines; NUMBER in the body becomes a new number each time."""
    sent = orjson.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nx-api-key: {key}\r\n".encode()
    described = b"content-type: application/json\r\ncontent-length: %d\r\n" % len(sent)
    return Shot(head + AGENT + described + more + b"\r\n" + sent, status, holds)


def listings(port: int, data: Seeded) -> list[Shot]:
    """Return reads of a thousand listings, each with another key."""
    pairs = zip(data.traders, data.listing_ids, strict=False)
    return [get(port, f"/v1/listings/{listing}", trader.key, LISTING) for trader, listing in pairs]


def search_words() -> list[dict[str, Any]]:
    """Return searches of four kinds in turn, each for twenty rows.

    The kinds are: words; words in a category under a price; a category under a price; a tag.
    """
    price = 300_000
    shapes: Iterable[tuple[dict[str, Any], ...]] = (
        (
            {"q": COMMON[number]},
            {"q": COMMON[number], "category": "trade 0", "max_price": price},
            {"category": f"trade {number % 4}", "max_price": price},
            {"tag": f"trade-{number % 4}"},
        )
        for number in range(8)
    )
    return [{**asked, "limit": 20} for four in shapes for asked in four]


def searches(port: int, data: Seeded) -> list[Shot]:
    """Return the searches in turn, each time with another key."""
    return [
        get(port, "/v1/listings?" + "&".join(f"{name}={value}" for name, value in asked.items()).replace(" ", "+"),
            trader.key, PAGE)
        for trader, asked in zip(data.traders, cycle(search_words()), strict=False)
    ]  # fmt: skip


def pages(port: int, data: Seeded) -> list[Shot]:
    """Return the same searches on the pages for people.

    A proxy names the address of each browser, because their rate limit is by address.
    """
    return [_browsed(shot, number) for number, shot in enumerate(searches(port, data))]


def _browsed(shot: Shot, number: int) -> Shot:
    request = shot.request.replace(b"GET /v1/", b"GET /", 1).replace(b"application/json", b"text/html", 1)
    named = b"&env=live HTTP/1.1\r\nx-forwarded-for: 198.51.%d.%d" % divmod(number, 250)
    return Shot(request.replace(b" HTTP/1.1", named, 1), 200, b'rel="next"')


def polls(port: int, data: Seeded) -> list[Shot]:
    return [get(port, "/v1/events?limit=20", trader.key, PAGE) for trader in data.traders]


def job_lists(port: int, data: Seeded, limit: int) -> list[Shot]:
    """Return reads of the jobs of the agents that have a hundred."""
    return [get(port, f"/v1/jobs?limit={limit}", trader.key, PAGE) for trader in data.traders[:BUSY_AGENTS]]


def inboxes(port: int, data: Seeded) -> list[Shot]:
    return [get(port, "/v1/inbox", trader.key, b'"object":"inbox"') for trader in data.traders[:BUSY_AGENTS]]


def orders(data: Seeded) -> list[tuple[str, str]]:
    """Return pairs of a buyer's key and a listing id.

    All buyers take turns, and none orders its own listing.
    """
    count = len(data.traders)
    pairs = [(data.traders[(place * 7 + 3) % count], listing) for place, listing in enumerate(data.listing_ids)]
    return [(buyer.key, listing) for buyer, listing in pairs if data.sellers[listing] != buyer]


def jobs(port: int, data: Seeded) -> list[Shot]:
    text = ORDERED["text"] + NUMBER.decode()
    return [
        post(port, "/v1/jobs", key, {"listing_id": listing, "input": ORDERED | {"text": text}}, 201, JOB)
        for key, listing in orders(data)
    ]


def tool_calls(port: int, data: Seeded) -> list[Shot]:
    """Return tool calls over MCP 2026-07-28, stateless, as its SDK's client sends them."""
    about = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    more = (
        b"accept: application/json, text/event-stream\r\n"
        b"mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: get_listing\r\n"
    )
    shots = []
    for trader, listing in zip(data.traders, data.listing_ids, strict=False):
        params = {"name": "get_listing", "arguments": {"listing_id": listing}, "_meta": about}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        shot = post(port, "/mcp", trader.key, body, 200, TOOL, more)
        shots.append(shot._replace(request=shot.request.replace(b"accept: application/json\r\n", b"", 1)))
    return shots


def messages(port: int, data: Seeded) -> list[Shot]:
    """Return messages over A2A 1.0 with JSON-RPC, with one data part each."""
    shots = []
    for trader, listing in zip(data.traders, data.listing_ids, strict=False):
        part = {"data": {"tool": "get_listing", "arguments": {"listing_id": listing}}, "mediaType": "application/json"}
        message = {"messageId": "bench", "role": "ROLE_USER", "parts": [part]}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        shots.append(post(port, "/a2a", trader.key, body, 200, b"how_to_order", b"a2a-version: 1.0\r\n"))
    return shots
