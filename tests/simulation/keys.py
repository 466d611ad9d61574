"""The oracle of API keys: a revoked key opens nothing, in any process, from one second after the answer on."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tests.simulation.oracles import Oracle
from tests.simulation.records import Observation, Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

HIDDEN = timedelta(seconds=1)  # a cache may hide a revocation for so long (decisions, 1 Identity)


class RevokedKeys(Oracle):
    """No call with a revoked key succeeds."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.keys: dict[str, str] = {}  # by id
        self.revoked: dict[str, datetime] = {}  # by key: the answer to its revocation

    def observe(self, seen: Observation) -> None:
        if seen.answer.refused:
            return
        call = seen.call
        ended = self.revoked.get(call.key or "")
        if ended is not None and ended + HIDDEN < seen.began:
            raise Violation(f"{call.operation} succeeds at {seen.began} with a key of {seen.agent} revoked by {ended}")
        if call.operation == "create_api_key":
            self.keys[seen.answer.body["id"]] = seen.answer.body["key"]
        if call.operation == "revoke_api_key" and call.arguments["key_id"] in self.keys:
            self.revoked.setdefault(self.keys[call.arguments["key_id"]], seen.ended)
