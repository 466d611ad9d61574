"""Faults of the simulated nodes and facilitator: each one happens, is labelled, and ends when it is switched off."""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from eth_account.messages import encode_typed_data

from tests.simulation.chain_scene import (
    ALL,
    BUYER,
    CONFIRMATIONS,
    NETWORK,
    NONCE,
    ONE,
    SELLER,
    STRANGER,
    WALLET,
    Model,
    asked,
    under_faults,
    verdict,
)
from tests.simulation.facilitator import FacilitatorFaults, SimulatedFacilitator
from tests.simulation.nodes import LIES, PATIENCE_SECONDS, STALE, Faults
from tools.chain.chain_reads import receipt_of
from tools.chain.erc8004 import OWNER_OF, TOKEN_URI, call_data, identity
from tools.chain.node_answers import InvalidNodeAnswer
from tools.chain.transfer_verification import ChainDown, TransferStatus
from tools.chain.wallet_proof import eip191_hash, eip1271_call, eip1271_holds
from tools.chain.x402_payload import Authorization, Token, requirements, settle_body
from tools.engine.ports import SettleNotSent, SettleResult, SettleUnknown

ROOT = Path(__file__).parents[2]


@pytest.fixture
def model() -> Model:
    return Model()


# -- contracts ---------------------------------------------------------------------------------------------------------


async def test_a_contract_wallet_accepts_the_signature_of_its_owner_only(model: Model) -> None:
    digest = eip191_hash("a text")
    model.chain.register_wallet(WALLET, BUYER.address)
    for signer, holds in ((BUYER, True), (SELLER, False)):
        signature = f"0x{bytes(signer.unsafe_sign_hash(digest).signature).hex()}"
        assert eip1271_holds(await model.reader.call(WALLET, eip1271_call(digest, signature))) is holds
        assert await model.reader.call(STRANGER.address, eip1271_call(digest, signature)) == "0x"


@pytest.mark.parametrize("uri", ["", "https://market.test/agents/a/erc8004.json", "ä" * 40])
async def test_the_registry_answers_the_owner_and_the_uri_of_a_token(model: Model, uri: str) -> None:
    registry = NETWORK.identity_registry
    model.chain.register_identity(7, SELLER.address, uri)
    owner, text = [await model.reader.call(registry, call_data(one, "7")) for one in (OWNER_OF, TOKEN_URI)]
    found = identity("7", owner, text)
    assert (found.owner, found.uri) == (SELLER.address, uri)
    model.chain.burn_identity(7)
    assert await model.reader.call(registry, call_data(OWNER_OF, "7")) is None


# -- nodes -------------------------------------------------------------------------------------------------------------


async def test_every_lie_is_made_and_labelled_and_nodes_fail_now_and_then() -> None:
    answers, lies = await under_faults()
    assert {one.kind for one in lies} == {STALE, *(kind for method in LIES for kind in LIES[method])}
    assert 0.01 < sum(one.startswith("down") for one in answers) / len(answers) < 0.3


def test_one_seed_gives_the_same_answers_and_lies_in_every_process() -> None:
    program = (
        "import asyncio; from tests.simulation.chain_scene import under_faults; print(asyncio.run(under_faults()))"
    )
    hashing = {"PYTHONHASHSEED": "7"}  # changes the order of sets of texts
    other = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=os.environ | hashing, capture_output=True, text=True, check=True
    )
    assert other.stdout == f"{asyncio.run(under_faults())}\n"


async def test_once_healed_the_nodes_tell_the_truth(model: Model) -> None:
    model.nodes.faults = ALL
    await asked(model, 50)
    model.nodes.heal()
    reader, known = model.nodes.reader(model.clock), len(model.nodes.lies)
    transaction = model.pay(BUYER, SELLER, ONE)
    model.mine(CONFIRMATIONS)
    for _ in range(100):
        receipt: Any = await reader.receipt(transaction)
        block: Any = await reader.block(int(receipt["blockNumber"], 16))
        assert (receipt["status"], block["hash"]) == ("0x1", receipt["blockHash"])
        assert await reader.head() == model.head()
    assert len(model.nodes.lies) == known


async def test_lies_never_settle_what_was_not_paid(model: Model) -> None:
    paid, other = model.pay(BUYER, SELLER, ONE), model.pay(BUYER, STRANGER, ONE)
    unknown = model.chain.new_hash()
    model.mine(CONFIRMATIONS)
    model.nodes.faults = Faults(lies=0.4)
    kinds: dict[str, Counter[TransferStatus]] = {one: Counter() for one in (paid, other, unknown)}
    for _ in range(300):
        for transaction, seen in kinds.items():
            model.clock.pass_seconds(3)
            with suppress(ChainDown, InvalidNodeAnswer):
                found = await verdict(model.reader, transaction, confirmations=CONFIRMATIONS)
                seen[found.kind] += 1
                assert found.amount_minor in (0, ONE)
    assert kinds[paid][TransferStatus.PAID] > 0
    assert kinds[other][TransferStatus.PAID] == kinds[unknown][TransferStatus.PAID] == 0


async def test_a_node_that_is_behind_does_not_know_the_newest_blocks(model: Model) -> None:
    model.nodes.faults = Faults(nodes=8, lag=4)
    transaction, heads, receipts = model.pay(BUYER, SELLER, ONE), set(), set()
    model.mine(2)
    for _ in range(60):
        heads.add(await model.nodes.reader(model.clock).head() - model.head())
        receipts.add(await model.nodes.reader(model.clock).receipt(transaction) is None)
    assert heads <= {0, -1, -2, -3, -4}
    assert len(heads) > 1
    assert receipts == {True, False}
    assert model.nodes.lies == []


async def test_a_node_that_hides_receipts_still_shows_their_blocks(model: Model) -> None:
    model.nodes.faults = Faults(hides=0.5)
    transaction, hidden = model.pay(BUYER, SELLER, ONE), 0
    for _ in range(40):
        block: Any = await model.reader.block(model.head())
        assert block["transactions"] == [transaction]
        hidden += await model.reader.receipt(transaction) is None
    assert 0 < hidden < 40
    assert model.nodes.lies == []


async def test_a_node_on_a_fork_shows_what_a_reorg_replaced_and_that_is_labelled(model: Model) -> None:
    transaction = model.pay(BUYER, SELLER, ONE)
    model.chain.reorg(1, lost=1)
    model.mine(1)
    model.nodes.faults = Faults(nodes=8, lag=1, forked=True)
    answers = [await model.nodes.reader(model.clock).receipt(transaction) for _ in range(40)]
    shown = [one for one in answers if one is not None]
    assert 0 < len(shown) < 40
    assert [(one.about, one.kind) for one in model.nodes.lies] == [(transaction, STALE)] * len(shown)
    model.mine(1)
    assert [await model.nodes.reader(model.clock).receipt(transaction) for _ in range(40)] == [None] * 40


async def test_a_node_that_is_behind_on_a_fork_never_confirms_a_lost_payment(model: Model) -> None:
    model.nodes.faults = Faults(nodes=4, lag=CONFIRMATIONS, forked=True)
    confirmed = Counter[bool]()  # by whether a reorg lost the payment
    for place in range(150):
        transaction = model.pay(BUYER, SELLER, 1)
        model.mine(place % 2)
        model.chain.reorg(CONFIRMATIONS - 1, lost=0.5)
        for _ in range(8):
            found = await verdict(model.reader, transaction, confirmations=CONFIRMATIONS)
            confirmed[not model.chain.confirmations(transaction)] += found.kind is TransferStatus.PAID
            model.mine(1)
    assert confirmed[False] > 100
    assert confirmed[True] == 0


async def test_a_search_never_passes_over_a_payment_because_a_node_hides_its_logs(model: Model) -> None:
    paid, refused = model.pay(BUYER, SELLER, ONE), 0
    model.pay(BUYER, STRANGER, ONE)
    model.nodes.faults = Faults(lies=1)
    for _ in range(200):
        model.clock.pass_seconds(3)
        try:
            receipt: Any = await receipt_of(model.reader, paid, NETWORK.asset)
        except InvalidNodeAnswer:
            refused += 1
        else:
            assert (receipt["transactionHash"], len(receipt["logs"])) == (paid, 1)
    assert {one.kind for one in model.nodes.lies} >= {"no_logs", "another_hash"}
    assert refused == len(model.nodes.lies)


async def test_a_slow_node_answers_late_or_not_at_all(model: Model) -> None:
    model.nodes.faults = Faults(slow=1, slow_seconds=2 * PATIENCE_SECONDS)
    waited = {True: 0.0, False: 0.0}
    for _ in range(40):
        began, answered = model.clock.monotonic(), True
        try:
            await model.reader.head()
        except ChainDown:
            answered = False
        waited[answered] = max(waited[answered], model.clock.monotonic() - began)
    assert 1 < waited[True] < PATIENCE_SECONDS == pytest.approx(waited[False])


# -- facilitator -------------------------------------------------------------------------------------------------------


def facilitator(model: Model, **faults: float) -> SimulatedFacilitator:
    made = SimulatedFacilitator(model.chain, Random(4), model.sleep)
    made.faults = FacilitatorFaults(**faults)
    return made


def body(model: Model, *, signer: Any = BUYER, amount: int = ONE, seconds: int = 900, **changed: Any) -> dict[str, Any]:
    """Return what the market sends to a facilitator for a payment from the buyer to the seller."""
    token = Token(NETWORK.id, NETWORK.chain_id, NETWORK.asset, NETWORK.asset_name, NETWORK.asset_version)
    until = int(model.clock.now().timestamp()) + seconds
    given = Authorization(BUYER.address, SELLER.address, amount, until, NONCE)
    signed = signer.sign_message(encode_typed_data(full_message=given.typed_data(token)))
    asked_for = requirements(token, SELLER.address, amount) | changed
    return settle_body({"url": "https://market.test"}, asked_for, given, f"0x{bytes(signed.signature).hex()}")


async def test_an_honest_facilitator_makes_exactly_the_payment(model: Model) -> None:
    honest, given = facilitator(model), body(model)
    assert await honest.verify(given) is None
    said = await honest.settle(given)
    assert said.transaction is not None
    model.mined(said.transaction)
    assert (await verdict(model.reader, said.transaction)).amount_minor == ONE
    used = SettleResult(None, "invalid_exact_evm_nonce_already_used")
    assert await honest.settle(given) == used
    assert len(model.chain.transfers()) == 1


async def test_two_facilitators_that_send_one_authorization_move_the_money_once(model: Model) -> None:
    given = body(model)
    sent = [(await facilitator(model).settle(given)).transaction for _ in range(2)]
    model.mine(5)
    assert len(set(sent)) == 2
    assert [one.amount for one in model.chain.transfers()] == [ONE]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"signer": STRANGER}, "invalid_exact_evm_signature"),
        ({"amount": 10**12}, "invalid_exact_evm_insufficient_balance"),
        ({"seconds": 0}, "invalid_exact_evm_payload_authorization_valid_before"),
        ({"payTo": STRANGER.address}, "invalid_exact_evm_payload_recipient_mismatch"),
        ({"amount": ONE, "asset": STRANGER.address}, "invalid_exact_evm_payload_recipient_mismatch"),
        ({"payTo": 5}, "invalid_payload"),
    ],
)
async def test_a_payment_that_the_chain_would_not_take_is_refused(model: Model, changed: Any, reason: str) -> None:
    given = body(model, **changed)
    assert await facilitator(model).verify(given) == reason
    assert await facilitator(model).settle(given) == SettleResult(None, reason)
    model.mine(5)
    assert model.chain.transfers() == []


async def test_a_contract_wallet_pays_with_its_owners_signature(model: Model) -> None:
    model.chain.register_wallet(BUYER.address, STRANGER.address)
    assert await facilitator(model).verify(body(model, signer=STRANGER)) is None


@pytest.mark.parametrize(
    ("fault", "raised", "payments"),
    [("not_sent", SettleNotSent, 0), ("unknown", SettleUnknown, 0), ("lost", SettleUnknown, 1)],
)
async def test_an_answer_that_does_not_come_says_nothing_about_the_payment(
    model: Model, fault: str, raised: type[Exception], payments: int
) -> None:
    with pytest.raises(raised):
        await facilitator(model, **{fault: 1}).verify(body(model))
    with pytest.raises(raised):
        await facilitator(model, **{fault: 1}).settle(body(model))
    model.mine(5)
    assert len(model.chain.transfers()) == payments


async def test_a_facilitator_that_lies_names_no_payment_or_another_one(model: Model) -> None:
    other = model.pay(BUYER, STRANGER, ONE)
    never = await facilitator(model, never_mined=1).settle(body(model))
    assert never.transaction is not None
    assert await facilitator(model, another_hash=1).settle(body(model)) == SettleResult(other, None)
    refused = await facilitator(model, refuses=1).settle(body(model))
    assert (refused.transaction, refused.refusal) == (None, "unexpected_settle_error")
    model.mine(5)
    assert (await verdict(model.reader, never.transaction)).kind is TransferStatus.NOT_FOUND
    assert [one.hash for one in model.chain.transfers()] == [other]
    denied = await facilitator(model, denies=1).settle(body(model))
    assert denied == SettleResult(None, "settle_failed")
    model.mine(5)
    assert len(model.chain.transfers()) == 2


async def test_a_slow_facilitator_is_honest_and_a_healed_one_is_fast(model: Model) -> None:
    slow = facilitator(model, slow=1)
    began = model.clock.monotonic()
    assert await slow.verify(body(model)) is None
    waited = model.clock.monotonic() - began
    slow.heal()
    assert await slow.verify(body(model)) is None
    assert model.clock.monotonic() - began == waited > 0
