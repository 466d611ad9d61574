"""The rate limit of reads, used up. It is the last section, because nothing can be read after it."""

from dataclasses import replace

from tests.support.parity_calls import Script
from tools.engine.rate_limits import ALLOWANCES, Rate, bucket_of


async def run(say: Script) -> None:
    market = say.market.market
    market.config = replace(market.config, limits=replace(market.config.limits, enforced=True))
    for _ in range(ALLOWANCES[Rate.READS].calls):
        market.windows.count(Rate.READS, ALLOWANCES[Rate.READS], bucket_of("127.0.0.1"), market.world.clock.monotonic())
    await say("get_changelog")
