"""A faucet for tests. It records each request, and can refuse or lose it."""

from dataclasses import dataclass, field, replace

from tests.support.market import TestMarket
from tools.engine.ports import FaucetLost, FaucetRefused


@dataclass
class TestFaucet:
    """A faucet that sends nothing. It raises `fails` if that is set."""

    __test__ = False
    gives_gas: bool = False
    fails: FaucetRefused | FaucetLost | None = None
    given: list[tuple[str, int]] = field(default_factory=list)

    async def give(self, address: str, amount: int) -> str:
        if self.fails is not None:
            raise self.fails
        self.given.append((address, amount))
        return f"0x{len(self.given):064x}"


def open_faucet(market: TestMarket, faucet: TestFaucet | None = None) -> TestFaucet:
    """Give the market a test faucet; return the faucet."""
    opened = faucet or TestFaucet()
    market.market.world = replace(market.market.world, faucet=opened)
    return opened
