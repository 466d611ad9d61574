"""An oracle of payments: terms name the seller's wallet, and a transfer between the parties is not called another's."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.simulation.oracles import Oracle
from tests.simulation.records import Observation, Violation

if TYPE_CHECKING:
    from tests.simulation.chain import SimulatedChain
    from tests.simulation.simulation import Simulation

Json = dict[str, Any]
STRANGE = {"wrong_asset", "wrong_recipient", "wrong_sender"}  # a transfer between the parties has none of these faults


class Payments(Oracle):
    """Terms of payments and refusals of transfers agree with the wallets and the chain."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.wallets = defaultdict[str, set[str]](set)  # each that an agent has bound, in lower case
        self.parties: dict[str, tuple[str, str]] = {}  # of a job: its buyer and its seller

    def observe(self, seen: Observation) -> None:
        body = seen.answer.body
        if seen.call.operation == "set_wallet_address" and not seen.answer.refused and seen.agent:
            self.wallets[seen.agent].add(str(seen.call.arguments["address"]).lower())
        for job in jobs_in(body):
            self.parties[job["id"]] = job["buyer"]["id"], job["seller"]["id"]
        if isinstance(body, dict) and body.get("object") == "payment_terms" and body["job_id"] in self.parties:
            self._judge_terms(body, self._chain(seen))
        elif seen.answer.code == "payment_invalid":
            self._judge_refusal(seen)

    def _chain(self, seen: Observation) -> "SimulatedChain":
        return self.simulation.live if "_live_" in (seen.call.key or "") else self.simulation.chain

    def _judge_terms(self, terms: Json, chain: "SimulatedChain") -> None:
        """Check the recipient and the token of terms, and that x402's block says the same."""
        _, seller = self.parties[terms["job_id"]]
        if terms["pay_to"].lower() not in self.wallets[seller]:
            raise Violation(f"the terms of {terms['job_id']} ask to pay {terms['pay_to']}, which is not the seller's")
        network = chain.network
        if (terms["network"], terms["asset"].lower()) != (network.id, network.asset.lower()):
            raise Violation(f"the terms of {terms['job_id']} are of another network or token")
        (way,) = terms["x402"]["accepts"]
        shown = way["payTo"], way["asset"], way["network"], int(way["amount"])
        if shown != (terms["pay_to"], terms["asset"], terms["network"], terms["amount"]):
            raise Violation(f"x402's terms of {terms['job_id']} are {shown}, which differ from the others")

    def _judge_refusal(self, seen: Observation) -> None:
        """Check that no transfer between the parties is called one of strangers."""
        error, given = seen.answer.body["error"], seen.call.arguments
        parties = self.parties.get(str(given.get("job_id")))
        if parties is None or error.get("details", {}).get("reason") not in STRANGE:
            return
        payer, payee = parties if seen.call.operation == "pay_job" else parties[::-1]
        for one in self._chain(seen).transfers_of(str(given.get("transaction")).lower()):
            if (
                one.sender.lower() in self.wallets[payer]
                and one.recipient.lower() in self.wallets[payee]
                and one.amount
            ):
                raise Violation(f"{one} between the parties of {given['job_id']} is refused: {error['message']}")


def jobs_in(body: Any) -> Iterator[Json]:
    """Yield the jobs that an answer shows with both parties."""
    if isinstance(body, dict):
        rows = body["data"] if isinstance(body.get("data"), list) else [body]
        yield from (one for one in rows if isinstance(one, dict) and one.get("object") == "job" and "seller" in one)
