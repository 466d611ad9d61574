"""The oracle of payments accepts true terms and refusals, and nothing else."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.simulation.blocks import Transfer
from tests.simulation.chain_scene import NETWORK
from tests.simulation.payments import Payments
from tests.simulation.records import Observation, Violation
from tests.simulation.test_more_oracles import JOB, seen

BUYER, SELLER, OTHER = ("0x" + digit * 40 for digit in "123")
HASH = "0x" + "f" * 64
WAY = {"payTo": SELLER, "asset": NETWORK.asset, "network": NETWORK.id, "amount": "250000"}
TERMS = {
    "object": "payment_terms", "job_id": JOB, "pay_to": SELLER, "asset": NETWORK.asset, "network": NETWORK.id,
    "amount": 250_000, "x402": {"accepts": [WAY]},
}  # fmt: skip
REFUSED = {"error": {"code": "payment_invalid", "message": "no", "details": {"reason": "wrong_recipient"}}}


def bound(agent: str, address: str) -> Observation:
    shown = seen(0, "set_wallet_address", 200, {"object": "wallet"}, address=address)
    return Observation(shown.call, agent, shown.answer, shown.began, shown.ended)


@pytest.fixture
def oracle() -> Payments:
    transfers = [Transfer(HASH, 0, BUYER, SELLER, 250_000, 5, 10)]
    chain = SimpleNamespace(network=NETWORK, transfers_of=lambda found: transfers if found == HASH else [])
    simulation: Any = SimpleNamespace(chain=chain, live=chain)
    made = Payments(simulation)
    for agent, address in (("agt_buyer", BUYER), ("agt_seller", SELLER)):
        made.observe(bound(agent, address))
    job = {"object": "job", "id": JOB, "buyer": {"id": "agt_buyer"}, "seller": {"id": "agt_seller"}}
    made.observe(seen(1, "get_job", 200, job, job_id=JOB))
    return made


def test_true_terms_and_refusals_are_accepted(oracle: Payments) -> None:
    oracle.observe(seen(2, "pay_job", 200, TERMS, job_id=JOB))
    oracle.observe(seen(3, "pay_job", 402, REFUSED, job_id=JOB, transaction="0x" + "e" * 64))
    oracle.observe(seen(4, "refund_job", 402, REFUSED, job_id=JOB, transaction=HASH))


@pytest.mark.parametrize(
    "change",
    [
        {"pay_to": BUYER},
        {"pay_to": OTHER},
        {"asset": OTHER},
        {"network": "eip155:1"},
        {"x402": {"accepts": [WAY | {"payTo": OTHER}]}},
        {"x402": {"accepts": [WAY | {"amount": "1"}]}},
    ],
)
def test_wrong_terms_are_a_violation(oracle: Payments, change: dict[str, Any]) -> None:
    with pytest.raises(Violation):
        oracle.observe(seen(2, "pay_job", 200, TERMS | change, job_id=JOB))


def test_a_transfer_between_the_parties_is_not_one_of_strangers(oracle: Payments) -> None:
    with pytest.raises(Violation, match="is refused"):
        oracle.observe(seen(2, "pay_job", 402, REFUSED, job_id=JOB, transaction=HASH))
