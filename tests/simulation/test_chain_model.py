"""The simulated chain beside a real EVM: the same transfers give the same verdicts of the market's own verification."""

import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount

from server.adapters.chain import JsonRpcChain
from tests.simulation.blocks import BLOCK_SECONDS
from tests.simulation.chain import SPREAD
from tests.simulation.chain_scene import BUYER, CONFIRMATIONS, NETWORK, NONCE, ONE, SELLER, STRANGER, Model, verdict
from tests.support import payment_flows
from tests.support.evm import Evm
from tools.chain.transfer_verification import InvalidReason, TransferStatus, Verification
from tools.chain.x402_payload import Authorization
from tools.chain.x402_payments import inputs_in, settles, transactions_with_nonce


@dataclass
class Real:
    """The same actions on a real EVM."""

    evm: Evm
    nonce: bytes = field(default_factory=lambda: secrets.token_bytes(32))  # the tests share the chain

    def __post_init__(self) -> None:
        self.reader = JsonRpcChain(self.evm.url, self.evm.chain_id)
        for one in (BUYER, SELLER, STRANGER):
            self.evm.node.give_gas(one.address)
            self.evm.fund(one, 10 * ONE)

    def head(self) -> int:
        return self.evm.head()

    def mine(self, blocks: int) -> None:
        self.evm.mine(blocks)

    def pay(self, payer: LocalAccount, payee: LocalAccount, amount: int) -> str:
        return payment_flows.plain(self.evm, payer, payee, amount)

    def pay_too_much(self, payer: LocalAccount, payee: LocalAccount) -> str:
        return payment_flows.reverted(self.evm, payer, payee)

    def pay_fake(self, payer: LocalAccount, payee: LocalAccount, amount: int) -> str:
        return payment_flows.fake_token(self.evm, payer, payee, amount)

    def pay_several(self, payer: LocalAccount, shares: list[tuple[LocalAccount, int]]) -> str:
        return payment_flows.several_logs(self.evm, payer, shares)

    def pay_and_return(self, payer: LocalAccount, payee: LocalAccount, amount: int, back: int) -> str:
        return payment_flows.pay_and_return(self.evm, payer, payee, amount, back)

    def authorize(self, payer: LocalAccount, payee: LocalAccount, amount: int, seconds: int = 3600) -> str:
        until = self.evm.now() + seconds
        signed = payment_flows.authorization(self.evm, payer, payee, amount, valid_before=until, nonce=self.nonce)
        return payment_flows.relayed(self.evm, STRANGER, signed)

    def used(self) -> str:
        return f"0x{self.nonce.hex()}"


Side = Model | Real


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
async def real(evm: Evm) -> AsyncIterator[Real]:
    side = Real(evm)
    yield side
    await side.reader.close()


def judged(found: Verification) -> Verification:
    """Return a verdict without the place in the chain, in which the two sides differ."""
    return replace(found, block_number=None, block_hash=None, block_time=None)


# -- the same transfers on both sides ----------------------------------------------------------------------------------


def twice(side: Side, *, again: int) -> str:
    """Relay an authorization and then another one with the same nonce."""
    side.authorize(BUYER, SELLER, ONE)
    return side.authorize(BUYER, SELLER, again)


PAID, INVALID = TransferStatus.PAID, TransferStatus.INVALID
FLOWS: dict[str, tuple[Callable[[Side], str], InvalidReason | int]] = {
    "exact": (lambda side: side.pay(BUYER, SELLER, ONE), ONE),
    "too little": (lambda side: side.pay(BUYER, SELLER, ONE - 1), ONE - 1),
    "nothing": (lambda side: side.pay(BUYER, SELLER, 0), InvalidReason.AMOUNT_TOO_LOW),
    "wrong recipient": (lambda side: side.pay(BUYER, STRANGER, ONE), InvalidReason.WRONG_RECIPIENT),
    "wrong sender": (lambda side: side.pay(STRANGER, SELLER, ONE), InvalidReason.WRONG_SENDER),
    "to itself": (lambda side: side.pay(BUYER, BUYER, ONE), InvalidReason.WRONG_RECIPIENT),
    "wrong token": (lambda side: side.pay_fake(BUYER, SELLER, ONE), InvalidReason.WRONG_ASSET),
    "failed": (lambda side: side.pay_too_much(BUYER, SELLER), InvalidReason.REVERTED),
    "several": (lambda side: side.pay_several(BUYER, [(SELLER, 3), (STRANGER, 5), (SELLER, 4)]), 7),
    "several fail as one": (
        lambda side: side.pay_several(BUYER, [(SELLER, 3), (SELLER, 10**12)]),
        InvalidReason.REVERTED,
    ),
    "half returned": (lambda side: side.pay_and_return(BUYER, SELLER, ONE, ONE // 2), ONE // 2),
    "all returned": (lambda side: side.pay_and_return(BUYER, SELLER, ONE, ONE), InvalidReason.AMOUNT_TOO_LOW),
    "authorized": (lambda side: side.authorize(BUYER, SELLER, ONE), ONE),
    "authorized twice": (lambda side: twice(side, again=ONE), InvalidReason.REVERTED),
    "one nonce for two payments": (lambda side: twice(side, again=2 * ONE), InvalidReason.REVERTED),
    "expired": (lambda side: side.authorize(BUYER, SELLER, ONE, -1), InvalidReason.REVERTED),
    "authorized by a poor wallet": (lambda side: side.authorize(BUYER, SELLER, 10**12), InvalidReason.REVERTED),
}


@pytest.mark.parametrize("name", FLOWS)
async def test_a_transfer_has_the_same_verdict_on_the_evm_and_on_the_model(name: str, real: Real, model: Model) -> None:
    flow, expected = FLOWS[name]
    on_evm, on_model = [judged(await verdict(side.reader, flow(side))) for side in (real, model)]
    assert on_model == on_evm
    paid = isinstance(expected, int)
    assert (on_model.kind, on_model.reason or on_model.amount_minor) == (PAID if paid else INVALID, expected)


async def test_confirmations_are_counted_alike(real: Real, model: Model) -> None:
    sides: tuple[Side, ...] = real, model
    sent = [(side, side.pay(BUYER, SELLER, ONE)) for side in sides]
    for confirmations in (1, 2, 3):
        found = [judged(await verdict(side.reader, one, confirmations=3)) for side, one in sent]
        assert found[0] == found[1]
        assert found[0].kind is (PAID if confirmations == 3 else TransferStatus.PENDING)
        assert found[0].confirmations == confirmations
        for side, _ in sent:
            side.mine(1)


async def test_a_transfer_before_the_obligation_is_too_old_on_both(real: Real, model: Model) -> None:
    for side in (real, model):
        transaction = side.pay(BUYER, SELLER, ONE)
        found = await verdict(side.reader, transaction, after_block=side.head())
        assert found.reason is InvalidReason.TOO_OLD


async def test_a_transaction_that_waits_is_not_found_on_both(real: Real, model: Model) -> None:
    real.evm.hold()
    try:
        on_evm = await verdict(real.reader, real.pay(BUYER, SELLER, ONE))
        on_model = await verdict(model.reader, model.chain.send_transfer(BUYER.address, SELLER.address, ONE))
        assert on_evm == on_model == Verification(TransferStatus.NOT_FOUND, required=1)
    finally:
        real.evm.release()


async def test_an_authorization_is_found_by_its_nonce_on_both(real: Real, model: Model) -> None:
    for side in (real, model):
        transaction = side.authorize(BUYER, SELLER, ONE)
        inputs = inputs_in(await side.reader.whole_block(side.head()))
        assert transactions_with_nonce(inputs, side.used()) == [transaction]
        given = Authorization(BUYER.address, SELLER.address, ONE, 0, side.used())
        assert settles(await side.reader.receipt(transaction), NETWORK.asset, given)
        assert not settles(await side.reader.receipt(transaction), NETWORK.asset, replace(given, nonce="0x" + "0" * 64))


def shape(found: Any) -> Any:
    """Return the types of the members, and the first letters of the texts."""
    if isinstance(found, dict):
        return {name: shape(member) for name, member in found.items()}
    return [shape(one) for one in found] if isinstance(found, list) else (type(found), str(found)[:2])


def without_place(log: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in log.items() if "lock" not in name and "ransaction" not in name}


async def test_the_model_answers_in_the_form_of_a_node(real: Real, model: Model) -> None:
    answers = []
    for side in (real, model):
        receipt: Any = await side.reader.receipt(side.authorize(BUYER, SELLER, ONE))
        whole: Any = await side.reader.whole_block(side.head())
        short: Any = await side.reader.block(side.head())
        assert short.pop("transactions") == [receipt["transactionHash"]]
        answers.append([receipt, *whole.pop("transactions"), whole, short])
    for on_evm, on_model in zip(*answers, strict=True):
        assert shape(on_model) == {name: shape(on_evm[name]) for name in on_model}
    used, moved = zip(*[map(without_place, receipt["logs"]) for receipt, *_ in answers], strict=True)
    assert moved[0] == moved[1]
    assert used[0]["topics"][:2] == used[1]["topics"][:2]


# -- blocks ------------------------------------------------------------------------------------------------------------


async def test_blocks_follow_the_clock_and_name_their_parents(model: Model) -> None:
    first = await model.reader.head()
    model.clock.pass_seconds(BLOCK_SECONDS * 5 + 1)
    assert await model.reader.head() == first + 5
    blocks: list[Any] = [await model.reader.block(number) for number in range(first, first + 6)]
    for before, after in pairwise(blocks):
        assert after["parentHash"] == before["hash"] != after["hash"]
        assert int(after["timestamp"], 16) == int(before["timestamp"], 16) + BLOCK_SECONDS
    assert await model.reader.block(first + 6) is None
    model.clock.pass_seconds(-BLOCK_SECONDS * 4)
    assert model.chain.head() == first + 5


async def test_a_transfer_is_mined_within_the_next_blocks_and_moves_the_money(model: Model) -> None:
    head, sent = model.head(), [model.chain.send_transfer(BUYER.address, SELLER.address, 1) for _ in range(20)]
    assert model.chain.transfers() == []
    model.mine(SPREAD)
    assert sorted(one.hash for one in model.chain.transfers()) == sorted(sent)
    assert {one.block_number - head for one in model.chain.transfers()} == set(range(1, SPREAD + 1))
    assert len({(one.block_number, one.log_index) for one in model.chain.transfers()}) == 20
    assert (model.chain.balance(BUYER.address), model.chain.balance(SELLER.address)) == (10 * ONE - 20, 10 * ONE + 20)


def shown(seed: int) -> list[Any]:
    """Return all that a chain shows after the same calls."""
    model = Model(seed)
    for place in range(60):
        model.chain.send_transfer(BUYER.address, SELLER.address, place)
        model.clock.pass_seconds(3)
        if place % 20 == 10:
            model.chain.reorg(5)
    view = model.chain.view()
    return [list(model.chain.transfers()), [model.chain.block(view, number, whole=True) for number in range(view.top)]]


def test_one_seed_gives_one_chain() -> None:
    assert shown(5) == shown(5)
    assert shown(5) != shown(6)


# -- reorgs ------------------------------------------------------------------------------------------------------------


async def test_a_reorg_below_the_confirmations_takes_nothing_that_was_final(model: Model) -> None:
    transaction = model.pay(BUYER, SELLER, ONE)
    model.mine(CONFIRMATIONS - 1)
    assert model.chain.is_final(transaction)
    before = await verdict(model.reader, transaction, confirmations=CONFIRMATIONS)
    assert model.chain.reorg(CONFIRMATIONS - 1) == []
    assert await verdict(model.reader, transaction, confirmations=CONFIRMATIONS) == before
    assert before.kind is PAID


async def test_a_reorg_beyond_the_confirmations_takes_a_payment_and_its_money_back(model: Model) -> None:
    transaction = model.pay(BUYER, SELLER, ONE)
    model.mine(CONFIRMATIONS)
    number, before = model.head(), await verdict(model.reader, transaction, confirmations=CONFIRMATIONS)
    assert before.kind is PAID
    assert model.chain.reorg(CONFIRMATIONS + 1, lost=1) == [transaction]
    model.mine(20)
    assert (await verdict(model.reader, transaction)).kind is TransferStatus.NOT_FOUND
    assert not model.chain.is_final(transaction)
    assert model.chain.balance(SELLER.address) == 10 * ONE
    assert model.chain.transfers() == []
    replaced: Any = await model.reader.block(number)
    following: Any = await model.reader.block(number + 1)
    assert following["parentHash"] == replaced["hash"]


def test_what_a_reorg_does_not_lose_is_mined_again_once(model: Model) -> None:
    sent = [model.chain.send_transfer(BUYER.address, SELLER.address, 1) for _ in range(100)]
    model.mine(SPREAD)
    places = {one.hash: (one.block_number, one.log_index) for one in model.chain.transfers()}
    assert sorted(model.chain.reorg(SPREAD)) == sorted(sent)
    model.mine(2 * SPREAD)
    again = {one.hash: (one.block_number, one.log_index) for one in model.chain.transfers()}
    assert len(again) == len(model.chain.transfers())
    assert 0 < len(sent) - len(again) < 50
    assert set(again) < set(sent)
    assert any(places[one] != again[one] for one in again)
    assert model.chain.balance(SELLER.address) == 10 * ONE + len(again)


def test_a_nonce_is_free_again_once_a_reorg_has_lost_its_transaction(model: Model) -> None:
    model.authorize(BUYER, SELLER, ONE)
    assert model.chain.is_used(BUYER.address, NONCE)
    model.chain.reorg(1, lost=1)
    assert not model.chain.is_used(BUYER.address, NONCE)
    model.authorize(BUYER, SELLER, ONE)
    assert [one.amount for one in model.chain.transfers()] == [ONE]
