"""The oracle of the contract: an independent model of the market agrees with every answer."""

from typing import TYPE_CHECKING

from tests.simulation import model
from tests.simulation.model import Contract, Model
from tests.simulation.oracles import Oracle
from tests.simulation.records import Observation, Violation, records_in

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation


class Contracted(Oracle):
    """Every answer is one that some legal order of the calls explains."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        off = simulation.scenario.clocks_differ
        self.model = Model(
            Contract(clock_seconds=off), oldest=lambda: min(self.in_flight.values(), default=float("inf"))
        )
        self.in_flight: dict[int, int] = {}  # by the number of the call: the answers observed before it

    def begin(self, number: int) -> None:
        self.in_flight[number] = self.model.observed

    def observe(self, seen: Observation) -> None:
        self._show(seen, self.in_flight.pop(seen.call.number))

    def lost(self, seen: Observation) -> None:
        """Take in that no answer came in time; the call may have its effect later."""
        self._show(seen, self.in_flight[seen.call.number])

    def _show(self, seen: Observation, after: int) -> None:
        call, answer = seen.call, seen.answer
        paid = {} if call.payment is None else {"signed_payment": call.payment}
        try:
            self.model.observe(
                model.Observation(
                    number=call.number, agent=seen.agent, env=call.env, operation=call.operation,
                    arguments={**call.arguments, **paid}, idempotency_key=call.idempotency_key, status=answer.status,
                    body=answer.body, began=seen.began, ended=seen.ended, after=after,
                )
            )  # fmt: skip
        except model.Violation as broken:
            shown = next((one for one in records_in(answer.body) if one.get("id") == broken.subject), None)
            self.simulation.log.write("record", number=call.number, record=shown)
            raise Violation(str(broken)) from broken

    async def at_end(self) -> None:
        """Check that exactly the payments of the purchases that took one were charged on the chain."""
        for purchase in self.model.purchases.known.values():
            given = purchase.given
            charged = self.simulation.chain.was_charged(given.payer, given.nonce, purchase.transaction)
            if purchase.is_charged is not None and purchase.is_charged != charged:
                raise Violation(f"charged: {charged}, after {purchase.result or purchase.end}: {purchase.given}")
