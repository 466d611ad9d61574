"""A process that fires the schedules of a PostgreSQL database, for tests with several processes.

python -m tests.support.schedule_process URL NOW: prints `ready`, starts after a line on its input, prints the number fired.
"""

import asyncio
import sys
from datetime import datetime

from storage.postgres import Postgres, PostgresStore
from tests.support.databases import close
from tests.support.market import TestMarket


async def main(url: str, now: datetime) -> None:
    market = TestMarket(PostgresStore(Postgres(url)))
    market.clock.at = now
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    fired = 0
    for _ in range(5):
        fired += await market.workers.fire_schedules()
    print(fired, flush=True)
    await close(market.store)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], datetime.fromisoformat(sys.argv[2])))
