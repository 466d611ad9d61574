"""Finding 13: request bodies that never end stay in memory as long as the attacker wants."""

import asyncio
from urllib.parse import urlsplit

import pytest

from tests.end_to_end.attacks.world import Arena
from tests.requirements import covers

MAX_SECONDS = 60.0  # a small body has 30 s


async def held(url: str, head: bytes, drip: bytes) -> bool:
    """Send a head and a slow body; return whether the connection is open after MAX_SECONDS."""
    at = urlsplit(url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    writer.write(head)

    async def drips() -> None:
        while True:
            writer.write(drip)
            await writer.drain()
            await asyncio.sleep(1)

    dripping = asyncio.create_task(drips())
    try:
        async with asyncio.timeout(MAX_SECONDS):
            return await reader.read() is None
    except TimeoutError:
        return True
    except ConnectionError:
        return False
    finally:
        dripping.cancel()
        await asyncio.gather(dripping, return_exceptions=True)
        writer.close()


@pytest.mark.finding(13)
@covers("second.edge.bodies")
async def test_a_body_that_does_not_end_is_not_held(arena: Arena) -> None:
    market = await arena.market()
    host = urlsplit(market.url).netloc.encode()
    about = b"POST /v1/agents HTTP/1.1\r\nHost: " + host + b"\r\nContent-Type: application/json\r\n"
    sized = about + b"Content-Length: 1000000\r\n\r\n" + b" " * 100_000
    chunked = about + b"Transfer-Encoding: chunked\r\n\r\n"
    found = await asyncio.gather(
        held(market.url, sized, b""), held(market.url, sized, b" "), held(market.url, chunked, b"1\r\n \r\n")
    )
    assert found == [False, False, False]
