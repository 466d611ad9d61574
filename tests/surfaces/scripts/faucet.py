"""A single faucet claim of one party."""

from tests.funding import TestFaucet, open_faucet
from tests.surfaces.scripts import Script


async def run(say: Script) -> None:
    open_faucet(say.market, TestFaucet(gives_gas=True))
    await say("get_faucet", say.buyer)
    await say("get_faucet")
    await say("claim_test_funds", say.buyer)
    await say("claim_test_funds", say.buyer)
