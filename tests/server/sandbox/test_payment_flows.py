"""Each payment of payment_flows.py has the named effect on the chain: all balances and logs are compared."""

import pytest

from tests.support import payment_flows
from tests.support.evm import Evm, RpcFailed, address_of

TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
ONE = 1_000_000


def transfers(evm: Evm, transaction: str) -> list[tuple[str, str, int]]:
    """Return the USDC transfers of a transaction, in order."""
    receipt = evm.receipt(transaction)
    assert receipt["transactionHash"] == transaction
    return [
        ("0x" + log["topics"][1][-40:], "0x" + log["topics"][2][-40:], int(log["data"], 16))
        for log in receipt["logs"]
        if log["address"].lower() == evm.usdc.lower() and log["topics"][0] == TRANSFER
    ]


def low(*people: object) -> list[str]:
    return [address_of(one).lower() for one in people]  # type: ignore[arg-type]


def test_a_plain_transfer_moves_the_amount(evm: Evm) -> None:
    payer, payee = evm.person(3 * ONE), evm.person()
    sender, to = low(payer, payee)
    assert transfers(evm, payment_flows.plain(evm, payer, payee, ONE)) == [(sender, to, ONE)]
    assert (evm.balance(payer), evm.balance(payee)) == (2 * ONE, ONE)


def test_a_reverted_transfer_is_mined_with_status_zero_and_no_logs(evm: Evm) -> None:
    payer, payee = evm.person(ONE), evm.person()
    receipt = evm.receipt(payment_flows.reverted(evm, payer, payee))
    assert (receipt["status"], receipt["logs"], evm.balance(payee)) == ("0x0", [], 0)


def test_an_approval_and_plain_coins_move_no_usdc(evm: Evm) -> None:
    payer, payee = evm.person(ONE), evm.person()
    assert transfers(evm, payment_flows.approve_only(evm, payer, payee, ONE)) == []
    assert transfers(evm, payment_flows.coins_only(evm, payer, payee, 1)) == []
    assert evm.balance(payee) == 0


def test_other_tokens_emit_the_same_log_from_another_address(evm: Evm) -> None:
    payer, payee = evm.person(ONE), evm.person()
    sender, to = low(payer, payee)
    for shape in (payment_flows.fake_token, payment_flows.other_token):
        log = evm.receipt(shape(evm, payer, payee, ONE))["logs"][-1]
        assert log["topics"] == [TRANSFER, "0x" + sender[2:].rjust(64, "0"), "0x" + to[2:].rjust(64, "0")]
        assert log["address"].lower() != evm.usdc.lower()
    assert evm.balance(payee) == 0


def test_a_payment_and_its_return_stand_in_one_transaction(evm: Evm) -> None:
    payer, payee = evm.person(ONE), evm.person()
    sender, to = low(payer, payee)
    assert transfers(evm, payment_flows.pay_and_return(evm, payer, payee, ONE, ONE - 1)) == [
        (sender, to, ONE),
        (to, sender, ONE - 1),
    ]
    assert evm.balance(payee) == 1


def test_a_router_stands_between_payer_and_payee(evm: Evm) -> None:
    payer, payee = evm.person(ONE), evm.person()
    sender, router, to = low(payer, evm.shared("Splitter"), payee)
    assert transfers(evm, payment_flows.through_router(evm, payer, payee, ONE)) == [
        (sender, router, ONE),
        (router, to, ONE),
    ]


def test_several_logs_pay_several_people(evm: Evm) -> None:
    payer, payee, other = evm.person(ONE), evm.person(), evm.person()
    sender, to, third = low(payer, payee, other)
    shares = [(payee, 600_000), (other, 1), (payee, 399_999)]
    assert transfers(evm, payment_flows.several_logs(evm, payer, shares)) == [
        (sender, to, 600_000),
        (sender, third, 1),
        (sender, to, 399_999),
    ]


def test_a_smart_wallet_pays_while_its_owner_signs(evm: Evm) -> None:
    wallet, payee = payment_flows.smart_wallet(evm, ONE), evm.person()
    contract, owner, to = low(wallet.address, wallet.owner, payee)
    transaction = payment_flows.smart_wallet_pays(evm, wallet, payee, ONE)
    receipt = evm.receipt(transaction)
    assert transfers(evm, transaction) == [(contract, to, ONE)]
    assert low(receipt["from"], receipt["to"]) == [owner, contract]


def test_the_batches_of_a_wallet_run_in_order(evm: Evm) -> None:
    payee = evm.person(ONE)
    expected = {
        payment_flows.swap_then_pay: 2 * ONE,
        payment_flows.flash_loan: ONE,
        payment_flows.round_trip: ONE,
    }
    for shape, kept in expected.items():
        before = evm.balance(payee)
        moved = transfers(evm, shape(evm, payment_flows.smart_wallet(evm, ONE), payee, ONE))
        assert {amount for _, _, amount in moved} == {ONE}
        assert evm.balance(payee) - before == kept - ONE
    wallet = payment_flows.smart_wallet(evm, ONE)
    paid, back = transfers(evm, payment_flows.third_party_return(evm, wallet, payee, ONE, 400_000))
    assert (paid[0], paid[2], back[1], back[2]) == (low(wallet.address)[0], ONE, low(wallet.address)[0], 400_000)
    back, paid = transfers(evm, payment_flows.returned_first(evm, wallet, payee, 300_000, 100_000))
    assert (back[2], paid[2]) == (100_000, 300_000)


def test_an_authorization_is_sent_by_a_stranger_once(evm: Evm) -> None:
    payer, payee, relayer = evm.person(3 * ONE, gas=False), evm.person(), evm.person()
    sender, to = low(payer, payee)
    signed = payment_flows.authorization(evm, payer, payee, ONE)
    assert transfers(evm, payment_flows.relayed(evm, relayer, signed)) == [(sender, to, ONE)]
    assert evm.receipt(payment_flows.relayed(evm, relayer, signed))["status"] == "0x0"
    again = payment_flows.authorization(evm, payer, payee, ONE)
    assert transfers(evm, payment_flows.relayed_in_parts(evm, relayer, again)) == [(sender, to, ONE)]
    collected = payment_flows.authorization(evm, payer, payee, ONE, kind="ReceiveWithAuthorization")
    assert transfers(evm, payment_flows.received(evm, payee, collected)) == [(sender, to, ONE)]
    assert evm.balance(payee) == 3 * ONE


def test_a_held_transaction_has_no_receipt_until_it_is_mined(evm: Evm) -> None:
    payer, payee = evm.person(2 * ONE), evm.person()
    evm.hold()
    first, second = evm.transfer(payer, payee, ONE), evm.transfer(payer, payee, ONE)
    assert (evm.receipt(first), evm.balance(payee)) == (None, 0)
    evm.release()
    one, two = evm.receipt(first), evm.receipt(second)
    assert (one["status"], two["status"], one["blockHash"] == two["blockHash"]) == ("0x1", "0x1", True)
    assert [one["transactionIndex"], two["transactionIndex"]] == ["0x0", "0x1"]
    assert [log["logIndex"] for log in one["logs"] + two["logs"]] == ["0x0", "0x1"]
    assert int(two["cumulativeGasUsed"], 16) == int(one["gasUsed"], 16) + int(two["gasUsed"], 16)


def test_a_reorganisation_drops_the_payment_and_changes_block_hashes(evm: Evm) -> None:
    payer, payee = evm.person(ONE), evm.person()
    before = evm.snapshot()
    receipt = evm.receipt(evm.transfer(payer, payee, ONE))
    height = int(receipt["blockNumber"], 16)
    evm.reorg(before, blocks=3)
    block = evm.rpc("eth_getBlockByNumber", receipt["blockNumber"], False)
    assert evm.receipt(receipt["transactionHash"]) is None
    assert evm.rpc("eth_getBlockByHash", receipt["blockHash"], False) is None
    assert (evm.head(), block["transactions"], evm.balance(payee)) == (height + 2, [], 0)
    assert block["hash"] != receipt["blockHash"]


def test_warping_puts_the_next_block_in_the_future(evm: Evm) -> None:
    before = evm.now()
    evm.warp(3600)
    assert 3600 <= evm.now() - before <= 3700


def test_a_transaction_for_another_chain_is_refused(evm: Evm) -> None:
    stranger = evm.person()
    signed = stranger.sign_transaction(
        {"type": 2, "chainId": 1, "nonce": 0, "gas": 21000, "maxFeePerGas": 10**10, "maxPriorityFeePerGas": 1,
         "to": stranger.address, "value": 0}
    )  # fmt: skip
    with pytest.raises(RpcFailed, match="chain"):
        evm.rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())
