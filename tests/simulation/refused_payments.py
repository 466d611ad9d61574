"""An oracle of refused transfers: a confirmed one is found, and none is refused for a fault that it does not have."""

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from tests.simulation.blocks import Transfer
from tests.simulation.chain import SimulatedChain
from tests.simulation.nodes import Faults, Nodes
from tests.simulation.oracles import Oracle
from tests.simulation.payments import Payments, hash_in, jobs_in
from tests.simulation.records import Json, Observation, Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

UNFOUND = ("transaction_not_found", "transaction_pending")
# An answer of a slow node is up to 15 seconds old. For 2 seconds the market believes that a hash is unknown.
CALM_SECONDS = 20.0
BLOCK_SLACK = timedelta(seconds=10)  # a block carries the time at which it was begun


class RefusedPayments(Oracle):
    """The refusals of transfers agree with the chain, as far as that is certain.

    Not judged: a transfer that waits for less than CALM_SECONDS, `too_old` of a refund, and several transfers in one
    transaction. Payments judges the reasons that name wrong parties or a wrong token.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.created: dict[str, datetime] = {}  # by job, as a clock of the market showed it

    def observe(self, seen: Observation) -> None:
        for job in jobs_in(seen.answer.body):
            self.created[job["id"]] = datetime.fromisoformat(job["created_at"])
        if seen.call.operation not in ("pay_job", "refund_job") or not seen.call.arguments.get("transaction"):
            return
        if seen.answer.code in UNFOUND:
            self._judge_unfound(seen)
        elif seen.answer.code == "payment_invalid":
            self._judge_invalid(seen)

    def _judge_unfound(self, seen: Observation) -> None:
        """Check that a transfer which is not found had not been confirmed for a while."""
        chain, transaction = self._place(seen)[0], hash_in(seen)
        beyond = chain.confirmations(transaction) - chain.network.confirmations
        if beyond < 0 or not self._is_calm(seen):
            return
        seconds = chain.clock.now().timestamp() - chain.block_time(chain.head() - beyond)
        before = seconds - (chain.clock.monotonic() - seen.loop_began)
        if before >= CALM_SECONDS:
            code = seen.answer.code
            raise Violation(f"{transaction} had been confirmed for {before} s, and is refused: {code}: {seen.call}")

    def _judge_invalid(self, seen: Observation) -> None:
        details = seen.answer.body["error"].get("details") or {}
        reason, sent = details.get("reason"), self._between(seen)
        judge = {
            "amount_too_low": partial(_leaves_a_rest, refund=seen.call.operation == "refund_job"),
            "amount_too_high": _is_too_high,
            "too_old": lambda one, _: not self._is_calm(seen) or self._may_be_old(one, seen),
            "reverted": lambda *_: not self._is_calm(seen),
            "self_payment": lambda *_: self._share_wallets(seen),
        }.get(str(reason))
        if sent is not None and judge is not None and not judge(sent, details):
            raise Violation(f"{sent} is refused as {reason}: {details}: {seen.call}")

    def _place(self, seen: Observation) -> tuple[SimulatedChain, Nodes]:
        """Return the chain of a call, and its nodes."""
        nodes = self.simulation.live_nodes if seen.call.env == "live" else self.simulation.nodes
        return self.simulation.oracle(Payments).chain(seen), nodes

    def _is_calm(self, seen: Observation) -> bool:
        """Say if no fault hid the chain during a call and shortly before.

        A process that stops may take in an old answer of a node minutes later.
        """
        chain, nodes = self._place(seen)
        calm = seen.loop_began - CALM_SECONDS
        healthy = nodes.faults == Faults() and nodes.changed_at <= calm and chain.replaced_at <= calm
        return healthy and not self.simulation.scenario.stop_seconds

    def _between(self, seen: Observation) -> Transfer | None:
        """Return the only transfer of a transaction, if it went between the parties of the job."""
        payers, payees = self.simulation.oracle(Payments).wallets_of(seen)
        found = self._place(seen)[0].transfers_of(hash_in(seen))
        if len(found) != 1 or not found[0].amount:
            return None
        sender, recipient = found[0].sender.lower(), found[0].recipient.lower()
        return found[0] if sender in payers - payees and recipient in payees - payers else None

    def _share_wallets(self, seen: Observation) -> bool:
        payers, payees = self.simulation.oracle(Payments).wallets_of(seen)
        return bool(payers & payees)

    def _may_be_old(self, sent: Transfer, seen: Observation) -> bool:
        """Say if a payment may be older than its job; the age of a refund is not judged."""
        created = self.created.get(str(seen.call.arguments["job_id"]))
        if created is None or seen.call.operation != "pay_job":
            return True
        latest = created + timedelta(seconds=self.simulation.scenario.clocks_differ) + BLOCK_SLACK
        return sent.block_time <= latest.timestamp()


def _leaves_a_rest(sent: Transfer, details: Json, *, refund: bool) -> bool:
    """Say if a transfer may leave something due.

    One that is refused without a record of it has moved nothing. A refund of all that was due may, because a repeat of
    its call also counts what was paid since.
    """
    if not details.get("recorded") or details["remaining"] <= 0:
        return False
    moved: int = details["transferred"]  # by all payments together, but by one refund
    return sent.amount == moved if refund else sent.amount <= moved < details["required"]


def _is_too_high(sent: Transfer, details: Json) -> bool:
    return bool(details["transferred"] == sent.amount > details["required"])
