"""Verdicts from nodes that lag, reorganise or lie: real receipts of real transactions, changed by a proxy."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from server.adapters.chain import JsonRpcChain
from tests.support import payment_flows
from tests.support.evm import Evm
from tests.support.faulty_node import Fault, FaultyNode, Reply, Silence, error, fields, logs, result
from tests.support.payment_scene import ONE, Scene, open_scene
from tools.chain.node_answers import InvalidNodeAnswer
from tools.chain.transfer_verification import ChainDown, TransferStatus, Verification

RECEIPT, HEAD, BLOCK = "eth_getTransactionReceipt", "eth_blockNumber", "eth_getBlockByNumber"
NOBODYS = "0x" + "11" * 32


@pytest.fixture
async def scene(evm: Evm) -> AsyncIterator[Scene]:
    async with open_scene(evm) as opened:
        yield opened


# -- reorganisations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regrown", [1, 5])
async def test_a_payment_whose_block_was_dropped_is_not_found_any_more(scene: Scene, regrown: int) -> None:
    before = scene.evm.snapshot()
    transaction = scene.pay()
    scene.evm.mine(2)
    assert await scene.verdict(transaction, confirmations=3) == scene.paid(transaction, confirmations=3)
    scene.evm.reorg(before, regrown)
    assert await scene.verdict(transaction, confirmations=3) == Verification(TransferStatus.NOT_FOUND, required=3)


@pytest.mark.parametrize("regrown", [3, 0])
@pytest.mark.parametrize("method", [HEAD, BLOCK])
async def test_a_block_dropped_between_two_reads_is_pending(scene: Scene, method: str, regrown: int) -> None:
    """The chain reorganises after the read of the receipt.

    Its height then has another block, or none.
    """
    before = scene.evm.snapshot()
    transaction = scene.pay()
    receipt = scene.evm.receipt(transaction)

    def reorganise(answer: dict[str, Any]) -> dict[str, Any]:
        scene.evm.reorg(before, regrown)
        return answer | {"result": scene.evm.rpc(method, *scene.node.questions[-1]["params"])}

    scene.node.fault(method, reorganise, times=1)
    assert await scene.verdict(transaction) == scene.pending(transaction, receipt)
    assert await scene.verdict(transaction) == Verification(TransferStatus.NOT_FOUND, required=1)


async def test_a_payment_mined_again_on_the_other_branch_is_good_there(scene: Scene) -> None:
    payer = scene.evm.person(ONE)
    relayer = scene.evm.person()
    signed = payment_flows.authorization(scene.evm, payer, scene.seller, ONE)
    payers = (payer.address,)
    before = scene.evm.snapshot()
    dropped = payment_flows.relayed(scene.evm, relayer, signed)
    scene.evm.reorg(before, 2)
    again = payment_flows.relayed(scene.evm, relayer, signed)
    assert again == dropped
    assert await scene.verdict(again, payers=payers) == scene.paid(again, payers=payers)


# -- lag ---------------------------------------------------------------------------------------------------------------


async def test_a_node_that_does_not_have_the_receipt_yet_is_asked_again(scene: Scene) -> None:
    transaction = scene.pay()
    scene.node.fault(RECEIPT, result(lambda _: None), times=1)
    assert await scene.verdict(transaction) == Verification(TransferStatus.NOT_FOUND, required=1)
    assert await scene.verdict(transaction) == scene.paid(transaction)


async def test_a_head_below_the_receipts_block_counts_no_confirmation(scene: Scene) -> None:
    transaction = scene.pay()
    seen = scene.placed(TransferStatus.PENDING, transaction)
    scene.node.fault(HEAD, result(lambda number: hex(int(number, 16) - 2)), times=1)
    told = await scene.verdict(transaction)
    assert told == replace(seen, confirmations=0)
    assert await scene.verdict(transaction) == scene.paid(transaction)


@pytest.mark.parametrize("answer", [None, {"hash": None, "number": "0x1", "timestamp": "0x1"}])
async def test_a_block_the_node_has_not_sealed_is_pending(scene: Scene, answer: object) -> None:
    transaction = scene.pay()
    scene.node.fault(BLOCK, result(lambda _: answer))
    assert await scene.verdict(transaction) == scene.pending(transaction)


@pytest.mark.parametrize(
    "unset", [{"blockNumber": None}, {"blockHash": None}, {"blockNumber": None, "blockHash": None}]
)
async def test_a_receipt_ahead_of_its_block_is_pending_after_one_read(scene: Scene, unset: dict[str, None]) -> None:
    transaction = scene.pay()
    scene.node.fault(RECEIPT, fields(**unset))
    assert await scene.verdict(transaction) == Verification(TransferStatus.PENDING, required=1)
    assert scene.node.counts == {"eth_chainId": 1, RECEIPT: 1}


# -- lies --------------------------------------------------------------------------------------------------------------


async def test_another_block_hash_at_that_height_is_pending(scene: Scene) -> None:
    transaction = scene.pay()
    scene.node.fault(BLOCK, fields(hash=NOBODYS))
    assert await scene.verdict(transaction) == scene.pending(transaction)


async def test_removed_logs_are_pending(scene: Scene) -> None:
    transaction = payment_flows.several_logs(scene.evm, scene.buyer, [(scene.seller, ONE), (scene.seller, ONE)])
    scene.node.fault(RECEIPT, logs(lambda given: [given[0] | {"removed": True}, *given[1:]]))
    assert await scene.verdict(transaction) == scene.pending(transaction)


async def test_the_receipt_of_another_payment_is_nonsense(scene: Scene) -> None:
    honest, failed = scene.pay(), payment_flows.reverted(scene.evm, scene.buyer, scene.seller)
    for asked in (failed, NOBODYS):
        scene.node.fault(RECEIPT, result(lambda _: scene.evm.receipt(honest)))
        with pytest.raises(InvalidNodeAnswer, match="another transaction"):
            await scene.verdict(asked)


async def test_another_block_than_was_asked_for_is_nonsense(scene: Scene) -> None:
    transaction = scene.pay()
    scene.node.fault(BLOCK, result(lambda _: scene.evm.rpc(BLOCK, "0x0", False)))
    with pytest.raises(InvalidNodeAnswer, match="not the one that was asked for"):
        await scene.verdict(transaction)


LIES: dict[str, tuple[str, Fault]] = {
    "a log twice": (RECEIPT, logs(lambda given: given * 2)),
    "a log of another transaction": (RECEIPT, logs(lambda given: [given[0] | {"transactionHash": NOBODYS}])),
    "a log of another block": (RECEIPT, logs(lambda given: [given[0] | {"blockHash": NOBODYS}])),
    "a log at another height": (RECEIPT, logs(lambda given: [given[0] | {"blockNumber": "0x1"}])),
    "an amount of 2^256-1": (RECEIPT, logs(lambda given: [given[0] | {"data": "0x" + "f" * 64}])),
    "an amount of 2^63": (RECEIPT, logs(lambda given: [given[0] | {"data": f"0x{2**63:064x}"}])),
    "an amount in two words": (RECEIPT, logs(lambda given: [given[0] | {"data": given[0]["data"] + "00" * 32}])),
    "no amount": (RECEIPT, logs(lambda given: [given[0] | {"data": "0x"}])),
    "a topic that is a number": (RECEIPT, logs(lambda given: [given[0] | {"topics": [1, 2, 3]}])),
    "no logs": (RECEIPT, fields(logs=None)),
    "no status": (RECEIPT, result(lambda given: {name: given[name] for name in given if name != "status"})),
    "status 2": (RECEIPT, fields(status="0x2")),
    "status true": (RECEIPT, fields(status=True)),
    "a height in decimals": (RECEIPT, fields(blockNumber="12")),
    "a height beyond all": (RECEIPT, fields(blockNumber="0x" + "f" * 64)),
    "a receipt that is a list": (RECEIPT, result(lambda given: [given])),
    "a receipt that is a text": (RECEIPT, result(lambda _: "0x1")),
    "a receipt that is false": (RECEIPT, result(lambda _: False)),
    "an empty receipt": (RECEIPT, result(lambda _: {})),
    "a block without a time": (BLOCK, fields(timestamp=None)),
    "a time beyond all": (BLOCK, fields(timestamp="0x" + "f" * 16)),
    "a block that is a number": (BLOCK, result(lambda _: 7)),
    "a block that is false": (BLOCK, result(lambda _: False)),
}


@pytest.mark.parametrize("name", LIES)
async def test_m6_a_lie_is_nonsense_and_the_same_hash_works_later(scene: Scene, name: str) -> None:
    transaction = scene.pay()
    method, lie = LIES[name]
    scene.node.fault(method, lie)
    with pytest.raises(InvalidNodeAnswer):
        await scene.verdict(transaction)
    scene.node.heal()
    assert await scene.verdict(transaction) == scene.paid(transaction)


# -- outages -----------------------------------------------------------------------------------------------------------

OUTAGES: dict[str, Fault] = {
    "dropped": lambda _: Silence.DROP,
    "HTTP 500": lambda _: Reply(500, b""),
    "HTML": lambda _: Reply(200, b"<html>502</html>", {"Content-Type": "text/html"}),
    "huge": lambda _: Reply(200, b" " * 3_000_000),
    "another id": lambda answer: answer | {"id": -1},
    "an error": error(-32000, "header not found"),
}


@pytest.mark.parametrize("method", ["eth_chainId", RECEIPT, HEAD, BLOCK])
@pytest.mark.parametrize("name", OUTAGES)
async def test_an_outage_at_any_read_is_chain_down_and_the_same_hash_works_later(
    scene: Scene, name: str, method: str
) -> None:
    transaction = scene.pay()
    scene.node.fault(method, OUTAGES[name])
    with pytest.raises(ChainDown):
        await scene.verdict(transaction)
    scene.node.heal()
    assert await scene.verdict(transaction) == scene.paid(transaction)


async def test_a_node_that_hangs_is_chain_down_and_another_reader_still_gets_its_answer(scene: Scene, evm: Evm) -> None:
    transaction = scene.pay()
    async with FaultyNode(evm.url) as hanging:
        hanging.fault(BLOCK, lambda _: Silence.HOLD)
        impatient = JsonRpcChain(hanging.url, evm.chain_id, timeout_in_seconds=0.2)
        patient, scene.chain = scene.chain, impatient
        with pytest.raises(ChainDown, match="TimeoutError"):
            await scene.verdict(transaction)
        await impatient.close()
        scene.chain = patient
    assert await scene.verdict(transaction) == scene.paid(transaction)


async def test_a_node_of_another_chain_never_verifies(scene: Scene, evm: Evm) -> None:
    transaction = scene.pay()
    honest, scene.chain = scene.chain, JsonRpcChain(evm.url, 8453)
    with pytest.raises(ChainDown, match="another chain"):
        await scene.verdict(transaction)
    await scene.chain.close()
    scene.chain = honest
