"""Every verdict on a payment, each from a transaction on a real chain. No receipt is written by hand."""

from collections.abc import AsyncIterator, Callable

import pytest
from eth_account import Account

from tests.requirements import covers
from tests.support import payment_flows
from tests.support.evm import Evm, pack
from tests.support.payment_flows import Move, Wallet
from tests.support.payment_scene import ONE, Scene, open_scene
from tools.chain.transfer_verification import InvalidReason, TransferStatus, Verification

NOBODYS = "0x" + "11" * 32


@pytest.fixture
async def scene(evm: Evm) -> AsyncIterator[Scene]:
    async with open_scene(evm) as opened:
        yield opened


# -- payments ----------------------------------------------------------------------------------------------------------


async def test_a_plain_transfer_is_a_payment_under_every_spelling_of_its_hash(scene: Scene) -> None:
    transaction = scene.pay()
    for spelling in (transaction, transaction[2:].upper(), "0x" + transaction[2:].upper()):
        assert await scene.verdict(spelling) == scene.paid(transaction)


async def test_three_reads_are_made_and_the_block_is_the_last(scene: Scene) -> None:
    await scene.verdict(scene.pay())
    assert [question["method"] for question in scene.node.questions if question["method"] != "eth_chainId"] == [
        "eth_getTransactionReceipt",
        "eth_blockNumber",
        "eth_getBlockByNumber",
    ]


async def test_any_amount_above_nothing_is_told_as_it_is(scene: Scene) -> None:
    for amount_minor in (1, ONE + 1, 5 * ONE):
        transaction = scene.pay(amount_minor)
        assert await scene.verdict(transaction) == scene.paid(transaction, amount_minor)


async def test_several_transfers_of_one_transaction_add_up(scene: Scene) -> None:
    other = scene.evm.person(gas=False)
    shares = [(scene.seller, 600_000), (other, 1), (scene.seller, 400_000)]
    transaction = payment_flows.several_logs(scene.evm, scene.buyer, shares)
    assert await scene.verdict(transaction) == scene.paid(transaction)


@covers("pay.8.smart_wallet")
async def test_a_smart_wallet_pays_and_its_owner_does_not(scene: Scene) -> None:
    wallet = scene.wallet()
    transaction = payment_flows.smart_wallet_pays(scene.evm, wallet, scene.seller, ONE)
    payers = (wallet.address,)
    assert await scene.verdict(transaction, payers=payers) == scene.paid(transaction, payers=payers)
    owners = (wallet.owner.address,)
    assert await scene.verdict(transaction, payers=owners) == scene.invalid(transaction, InvalidReason.WRONG_SENDER)


@covers("pay.9.authorization")
async def test_a_signed_authorization_that_somebody_else_sends_is_the_signers_payment(scene: Scene) -> None:
    evm, seller = scene.evm, scene.seller
    gasless, relayer = evm.person(10 * ONE, gas=False), evm.person()
    payers = (gasless.address,)
    first, second = (payment_flows.authorization(evm, gasless, seller, ONE) for _ in range(2))
    collected = payment_flows.authorization(evm, gasless, seller, ONE, kind="ReceiveWithAuthorization")
    for transaction in (
        payment_flows.relayed(evm, relayer, first),
        payment_flows.relayed_in_parts(evm, relayer, second),
        payment_flows.received(evm, seller, collected),
    ):
        assert await scene.verdict(transaction, payers=payers) == scene.paid(transaction, payers=payers)
    again = payment_flows.relayed(evm, relayer, first)
    assert await scene.verdict(again, payers=payers) == scene.invalid(again, InvalidReason.REVERTED)


async def test_m2_the_wallets_of_before_and_of_now_are_both_accepted(scene: Scene) -> None:
    evm = scene.evm
    other_buyer, other_seller, stranger = evm.person(10 * ONE), evm.person(gas=False), evm.person(ONE)
    wide = {
        "payers": (other_buyer.address, scene.buyer.address),
        "payees": (scene.seller.address, other_seller.address.lower()),
    }
    for payer in (other_buyer, scene.buyer):
        for payee in (scene.seller, other_seller):
            transaction = payment_flows.plain(evm, payer, payee, ONE)
            pair = {"payers": (payer.address,), "payees": (payee.address,)}
            assert await scene.verdict(transaction, **wide) == scene.paid(transaction, **pair)
    strange = payment_flows.plain(evm, stranger, other_seller, ONE)
    assert await scene.verdict(strange, **wide) == scene.invalid(strange, InvalidReason.WRONG_SENDER)


# --- returns in the same transaction
# ----------------------------------------------------------------------------------

NET_FLOWS: dict[str, tuple[Callable[[Scene, Wallet], str], int]] = {
    "swap then pay": (lambda scene, wallet: payment_flows.swap_then_pay(scene.evm, wallet, scene.seller, ONE), ONE),
    "flash loan": (lambda scene, wallet: payment_flows.flash_loan(scene.evm, wallet, scene.seller, ONE), 0),
    "round trip": (lambda scene, wallet: payment_flows.round_trip(scene.evm, wallet, scene.seller, ONE), 0),
    "third party": (lambda s, wallet: payment_flows.third_party_return(s.evm, wallet, s.seller, ONE, 300_000), 700_000),
    "all by a third party": (lambda s, wallet: payment_flows.third_party_return(s.evm, wallet, s.seller, ONE, ONE), 0),
    "more by a third party": (
        lambda s, wallet: payment_flows.third_party_return(s.evm, wallet, s.seller, ONE, 2 * ONE),
        0,
    ),
    "returned first": (lambda s, wallet: payment_flows.returned_first(s.evm, wallet, s.seller, ONE, 300_000), 700_000),
}


@pytest.mark.parametrize("name", NET_FLOWS)
async def test_m4_only_what_the_seller_keeps_is_paid(scene: Scene, name: str) -> None:
    flow, kept_minor = NET_FLOWS[name]
    wallet = scene.wallet()
    transaction, payers = flow(scene, wallet), (wallet.address,)
    paid = scene.paid(transaction, kept_minor, payers=payers)
    nothing = scene.invalid(transaction, InvalidReason.AMOUNT_TOO_LOW)
    assert await scene.verdict(transaction, payers=payers) == (paid if kept_minor else nothing)


@pytest.mark.parametrize(("sent_minor", "back_minor"), [(ONE, 0), (1_300_000, 300_000), (ONE, 999_999), (ONE, ONE)])
@covers("pay.2.net")
async def test_m4_pay_and_return_is_worth_the_difference(scene: Scene, sent_minor: int, back_minor: int) -> None:
    transaction = payment_flows.pay_and_return(scene.evm, scene.buyer, scene.seller, sent_minor, back_minor)
    paid = scene.paid(transaction, sent_minor - back_minor)
    nothing = scene.invalid(transaction, InvalidReason.AMOUNT_TOO_LOW)
    assert await scene.verdict(transaction) == (paid if sent_minor > back_minor else nothing)


async def test_m4_a_return_from_the_sellers_other_wallet_to_the_buyers_other_one_is_a_return(scene: Scene) -> None:
    wallet, other_buyer, other_seller = scene.wallet(), scene.evm.person(gas=False), scene.evm.person(ONE)
    wide = {
        "payers": (wallet.address, other_buyer.address),
        "payees": (scene.seller.address, other_seller.address),
    }
    steps: list[Move] = [(wallet.address, scene.seller, ONE), (other_seller, other_buyer, ONE)]
    transaction = payment_flows.moves(scene.evm, wallet, steps)
    assert await scene.verdict(transaction, **wide) == scene.invalid(transaction, InvalidReason.AMOUNT_TOO_LOW)


async def test_a_seller_that_is_paid_by_others_too_is_paid_no_more_by_the_buyer(scene: Scene) -> None:
    wallet, other = scene.wallet(), scene.evm.person(5 * ONE)
    steps: list[Move] = [
        (other, scene.seller, 5 * ONE),
        (wallet.address, scene.seller, ONE),
        (wallet.address, other, 1),
    ]
    transaction, payers = payment_flows.moves(scene.evm, wallet, steps), (wallet.address,)
    assert await scene.verdict(transaction, payers=payers) == scene.paid(transaction, payers=payers)


async def test_logs_of_other_contracts_change_nothing_however_large(scene: Scene) -> None:
    evm, wallet, seller = scene.evm, scene.wallet(), scene.seller.address
    fake = evm.shared("FakeToken")
    spoof = pack("spoof(address,address,uint256)", seller, wallet.address, 2**256 - 1)
    calls = [(fake, 0, spoof), (evm.usdc, 0, pack("transfer(address,uint256)", seller, ONE)), (fake, 0, spoof)]
    transaction = evm.send(wallet.owner, wallet.address, pack("executeBatch((address,uint256,bytes)[])", calls))
    payers = (wallet.address,)
    assert len(evm.receipt(transaction)["logs"]) == 3
    assert await scene.verdict(transaction, payers=payers) == scene.paid(transaction, payers=payers)


# --- transactions that are no payment
# ---------------------------------------------------------------------------------

WRONG_FLOWS: dict[str, tuple[Callable[[Scene], str], InvalidReason]] = {
    "reverted": (lambda s: payment_flows.reverted(s.evm, s.buyer, s.seller), InvalidReason.REVERTED),
    "fake token": (lambda s: payment_flows.fake_token(s.evm, s.buyer, s.seller, ONE), InvalidReason.WRONG_ASSET),
    "other token": (lambda s: payment_flows.other_token(s.evm, s.buyer, s.seller, ONE), InvalidReason.WRONG_ASSET),
    "approval": (lambda s: payment_flows.approve_only(s.evm, s.buyer, s.seller, ONE), InvalidReason.WRONG_ASSET),
    "coins": (lambda s: payment_flows.coins_only(s.evm, s.buyer, s.seller, ONE), InvalidReason.WRONG_ASSET),
    "a deployment": (lambda s: s.evm.send(s.buyer, None, bytes.fromhex("60006000f3")), InvalidReason.WRONG_ASSET),
    "to a stranger": (
        lambda s: payment_flows.plain(s.evm, s.buyer, s.evm.person(gas=False), ONE),
        InvalidReason.WRONG_RECIPIENT,
    ),
    "to itself": (lambda s: payment_flows.self_transfer(s.evm, s.buyer, ONE), InvalidReason.WRONG_RECIPIENT),
    "seller to itself": (lambda s: payment_flows.self_transfer(s.evm, s.seller, ONE), InvalidReason.WRONG_SENDER),
    "seller to buyer": (lambda s: payment_flows.plain(s.evm, s.seller, s.buyer, ONE), InvalidReason.WRONG_RECIPIENT),
    "from a stranger": (
        lambda s: payment_flows.plain(s.evm, s.evm.person(ONE), s.seller, ONE),
        InvalidReason.WRONG_SENDER,
    ),
    "minted": (lambda s: s.evm.fund(s.seller, ONE), InvalidReason.WRONG_SENDER),
    "router": (lambda s: payment_flows.through_router(s.evm, s.buyer, s.seller, ONE), InvalidReason.WRONG_SENDER),
    "nothing": (lambda s: s.pay(0), InvalidReason.AMOUNT_TOO_LOW),
}


@pytest.mark.parametrize("name", WRONG_FLOWS)
@covers("pay.2.succeeded", "pay.2.asset", "pay.2.recipient", "pay.2.sender")
async def test_what_is_no_payment_is_told_with_its_reason_before_it_is_confirmed(scene: Scene, name: str) -> None:
    flow, reason = WRONG_FLOWS[name]
    transaction = flow(scene)
    assert await scene.verdict(transaction, confirmations=3) == scene.invalid(transaction, reason, confirmations=3)


async def test_paying_oneself_is_a_self_payment_whatever_the_transaction(scene: Scene) -> None:
    payees = (scene.buyer.address.lower(),)
    for transaction in (payment_flows.self_transfer(scene.evm, scene.buyer, ONE), scene.pay(), NOBODYS):
        told = await scene.verdict(transaction, payees=payees)
        assert told == Verification(TransferStatus.INVALID, required=1, reason=InvalidReason.SELF_PAYMENT)


async def test_paying_a_wallet_that_both_sides_proved_is_a_self_payment(scene: Scene) -> None:
    wide = {
        "payers": (scene.buyer.address, scene.seller.address),
        "payees": (scene.seller.address, Account.create().address),
    }
    transaction = scene.pay()
    assert await scene.verdict(transaction, **wide) == scene.invalid(transaction, InvalidReason.SELF_PAYMENT)


# -- before the job ----------------------------------------------------------------------------------------------------


@covers("pay.2.mined_after")
async def test_a_transfer_is_too_old_up_to_the_head_that_was_known_and_good_from_the_next_block(scene: Scene) -> None:
    transaction = scene.pay()
    known = await scene.chain.head()
    assert await scene.verdict(transaction, after_block=known) == scene.invalid(transaction, InvalidReason.TOO_OLD)
    assert await scene.verdict(transaction, after_block=known - 1) == scene.paid(transaction)


@covers("pay.2.mined_after")
async def test_without_a_known_head_the_blocks_time_decides_to_the_second(scene: Scene) -> None:
    transaction = scene.pay()
    mined_at = scene.evm.now()
    scene.evm.warp(3600)
    too_old = await scene.verdict(transaction, after_block=None, not_before=mined_at + 1)
    assert too_old == scene.invalid(transaction, InvalidReason.TOO_OLD)
    assert await scene.verdict(transaction, after_block=None, not_before=mined_at) == scene.paid(transaction)


async def test_with_a_known_head_a_chain_clock_that_runs_behind_does_no_harm(scene: Scene) -> None:
    transaction = scene.pay()
    assert await scene.verdict(transaction, not_before=scene.evm.now() + 3600) == scene.paid(transaction)


# -- waiting -----------------------------------------------------------------------------------------------------------


@covers("pay.2.confirmations")
async def test_a_payment_waits_for_its_confirmations_and_its_own_block_counts(scene: Scene) -> None:
    transaction = scene.pay()
    for confirmations in (1, 2):
        waiting = scene.placed(TransferStatus.PENDING, transaction, confirmations=3)
        assert (waiting.confirmations, waiting.required) == (confirmations, 3)
        assert await scene.verdict(transaction, confirmations=3) == waiting
        scene.evm.mine()
    assert await scene.verdict(transaction, confirmations=3) == scene.paid(transaction, confirmations=3)


async def test_a_transaction_is_not_found_until_it_is_mined_and_one_read_tells(scene: Scene) -> None:
    scene.evm.hold()
    try:
        transaction = scene.pay()
        for unmined in (transaction, NOBODYS):
            assert await scene.verdict(unmined) == Verification(TransferStatus.NOT_FOUND, required=1)
        assert scene.node.counts == {"eth_chainId": 1, "eth_getTransactionReceipt": 2}
    finally:
        scene.evm.release()
    assert await scene.verdict(transaction) == scene.paid(transaction)
