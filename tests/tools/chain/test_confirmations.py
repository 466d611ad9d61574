"""Confirmations from several nodes: a block counts if the blocks after it name their parents, and no log is missing."""

from collections.abc import Sequence
from typing import Any

import pytest
from eth_bloom import BloomFilter

from tests.tools.chain.test_transfer_verification import (
    ASSET,
    BLOCK,
    BUYER,
    NUMBER,
    PLAIN,
    SELLER,
    STRANGER,
    TERMS,
    TRANSACTION,
    answers,
    block,
)
from tools.chain.chain_reads import blocks_after, look_up, receipt_of
from tools.chain.node_answers import InvalidNodeAnswer
from tools.chain.transfer_verification import ChainAnswers, TransferStatus, verify

OTHER, NEXT = "0x" + "0b" * 32, "0x" + "ce" * 32


class Nodes:
    """Nodes that answer from a dictionary; `asked` has the questions in order."""

    def __init__(self, given: dict[str, Any], *, head: int = NUMBER + 9) -> None:
        self.given, self.newest, self.asked = given, head, list[str]()
        self.blocks: dict[int, Any] = {int(one["number"], 16): one for one in (given["block"], *given["later"])}

    chain_id, last_head, last_block_time = 8453, None, None

    async def receipt(self, transaction: str) -> object:
        self.asked.append("receipt")
        return self.given["receipt"]

    async def head(self) -> int:
        self.asked.append("head")
        return self.newest

    async def block(self, number: int) -> object:
        self.asked.append(f"block {number - NUMBER}")
        return self.blocks.get(number)

    async def whole_block(self, number: int) -> object:
        return await self.block(number)

    async def call(self, to: str, data: str) -> str | None:
        raise AssertionError(to)


def seen(*later: object) -> ChainAnswers:
    return ChainAnswers(**(answers(PLAIN) | {"later": later}))


@pytest.mark.parametrize(
    ("later", "confirmations"),
    [
        ((), 1),
        ((None, None), 1),
        ((block(NUMBER + 1, NEXT, OTHER), block(NUMBER + 2, OTHER, NEXT)), 1),
        ((block(NUMBER + 1, NEXT, BLOCK), None), 2),
        ((block(NUMBER + 1, NEXT, BLOCK), block(NUMBER + 2, BLOCK, OTHER)), 2),
    ],
)
def test_the_number_of_the_newest_block_alone_confirms_nothing(later: Sequence[object], confirmations: int) -> None:
    verdict = verify(TRANSACTION, seen(*later), TERMS)
    assert (verdict.kind, verdict.confirmations) == (TransferStatus.PENDING, confirmations)


def test_blocks_that_name_their_parents_confirm_a_payment_in_any_case_of_letters() -> None:
    later = block(NUMBER + 1, NEXT.upper().replace("X", "x"), BLOCK), block(NUMBER + 2, OTHER, NEXT)
    assert verify(TRANSACTION, seen(*later), TERMS).kind is TransferStatus.PAID


@pytest.mark.parametrize(
    "changed",
    [{"number": hex(NUMBER + 3)}, {"parentHash": 7}, {"parentHash": "0x"}, {"hash": "0x1"}, {"timestamp": None}],
)
def test_a_malformed_later_block_is_nonsense(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidNodeAnswer):
        verify(TRANSACTION, seen(block(NUMBER + 1, NEXT, BLOCK) | changed), TERMS)


@pytest.mark.parametrize(
    ("head", "confirmations", "asked"),
    [
        (NUMBER, 1, ["receipt", "head", "block 0"]),
        (NUMBER + 1, 3, ["receipt", "head", "block 0"]),
        (NUMBER + 2, 3, ["receipt", "head", "block 0", "block 1", "block 2"]),
    ],
)
async def test_only_a_payment_with_its_confirmations_costs_more_reads(
    head: int, confirmations: int, asked: list[str]
) -> None:
    nodes = Nodes(answers(PLAIN), head=head)
    await look_up(nodes, TRANSACTION, confirmations)
    assert nodes.asked == asked


async def test_the_blocks_after_a_block_are_read_in_order() -> None:
    nodes = Nodes(answers(PLAIN))
    assert await blocks_after(nodes, NUMBER, 2) == answers(PLAIN)["later"]


# -- missing logs ------------------------------------------------------------------------------------------------------


def with_bloom(given: dict[str, Any]) -> dict[str, Any]:
    """Give a receipt the filter of its logs, as the library of the Ethereum clients computes it."""
    entries = [one for log in given["receipt"]["logs"] for one in (log["address"], *log["topics"])]
    bloom = BloomFilter.from_iterable(bytes.fromhex(one[2:]) for one in entries)
    return given | {"receipt": given["receipt"] | {"logsBloom": f"0x{int(bloom):0512x}"}}


def test_a_receipt_with_all_its_logs_is_whole() -> None:
    given = with_bloom(answers(PLAIN, (STRANGER, SELLER, 7)))
    assert verify(TRANSACTION, ChainAnswers(**given), TERMS).kind is TransferStatus.PAID
    none = given["receipt"] | {"logsBloom": "0x" + "0" * 512}  # some chains leave it empty
    assert verify(TRANSACTION, ChainAnswers(**given | {"receipt": none}), TERMS).kind is TransferStatus.PAID


@pytest.mark.parametrize("kept", [[], [1]])
def test_a_receipt_without_one_of_its_logs_is_nonsense(kept: list[int]) -> None:
    given = with_bloom(answers(PLAIN, (STRANGER, SELLER, 7)))
    fewer = given["receipt"] | {"logs": [given["receipt"]["logs"][place] for place in kept]}
    with pytest.raises(InvalidNodeAnswer, match="log is missing"):
        verify(TRANSACTION, ChainAnswers(**given | {"receipt": fewer}), TERMS)


@pytest.mark.parametrize("bloom", ["0x", "0x" + "0" * 511, 7, "f" * 512])
def test_a_malformed_filter_is_nonsense(bloom: object) -> None:
    given = answers(PLAIN)
    with pytest.raises(InvalidNodeAnswer, match="logsBloom"):
        verify(TRANSACTION, ChainAnswers(**given | {"receipt": given["receipt"] | {"logsBloom": bloom}}), TERMS)


@pytest.mark.parametrize(
    "receipt",
    [
        None,
        {"blockNumber": None, "blockHash": None},
        answers(PLAIN)["receipt"] | {"transactionHash": OTHER},
        with_bloom(answers((BUYER, SELLER, 1)))["receipt"] | {"logs": []},
    ],
)
async def test_a_search_takes_only_the_whole_receipt_of_a_transaction_in_a_block(receipt: object) -> None:
    nodes = Nodes(answers(PLAIN))
    assert await receipt_of(nodes, TRANSACTION, ASSET) == answers(PLAIN)["receipt"]
    nodes.given["receipt"] = receipt
    with pytest.raises(InvalidNodeAnswer):
        await receipt_of(nodes, TRANSACTION, ASSET)
