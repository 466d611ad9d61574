"""Oracles about the neighbours: what receivers, sanctions lists and other markets may rely on."""

from typing import TYPE_CHECKING

import orjson

from tests.simulation.oracles import Oracle
from tests.simulation.peers import FORBIDDEN
from tests.simulation.records import Observation, Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

SCREENED = ("pay_job", "refund_job")


class Received(Oracle):
    """A webhook delivery that is repeated has the same id and the same body."""

    async def look(self) -> None:
        for url, event_id in self.simulation.web.contradictions:
            raise Violation(f"{url} was sent two bodies of {event_id}")


class Sanctioned(Oracle):
    """A call that begins while its caller's wallet is on a sanctions list records no transfer."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.recorded = set[str]()

    def observe(self, seen: Observation) -> None:
        transaction = str(seen.call.arguments.get("transaction") or "").lower().removeprefix("0x")
        who = self.simulation.identities.get(seen.agent or "")
        if seen.call.operation not in SCREENED or not transaction or who is None or seen.answer.refused:
            return
        since = self.simulation.listed.get(who.wallet.address.lower())
        if since is not None and seen.call.number > since and transaction not in self.recorded:
            raise Violation(f"the transfer {transaction} of {who.id}, which is on a list, was recorded: {seen.answer}")
        self.recorded.add(transaction)


class Elsewhere(Oracle):
    """Only accepted entries of other markets are shown, as printable text."""

    def observe(self, seen: Observation) -> None:
        if seen.call.operation != "search_elsewhere" or seen.answer.refused:
            return
        for shown in seen.answer.body["data"]:
            texts = shown["name"], shown["description"], shown["url"]
            if FORBIDDEN in orjson.dumps(shown).decode() or not all(text.isprintable() for text in texts):
                raise Violation(f"{shown['market']} shows {shown}")
