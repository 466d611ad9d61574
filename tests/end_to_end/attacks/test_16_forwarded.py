"""Finding 16: behind a proxy that forwards ports, the rate limit counted every connection as a new address."""

from collections.abc import Callable

import pytest

from tests.end_to_end.attacks.world import Arena
from tests.requirements import covers

MAX_REGISTRATIONS = 3


@pytest.mark.finding(16)
@covers("second.edge.forwarded")
@pytest.mark.parametrize(
    "forwarded",
    [
        lambda number: f"9.9.9.9:{40_000 + number}",
        lambda number: f"[2001:db8:0:7::{number + 1:x}]:{40_000 + number}",
        lambda number: f"[2001:db8:0:8::{number + 1:x}]",
        lambda number: f"8.8.8.{number}, 9.9.9.10:{40_000 + number}",
    ],
)
async def test_another_port_is_no_other_address(arena: Arena, forwarded: Callable[[int], str]) -> None:
    await registers_no_more(arena, forwarded)


@pytest.mark.parametrize(
    "forwarded",
    [
        lambda number: f"2001:db8:0:9::{number + 1:x}",
        lambda number: f"8.8.8.{number}, 9.9.9.11:{40_000 + number}, 127.0.0.1:99",
        lambda number: f"8.8.8.{number}:1, 9.9.9.12, 127.0.0.1",
        lambda number: f"[[9.9.9.13]]:{number}",
    ],
)
async def test_other_spellings_are_no_other_addresses(arena: Arena, forwarded: Callable[[int], str]) -> None:
    await registers_no_more(arena, forwarded)


async def registers_no_more(arena: Arena, forwarded: Callable[[int], str]) -> None:
    """Register from one address, spelled differently each time, until the limit refuses."""
    market = await arena.market(trusted_proxies="127.0.0.1", registrations_per_hour=str(MAX_REGISTRATIONS))
    answers = [
        await market.post("/v1/agents", None, {"name": "Mallory"}, headers={"X-Forwarded-For": forwarded(number)})
        for number in range(MAX_REGISTRATIONS + 4)
    ]
    assert sum(one.status == 201 for one in answers) <= MAX_REGISTRATIONS


async def test_other_addresses_keep_their_own_windows(arena: Arena) -> None:
    market = await arena.market(trusted_proxies="127.0.0.1", registrations_per_hour=str(MAX_REGISTRATIONS))
    for number in range(MAX_REGISTRATIONS + 2):
        sent = {"X-Forwarded-For": f"7.7.7.{number}:443"}
        (await market.post("/v1/agents", None, {"name": "Ann"}, headers=sent)).expect(201)
