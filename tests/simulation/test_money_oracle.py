"""The oracle of money: a settlement has its transfer and its block, and a purchase that ended its charge."""

from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from storage.tables import SettlementRow
from storage.vocabulary import PurchaseStatus
from tests.simulation.chain_scene import BUYER, CONFIRMATIONS, NONCE, ONE, SELLER, Model
from tests.simulation.oracles import Ended, Money
from tests.simulation.records import Violation
from tools.purchases.rules import Outcome


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def oracle(model: Model) -> Money:
    return Money(cast(Any, SimpleNamespace(chain=model.chain, clock=model.clock)))


def settlement(model: Model, transaction: str, **changes: Any) -> SettlementRow:
    """Return the settlement of a transfer as the market should write it."""
    (found,) = model.chain.transfers_of(transaction)
    right: dict[str, Any] = {
        "id": "stl_1", "env": "test", "payer_address": found.sender, "pay_to": found.recipient, "amount": found.amount,
        "tx_hash": transaction, "block_number": found.block_number,
        "block_time": datetime.fromtimestamp(found.block_time, UTC),
    }  # fmt: skip
    return cast(SettlementRow, SimpleNamespace(**right | changes))


def test_a_settlement_has_the_parties_the_amount_and_the_block_of_its_transfer(model: Model, oracle: Money) -> None:
    transaction = model.pay(BUYER, SELLER, ONE)
    right = settlement(model, transaction)
    oracle._settled(right)
    for changes in ({"amount": ONE + 1}, {"pay_to": BUYER.address}):
        with pytest.raises(Violation, match=r"is not in 0x\w+: "):
            oracle._settled(settlement(model, transaction, **changes))
    for changes in ({"block_number": right.block_number + 1}, {"block_time": datetime(2027, 1, 1, tzinfo=UTC)}):
        with pytest.raises(Violation, match="is not in that block"):
            oracle._settled(settlement(model, transaction, **changes))
    with pytest.raises(Violation, match="settles stl_1 and stl_2"):
        oracle._settled(settlement(model, transaction, id="stl_2"))


@pytest.mark.parametrize("blocks", [0, CONFIRMATIONS])
def test_a_replaced_block_counts_if_it_was_confirmed(model: Model, oracle: Money, blocks: int) -> None:
    row = settlement(model, model.pay(BUYER, SELLER, ONE))
    model.mine(blocks)
    model.chain.reorg(CONFIRMATIONS + 1, lost=1)
    with nullcontext() if blocks else pytest.raises(Violation, match="is not in 0x"):
        oracle._settled(row)


@pytest.mark.parametrize(
    ("status", "reason", "charged", "allowed"),
    [
        (PurchaseStatus.PAID, None, True, True),
        (PurchaseStatus.PAID, None, False, False),
        (PurchaseStatus.CLOSED, Outcome.NOT_CHARGED, False, True),
        (PurchaseStatus.CLOSED, "a facilitator's words", True, False),
        (PurchaseStatus.CLOSED, Outcome.TOGETHER, True, True),
    ],
)
def test_a_purchase_is_charged_exactly_if_it_is_paid(
    model: Model, oracle: Money, status: PurchaseStatus, reason: str | None, charged: bool, allowed: bool
) -> None:
    if charged:
        model.authorize(BUYER, SELLER, ONE)
    with nullcontext() if allowed else pytest.raises(Violation, match=f"charged: {charged}, after {status}"):
        oracle._judge_purchase(Ended("pur_1", "test", BUYER.address, NONCE, status, reason, None))
