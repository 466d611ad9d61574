"""Sybil judges: agents that buy trust with one coin that circulates, and the case that they want to win."""

from dataclasses import dataclass
from typing import Any

from eth_account.signers.local import LocalAccount

from tests.end_to_end.attacks.world import Agent, Arena, Market

COIN = 3_400_000  # three such sales reach the 10 USDC of tier 1
VICTIMS_PRICE = 1_000_000
NO_AGE = {"evaluator_min_age_days_live": "0"}  # for trees that have the setting; it has the same effect as waiting


@dataclass
class Ring:
    """One coin that circulates between wallets, and the number of its transfers."""

    arena: Arena
    market: Market
    holder: LocalAccount
    capital_minor: int
    transfers: int = 0

    @staticmethod
    async def opened(arena: Arena, market: Market) -> "Ring":
        return Ring(arena, market, arena.chains["live"].wallet(COIN), COIN)

    async def earn(self, seller: Agent, buyers: list[Agent]) -> None:
        """Sell to each of these buyers, with the same coin."""
        listing = await self.market.listing(seller, "live", price=COIN)
        for buyer in buyers:
            self.arena.chains["live"].transfer(self.holder, buyer.wallet.address, COIN, confirm=False)
            await self.market.trade(seller, buyer, listing, "live")
            self.holder = seller.wallet
            self.transfers += 2


async def offer(market: Market, *judges: Agent) -> None:
    for judge in judges:
        (await market.post("/v1/agents/me/evaluator", judge.live, {"enabled": True})).expect()


async def buyers(market: Market, count: int) -> list[Agent]:
    return [await market.agent(f"Payer {number}", env="live") for number in range(count)]


async def disputed(market: Market, env: str, buyer: Agent | None = None) -> tuple[Agent, Agent, Any]:
    """Return an honest seller, its buyer, and the case of a paid job that the buyer disputed."""
    seller = await market.agent("Victim", env=env)
    buyer = buyer or await market.agent("Attacker", env=env, usdc_minor=VICTIMS_PRICE)
    listing = await market.listing(seller, env, price=VICTIMS_PRICE)
    job = await market.order(buyer, listing, env)
    await market.deliver(seller, job, env=env)
    await market.pay(buyer, job, env)
    reason = {"reason": "I say that it is wrong."}
    made = (await market.post(f"/v1/jobs/{job['id']}/dispute", buyer.key(env), reason)).expect()
    return seller, buyer, await case_of(market, buyer, made["dispute_id"], env)


async def case_of(market: Market, agent: Agent, dispute_id: str, env: str) -> Any:
    return (await market.get(f"/v1/disputes/{dispute_id}", agent.key(env))).expect()


async def vote(market: Market, judge: Agent, dispute_id: str, env: str, outcome: str = "buyer") -> Any:
    body = {"outcome": outcome, "rationale": "I have read it."}
    return await market.post(f"/v1/disputes/{dispute_id}/verdict", judge.key(env), body)


async def seats_of(market: Market, judges: list[Agent], dispute_id: str, env: str) -> list[Agent]:
    """Return the judges that were drawn: only they can read the case."""
    return [judge for judge in judges if (await market.get(f"/v1/disputes/{dispute_id}", judge.key(env))).status == 200]
