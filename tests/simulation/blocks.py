"""Transactions and blocks of the simulated chain, in the form in which real nodes describe them.

Source: the Ethereum JSON-RPC specification; ERC-20 and EIP-3009 for the logs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from eth_bloom import BloomFilter
from eth_utils.abi import function_signature_to_4byte_selector
from eth_utils.crypto import keccak

Json = dict[str, Any]
BLOCK_SECONDS = 2
MULTICALL = "0x" + "ca11" * 10  # the contract that makes several transfers in one transaction

_TRANSFER = f"0x{keccak(text='Transfer(address,address,uint256)').hex()}"
_USED = f"0x{keccak(text='AuthorizationUsed(address,bytes32)').hex()}"
_PLAIN = function_signature_to_4byte_selector("transfer(address,uint256)").hex()
_AUTHORIZED = function_signature_to_4byte_selector(
    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
).hex()
_NO_BLOOM = "0x" + "0" * 512
_GAS, _GAS_PRICE = 60_000, hex(10**7)


class Window(NamedTuple):
    """The part of an EIP-3009 authorization that limits its use; both times are in Unix seconds."""

    nonce: str  # 0x and 64 hex, lower case
    valid_after: int
    valid_before: int


class Move(NamedTuple):
    """One transfer of a token; addresses are in lower case, the amount in minor units."""

    token: str
    sender: str
    recipient: str
    amount: int
    window: Window | None = None

    @property
    def input(self) -> str:
        """Return the call data in hex, without 0x."""
        if self.window is None:
            return f"{_PLAIN}{_word(self.recipient)}{self.amount:064x}"
        nonce, after, before = self.window
        parties = f"{_word(self.sender)}{_word(self.recipient)}{self.amount:064x}"
        return f"{_AUTHORIZED}{parties}{after:064x}{before:064x}{nonce[2:]}"


class Transfer(NamedTuple):
    """A USDC transfer that the chain shows."""

    hash: str
    log_index: int
    sender: str
    recipient: str
    amount: int
    block_number: int
    block_time: int  # Unix seconds


@dataclass(slots=True, eq=False)
class Transaction:
    """A transaction that was sent, and its place if a block has it."""

    hash: str
    sender: str
    moves: tuple[Move, ...]
    beside: str = ""  # hex that follows the call data
    signed: bool = True
    mined: "Mined | None" = None

    @property
    def to(self) -> str:
        """Return the contract that the transaction calls."""
        return self.moves[0].token if len(self.moves) == 1 else MULTICALL


class Mined(NamedTuple):
    """The place and the outcome of a transaction in one block."""

    transaction: Transaction
    number: int
    block_hash: str
    position: int
    first_log: int
    succeeded: bool

    @property
    def next_log(self) -> int:
        """Return the log index after this transaction's logs."""
        logs = sum(1 if move.window is None else 2 for move in self.transaction.moves)
        return self.first_log + (logs if self.succeeded else 0)

    def transfers(self, token: str, seconds: int) -> Iterator[Transfer]:
        """Yield the transfers of a token that succeeded."""
        index = self.first_log
        for move in self.transaction.moves if self.succeeded else ():
            index += move.window is not None
            if move.token == token:
                parties = move.sender, move.recipient, move.amount
                yield Transfer(self.transaction.hash, index, *parties, self.number, seconds)
            index += 1


def receipt_json(mined: Mined) -> Json:
    """Return a receipt as eth_getTransactionReceipt does."""
    logs = list(_logs(mined)) if mined.succeeded else []
    return {
        "type": "0x2",
        "status": "0x1" if mined.succeeded else "0x0",
        **_place(mined),
        "from": mined.transaction.sender,
        "to": mined.transaction.to,
        "contractAddress": None,
        "cumulativeGasUsed": hex(_GAS * (mined.position + 1)),
        "gasUsed": hex(_GAS),
        "effectiveGasPrice": _GAS_PRICE,
        "logs": logs,
        "logsBloom": _bloom(logs),
    }


def block_json(
    number: int, block_hash: str, parent_hash: str, seconds: int, inside: Iterable[Mined], *, whole: bool
) -> Json:
    """Return a block as eth_getBlockByNumber does, with its transactions as hashes or whole."""
    transactions = [transaction_json(one) if whole else one.transaction.hash for one in inside]
    return {
        "number": hex(number),
        "hash": block_hash,
        "parentHash": parent_hash,
        "timestamp": hex(seconds),
        "gasLimit": "0x1c9c380",
        "gasUsed": hex(_GAS * len(transactions)),
        "baseFeePerGas": _GAS_PRICE,
        "logsBloom": _NO_BLOOM,
        "transactions": transactions,
        "uncles": [],
    }


def transaction_json(mined: Mined) -> Json:
    """Return a transaction as a whole block has it."""
    sent = mined.transaction
    place = _place(mined)
    return {
        "type": "0x2",
        "hash": place.pop("transactionHash"),
        **place,
        "from": sent.sender,
        "to": sent.to,
        "value": "0x0",
        "gas": hex(_GAS),
        "gasPrice": _GAS_PRICE,
        "input": f"0x{''.join(move.input for move in sent.moves)}{sent.beside}",
    }


def _bloom(logs: Iterable[Json]) -> str:
    entries = {one for log in logs for one in (log["address"], *log["topics"])}
    return f"0x{int(BloomFilter.from_iterable(bytes.fromhex(one[2:]) for one in entries)):0512x}"


def _logs(mined: Mined) -> Iterator[Json]:
    place, index = _place(mined), mined.first_log
    for move in mined.transaction.moves:
        payer = "0x" + _word(move.sender)
        if move.window is not None:
            yield _log(place, index, move.token, [_USED, payer, move.window.nonce], "0x")
            index += 1
        topics = [_TRANSFER, payer, "0x" + _word(move.recipient)]
        yield _log(place, index, move.token, topics, f"0x{move.amount:064x}")
        index += 1


def _log(place: Json, index: int, contract: str, topics: list[str], data: str) -> Json:
    found = {"address": contract, "topics": topics, "data": data, "logIndex": hex(index), "removed": False}
    return place | found


def _place(mined: Mined) -> Json:
    return {
        "transactionHash": mined.transaction.hash,
        "blockHash": mined.block_hash,
        "blockNumber": hex(mined.number),
        "transactionIndex": hex(mined.position),
    }


def _word(address: str) -> str:
    return address[2:].rjust(64, "0")
