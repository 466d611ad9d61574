"""Two processes run the proof checks together: each domain is checked once."""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import dns.message

from tests.conftest import Opening
from tests.support.dns_server import NameServer, saying
from tests.support.market import TestMarket
from tests.support.proofs import DAY, ReadContext

DOMAINS = 60
LOOKS = """
import asyncio, sys
from dataclasses import replace
from server.workers import DailyRechecks
from server.adapters.dns import NameServers
from storage.open import open_store
from tests.support.market import TestMarket

async def main():
    store = open_store(sys.argv[1])
    market = TestMarket(store)
    market.pass_seconds(float(sys.argv[3]))
    market.market.services.world = replace(market.market.world, dns=NameServers([("127.0.0.1", int(sys.argv[2]))]))
    print("ready", flush=True)
    sys.stdin.readline()
    print(await DailyRechecks(market.market).step(), flush=True)
    store.close()

asyncio.run(main())
"""


async def test_a9_a_domain_that_is_due_is_looked_at_by_one_of_two_processes(
    postgres_url: str, opening: Opening
) -> None:
    market = TestMarket(opening(postgres_url))
    outside = ReadContext(market)
    agents = [await market.register(f"Ada {number}") for number in range(DOMAINS // 5)]
    names = {f"a{number}.example.com": agents[number // 5] for number in range(DOMAINS)}
    for domain, agent in names.items():
        await outside.verified(agent, domain)

    def answer(question: dns.message.Message) -> Sequence[bytes]:
        asked = question.question[0].name.to_text().removeprefix("_service.").removesuffix(".")
        return saying(f"{{name}} TXT service={names[asked].id}")(question)

    async with NameServer(answer) as server:
        looking = [await _begun(postgres_url, server.place[1]) for _ in range(2)]
        for one in looking:
            assert one.stdin
            one.stdin.write(b"go\n")
        told = [(await one.communicate())[0] for one in looking]
    assert [one.returncode for one in looking] == [0, 0]
    assert sum(map(int, told)) == DOMAINS
    assert Counter(server.asked) == Counter(f"_service.{domain}." for domain in names)
    market.pass_seconds(DAY)
    assert await outside.looks.step() == 0, "the next look is due in a day"


async def _begun(url: str, port: int) -> asyncio.subprocess.Process:
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LOOKS, url, str(port), str(DAY),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert started.stdout
    assert await started.stdout.readline() == b"ready\n"
    return started
