"""A single faucet claim of one party."""

from tests.support.faucet import TestFaucet, open_faucet
from tests.support.parity_calls import Script


async def run(say: Script) -> None:
    open_faucet(say.market, TestFaucet(gives_gas=True))
    await say("get_faucet", say.buyer)
    await say("get_faucet")
    await say("claim_test_funds", say.buyer)
    await say("claim_test_funds", say.buyer)
