"""The roster of all cheats."""

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.cheats.accounts import ACCOUNT_CHEATS
from tests.simulation.cheats.base import Cheat
from tests.simulation.cheats.load import LOAD_CHEATS
from tests.simulation.cheats.payments import PAYMENT_CHEATS
from tests.simulation.cheats.purchases import PURCHASE_CHEATS
from tests.simulation.cheats.trust import TRUST_CHEATS
from tests.simulation.population import register

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

CHEATS: Sequence[type[Cheat]] = (*PAYMENT_CHEATS, *PURCHASE_CHEATS, *ACCOUNT_CHEATS, *TRUST_CHEATS, *LOAD_CHEATS)


def next_of(cheats: Sequence[Cheat], random: Random) -> Cheat:
    """Choose one of the cheats that have acted least."""
    least = min(one.acts for one in cheats)
    return random.choice([one for one in cheats if one.acts == least])


async def recruit(simulation: "Simulation") -> list[Cheat]:
    """Register one agent for each cheat, if the scenario has cheats."""
    if not simulation.scenario.cheats:
        return []
    return [kind(simulation, await register(simulation, f"Agent {number}")) for number, kind in enumerate(CHEATS)]
