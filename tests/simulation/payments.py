"""An oracle of payments: terms name the seller's wallet, and a transfer between the parties is not called another's."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.simulation.oracles import Oracle
from tests.simulation.records import Json, Observation, Violation, records_in

if TYPE_CHECKING:
    from tests.simulation.chain import SimulatedChain
    from tests.simulation.simulation import Simulation

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
            self._judge_terms(body, self.chain(seen))
        elif seen.answer.code == "payment_invalid":
            self._judge_refusal(seen)

    def chain(self, seen: Observation) -> "SimulatedChain":
        """Return the chain of a call."""
        return self.chain_of(seen.call.env)

    def wallets_of(self, seen: Observation) -> tuple[set[str], set[str]]:
        """Return the wallets that the party which owes ever bound, and those of the other."""
        parties = self.parties.get(str(seen.call.arguments.get("job_id")))
        if parties is None:
            return set(), set()
        payer, payee = parties if seen.call.operation == "pay_job" else parties[::-1]
        return self.wallets[payer], self.wallets[payee]

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
        error = seen.answer.body["error"]
        if error.get("details", {}).get("reason") not in STRANGE:
            return
        payers, payees = self.wallets_of(seen)
        for one in self.chain(seen).transfers_of(hash_in(seen)):
            if one.sender.lower() in payers and one.recipient.lower() in payees and one.amount:
                raise Violation(f"{one} between the parties is refused: {error['message']}: {seen.call}")


def hash_in(seen: Observation) -> str:
    """Return the hash of the transaction that a call reports, as the chain has it."""
    return "0x" + str(seen.call.arguments.get("transaction")).lower().removeprefix("0x")


def jobs_in(body: Any) -> Iterator[Json]:
    """Yield the jobs that an answer shows with both parties."""
    yield from (one for one in records_in(body) if one.get("object") == "job" and "seller" in one)
