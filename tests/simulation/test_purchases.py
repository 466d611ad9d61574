"""The model of purchases agrees with right answers about signed payments, and refuses each wrong one."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from tests.simulation.chain_scene import BUYER, CONFIRMATIONS, NONCE, SELLER
from tests.simulation.chain_scene import Model as Scene
from tests.simulation.model import Model, Observation, Rule, Violation
from tests.simulation.model.purchases import NOT_DELIVERED, TIMEOUT, USED

BEGIN = datetime(2027, 1, 1, tzinfo=UTC)
PAYEE, PAYER, AMOUNT = "0x" + "aA" * 20, "0x" + "Bb" * 20, 250_000
NETWORK, ASSET = "eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
LISTING, WORK = "lst_desk", {"english": "good day"}
Step = tuple[int, Any, str | None, Mapping[str, Any]]  # status, body, signed payment, input


def signed(nonce: str = "0x01", amount: int = AMOUNT) -> str:
    """Return the header of a payment that is valid for 900 seconds."""
    until = str(int(BEGIN.timestamp()) + 900)
    given = {"from": PAYER, "to": PAYEE, "value": str(amount), "validBefore": until, "nonce": nonce}
    return b64encode(orjson.dumps({"payload": {"authorization": given}})).decode()


def terms(**changes: Any) -> Step:
    accepted = {"scheme": "exact", "network": NETWORK, "asset": ASSET, "amount": str(AMOUNT), "payTo": PAYEE} | changes
    older = {"maxAmountRequired": str(AMOUNT), "payTo": PAYEE, "asset": ASSET}
    body = {
        "object": "x402_quote",
        "error": "Payment required",
        "accepts": [older],
        "required": {"accepts": [accepted]},
    }
    return 402, body, None, {}


def result(paid: str, *, job: str = "job_1", output: Any = None, account: Sequence[str] = (), **changes: Any) -> Step:
    body = {
        "object": "x402_result", "job_id": job, "output": output or WORK,
        "paid": {"amount": AMOUNT, "transaction": "0xt1", "payer": PAYER, "pay_to": PAYEE} | changes,
        "account": dict.fromkeys(("agent_id", "claimed", "claim", *account)),
    }  # fmt: skip
    return 200, body, paid, {}


def refused(code: str, paid: str | None, order: Mapping[str, Any] | None = None, **details: Any) -> Step:
    return 409, {"error": {"code": code, "details": {"job_id": "job_1"} | details}}, paid, order or {}


def replay(*steps: Step, pause: int = 2) -> Model:
    """Show the answers to a model, one after another."""
    model = Model(oldest=lambda: float("inf"))
    for number, (status, body, paid, order) in enumerate(steps):
        began = BEGIN + timedelta(seconds=pause * number)
        given = {"listing_id": LISTING, "input": order} | ({"signed_payment": paid} if paid else {})
        seen = (number, None, "test", "buy_with_x402", given, None, status, body, began, began + timedelta(seconds=1))
        model.observe(Observation(*seen, after=number))
    return model


ONE, OTHER = signed(), signed("0x02")
RIGHT: dict[str, tuple[Step, ...]] = {
    "one result, asked for twice": (terms(), result(ONE), result(ONE)),
    "a busy payment": (terms(), refused("x402_authorization_in_use", ONE), result(ONE)),
    "another order": (terms(), result(ONE), refused(USED, ONE, {"text": "other"})),
    "a failure, asked for twice": (terms(), refused(NOT_DELIVERED, ONE), refused(NOT_DELIVERED, ONE)),
    "two payments": (terms(), result(ONE), result(OTHER, job="job_2", transaction="0xt2")),
}
WRONG: dict[str, tuple[Rule, tuple[Step, ...]]] = {
    "another amount in version 2": (Rule.OFFERED, (terms(amount="1"),)),
    "another token": (Rule.OFFERED, (terms(asset="0x" + "1" * 40),)),
    "a result without a payment": (Rule.PURCHASE, ((*result(ONE)[:2], None, {}),)),
    "another sum than the signed one": (Rule.PURCHASE, (result(signed(amount=1)),)),
    "a key in the account": (Rule.PURCHASE, (result(ONE, account=["api_keys"]),)),
    "two jobs of one payment": (Rule.PURCHASE, (result(ONE), result(ONE, job="job_2"))),
    "two results of one payment": (Rule.PURCHASE, (result(ONE), result(ONE, output={"english": "bye"}))),
    "one job of two payments": (Rule.PURCHASE, (result(ONE), result(OTHER, transaction="0xt2"))),
    "one transaction for two purchases": (Rule.TRANSFER, (result(ONE), result(OTHER, job="job_2"))),
    "a result after a failure": (Rule.UNCHARGED, (refused(TIMEOUT, ONE), result(ONE))),
    "a failure after a result": (Rule.PURCHASE, (result(ONE), refused(TIMEOUT, ONE))),
    "two failures": (Rule.PURCHASE, (refused(TIMEOUT, ONE), refused(NOT_DELIVERED, ONE))),
    "a result that is gone": (Rule.PURCHASE, (result(ONE), refused("x402_authorization_in_use", ONE))),
    "a payment refused as used": (Rule.REFUSAL, (refused(USED, ONE),)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_model_agrees_with_right_answers(name: str) -> None:
    assert replay(*RIGHT[name]).purchases.known


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_about_a_purchase_breaks_its_rule(name: str) -> None:
    rule, steps = WRONG[name]
    with pytest.raises(Violation) as found:
        replay(*steps)
    assert found.value.rule is rule, found.value


@pytest.mark.parametrize(
    ("steps", "charged"),
    [
        ((refused("x402_authorization_in_use", ONE),), None),
        ((result(ONE),), True),
        ((refused(TIMEOUT, ONE),), False),
        ((refused(NOT_DELIVERED, ONE, transaction="0xt1"),), True),
    ],
)
def test_an_end_says_if_the_payment_was_taken(steps: tuple[Step, ...], charged: bool | None) -> None:
    (purchase,) = replay(*steps).purchases.known.values()
    assert purchase.is_charged is charged


@pytest.mark.parametrize("blocks", [1, CONFIRMATIONS])
def test_a_payment_that_a_reorg_removes_counts_if_it_was_confirmed(blocks: int) -> None:
    scene = Scene()
    transaction = scene.authorize(BUYER, SELLER, AMOUNT)
    given = BUYER.address, NONCE, transaction
    scene.mine(blocks - 1)
    assert scene.chain.was_charged(*given)
    scene.chain.reorg(blocks, lost=1)
    assert scene.chain.was_charged(*given) is (blocks >= CONFIRMATIONS)


def test_an_order_whose_client_was_gone_for_a_minute_may_have_ended() -> None:
    assert replay(refused("x402_authorization_in_use", ONE), refused(USED, ONE), pause=60)
