"""The oracle of refused transfers accepts true refusals, and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.simulation import chain_scene
from tests.simulation.blocks import BLOCK_SECONDS
from tests.simulation.chain_scene import BUYER, CONFIRMATIONS, SELLER, STRANGER
from tests.simulation.nodes import Faults
from tests.simulation.payments import Payments
from tests.simulation.records import Observation, Violation
from tests.simulation.refused_payments import CALM_SECONDS, RefusedPayments
from tests.simulation.test_more_oracles import JOB
from tests.simulation.wires import Answer, Call

PRICE = 250_000
PENDING, NOT_FOUND, INVALID = "transaction_pending", "transaction_not_found", "payment_invalid"


@dataclass
class Scene:
    """A chain with its nodes, the oracle, and a job that was just made."""

    def __post_init__(self) -> None:
        self.model = chain_scene.Model()
        self.model.mine(60)
        chain, nodes, scenario = self.model.chain, self.model.nodes, SimpleNamespace(stop_seconds=0, clocks_differ=0)
        self.simulation: Any = SimpleNamespace(
            chain=chain, nodes=nodes, live=chain, live_nodes=nodes, scenario=scenario, oracle=lambda _: self.payments
        )
        self.payments, self.oracle = Payments(self.simulation), RefusedPayments(self.simulation)
        for agent, wallet in (("agt_buyer", BUYER), ("agt_seller", SELLER)):
            self.payments.wallets[agent].add(wallet.address.lower())
        created = self.model.clock.now().isoformat()
        buyer, seller = {"id": "agt_buyer"}, {"id": "agt_seller"}
        self.show("get_job", 200, {"object": "job", "id": JOB, "buyer": buyer, "seller": seller, "created_at": created})

    def show(self, operation: str, status: int, body: Any, **given: Any) -> None:
        """Show an answer, whose call took no time, to both oracles."""
        now = self.model.clock.now()
        call = Call(1, operation, {"job_id": JOB} | given, "as_test_1")
        seen = Observation(call, "agt_1", Answer(status, body), now, now, self.model.clock.monotonic())
        for one in (self.payments, self.oracle):
            one.observe(seen)

    def refuse(self, transaction: str, code: str, operation: str = "pay_job", **details: Any) -> None:
        error = {"code": code, "message": "no", "details": details}
        self.show(operation, 409, {"error": error}, transaction=transaction)

    def paid(self, amount: int = PRICE) -> str:
        """Send a payment and wait until it has been confirmed for a while."""
        sent = self.model.pay(BUYER, SELLER, amount)
        self.model.mine(CONFIRMATIONS - 1)
        self.model.clock.pass_seconds(CALM_SECONDS + BLOCK_SECONDS)
        return sent

    def refunded(self, amount: int = PRICE) -> str:
        return self.model.pay(SELLER, BUYER, amount)


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize("code", [PENDING, NOT_FOUND])
@pytest.mark.parametrize("operation", ["pay_job", "refund_job"])
def test_a_confirmed_transfer_is_found(scene: Scene, code: str, operation: str) -> None:
    with pytest.raises(Violation, match="had been confirmed"):
        scene.refuse(scene.paid().upper().replace("0X", "0x"), code, operation)


def test_a_transfer_that_failed_is_found_too(scene: Scene) -> None:
    sent = scene.model.pay_too_much(BUYER, SELLER)
    scene.model.clock.pass_seconds(60)
    with pytest.raises(Violation, match="had been confirmed"):
        scene.refuse(sent, PENDING)


def just_mined(scene: Scene) -> str:
    return scene.model.pay(BUYER, SELLER, PRICE)


def just_confirmed(scene: Scene) -> str:
    sent = scene.model.pay(BUYER, SELLER, PRICE)
    scene.model.mine(CONFIRMATIONS - 1)
    scene.model.clock.pass_seconds(CALM_SECONDS - 2 * BLOCK_SECONDS)
    return sent


def replaced(scene: Scene) -> str:
    sent = scene.paid()
    scene.model.chain.reorg(1)
    return sent


def under_fault(scene: Scene) -> str:
    sent = scene.paid()
    scene.model.nodes.faults = Faults(nodes=4, lag=CONFIRMATIONS)
    return sent


def after_fault(scene: Scene) -> str:
    sent = under_fault(scene)
    scene.model.clock.pass_seconds(60)
    scene.model.nodes.heal()
    return sent


def never_sent(scene: Scene) -> str:
    return scene.model.chain.new_hash()


def with_stops(scene: Scene) -> str:
    scene.simulation.scenario.stop_seconds = 600
    return scene.paid()


@pytest.mark.parametrize(
    "sent", [just_mined, just_confirmed, replaced, under_fault, after_fault, never_sent, with_stops]
)
def test_a_transfer_may_not_be_found(scene: Scene, sent: Callable[[Scene], str]) -> None:
    scene.refuse(sent(scene), NOT_FOUND)


def test_a_payment_that_is_too_low_is_accepted_as_such(scene: Scene) -> None:
    part = {"reason": "amount_too_low", "recorded": True, "required": PRICE}
    scene.refuse(scene.paid(1), INVALID, **part, transferred=1, remaining=PRICE - 1)
    scene.refuse(scene.paid(1), INVALID, **part, transferred=2, remaining=PRICE - 2)
    scene.refuse(scene.refunded(1), INVALID, "refund_job", **part, transferred=1, remaining=PRICE - 1)
    scene.refuse(scene.refunded(2), INVALID, "refund_job", **part, transferred=2, remaining=PRICE - 1)


def test_other_refusals_with_a_cause_are_accepted(scene: Scene) -> None:
    left = PRICE - 1
    high = {"reason": "amount_too_high", "recorded": False, "required": left, "transferred": PRICE}
    scene.refuse(scene.refunded(), INVALID, "refund_job", **high)
    scene.refuse(scene.model.pay_too_much(BUYER, SELLER), INVALID, reason="reverted")
    scene.refuse(scene.model.pay_and_return(BUYER, SELLER, 5, 5), INVALID, reason="amount_too_low")
    scene.refuse(scene.model.pay(STRANGER, SELLER, 5), INVALID, reason="amount_too_low")
    sent = scene.model.pay(BUYER, SELLER, PRICE)
    scene.oracle.created[JOB] = scene.model.clock.now() + timedelta(seconds=60)
    scene.refuse(sent, INVALID, reason="too_old")
    scene.payments.wallets["agt_seller"].add(BUYER.address.lower())
    scene.refuse(sent, INVALID, reason="self_payment")


@pytest.mark.parametrize(
    ("operation", "details"),
    [
        ("pay_job", {"reason": "amount_too_low"}),
        ("pay_job", {"reason": "amount_too_low", "recorded": True, "required": PRICE, "transferred": 5, "remaining": 1}),
        ("pay_job", {"reason": "amount_too_low", "recorded": True, "required": PRICE, "transferred": PRICE, "remaining": 1}),
        ("pay_job", {"reason": "amount_too_low", "recorded": True, "required": 9, "transferred": PRICE, "remaining": 0}),
        ("refund_job", {"reason": "amount_too_low", "recorded": True, "required": PRICE, "transferred": 5, "remaining": 1}),
        ("refund_job", {"reason": "amount_too_high", "required": PRICE, "transferred": PRICE}),
        ("refund_job", {"reason": "amount_too_high", "required": 5, "transferred": 6}),
        ("pay_job", {"reason": "reverted"}),
        ("pay_job", {"reason": "self_payment"}),
        ("pay_job", {"reason": "too_old"}),
    ],
)  # fmt: skip
def test_a_refusal_without_a_cause_is_a_violation(scene: Scene, operation: str, details: dict[str, Any]) -> None:
    scene.model.mine(30)
    sent = scene.paid() if operation == "pay_job" else scene.refunded()
    with pytest.raises(Violation, match="is refused as"):
        scene.refuse(sent, INVALID, operation, **details)


@pytest.mark.parametrize("reason", ["reverted", "too_old"])
def test_a_node_that_is_behind_may_show_another_outcome(scene: Scene, reason: str) -> None:
    scene.refuse(under_fault(scene), INVALID, reason=reason)
