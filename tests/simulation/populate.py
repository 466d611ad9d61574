"""The honest agents of a run: it registers them, binds their wallets and lets them open their shops."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tests.simulation.judges import Evaluator
from tests.simulation.market_actors import Operator, Returner, Trader
from tests.simulation.population import Actor, Buyer, Identity, Seller, Traits, open_shop, register
from tests.simulation.strangers import Stranger
from tests.simulation.x402_actors import paying_clients
from tests.support.market import OPERATOR_SECRET

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

RETURNS_MOST = Traits(returns=0.9)  # so often that the market counts its returns as failures
VANISHES = Traits(vanishes=0.05)  # away for most of the time, so that its deadlines pass
TRAITS: Mapping[tuple[type[Actor], int], Traits] = {
    (Trader, 0): RETURNS_MOST,
    (Trader, 1): VANISHES,
    (Trader, 2): VANISHES,
    **{(Evaluator, number): Traits(vanishes=0.03) for number in range(3)},
}


async def populate(simulation: "Simulation") -> list[Actor]:
    """Register all honest agents of the scenario."""
    scenario = simulation.scenario
    kinds: Mapping[type[Actor], int] = {
        Seller: scenario.sellers, Buyer: scenario.buyers, Evaluator: scenario.evaluators, Trader: scenario.traders,
        Returner: scenario.returners, Stranger: 1,
    }  # fmt: skip
    actors: list[Actor] = [
        kind(simulation, await register(simulation, f"{kind.__name__} {number}"), _traits(kind, number))
        for kind, count in kinds.items()
        for number in range(count)
    ]
    for actor in actors:
        if isinstance(actor, Evaluator):
            await actor.call("set_evaluator", enabled=True)
        if isinstance(actor, Seller):
            await open_shop(actor)
        if isinstance(actor, Trader):
            await actor.settle_in()
    itself = Identity("operator", "operator", {"test": OPERATOR_SECRET}, b"", None)
    clients = await paying_clients(simulation, scenario.clients) if scenario.clients else []
    return [*actors, Operator(simulation, itself, Traits()), *clients]


def _traits(kind: type[Actor], number: int) -> Traits:
    return RETURNS_MOST if kind is Returner else TRAITS.get((kind, number), Traits())
