"""Finding 20: documents had no rate limit and were always sent in full."""

import asyncio
import gzip
import json
from collections import Counter
from typing import Any

import pytest

from tests.end_to_end.attacks.world import Arena
from tests.requirements import covers

WINDOW = 600
DOCUMENTS = ("/openapi.json", "/skill.md", "/llms-full.txt", "/docs", "/.well-known/agent-card.json", "/")


@pytest.mark.finding(20)
@covers("second.edge.documents")
async def test_documents_are_no_way_around_the_windows(arena: Arena) -> None:
    market = await arena.market(fresh=True)
    turns = asyncio.Semaphore(16)

    async def read(number: int) -> int:
        async with turns:
            return (await market.get(DOCUMENTS[number % len(DOCUMENTS)])).status

    answered = Counter(await asyncio.gather(*(read(number) for number in range(WINDOW + 60))))
    assert answered[200] <= WINDOW, answered
    assert set(answered) == {200, 429}


@covers("second.edge.compressed")
async def test_documents_are_compressed_with_a_validator_of_their_own(arena: Arena) -> None:
    market = await arena.market()

    async def read(**headers: str) -> Any:
        """Read the raw answer, without the client's own decompression."""
        sent = {"accept-encoding": "identity"} | headers
        async with market.http[0].stream("GET", "/openapi.json", headers=sent) as answer:
            return answer, b"".join([piece async for piece in answer.aiter_raw()])

    plain, body = await read()
    packed, small = await read(**{"accept-encoding": "br, gzip;q=0.5"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(small) == body
    assert len(small) * 4 < len(body)
    assert json.loads(body)["openapi"]
    for one in (plain, packed):
        assert "accept-encoding" in one.headers["vary"].lower()
        assert not one.headers["etag"].startswith("W/")
    assert plain.headers["etag"] != packed.headers["etag"]
    for accepted, one, status in (
        ("gzip", packed, 304), ("identity", plain, 304), ("gzip", plain, 200), ("gzip;q=0", packed, 200),
    ):  # fmt: skip
        again, _ = await read(**{"accept-encoding": accepted, "if-none-match": one.headers["etag"]})
        assert again.status_code == status, (accepted, status)
