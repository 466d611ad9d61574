"""Blocks, transactions, receipts and logs in the form of Ethereum JSON-RPC, where all values are 0x-hex texts."""

from collections.abc import Iterator
from typing import Any

import rlp
from eth.abc import BlockAPI, BlockHeaderAPI, ReceiptAPI
from eth_utils.crypto import keccak

from server.sandbox.evm import chain_id_of

Json = dict[str, Any]


def quantity(value: int) -> str:
    """Format an integer for JSON-RPC, without leading zeros."""
    return hex(value)


def data(value: bytes) -> str:
    """Format bytes for JSON-RPC, two digits per byte."""
    return "0x" + value.hex()


def block_json(block: BlockAPI, *, whole_transactions: bool) -> Json:
    """Format a block, with its transactions as hashes or whole."""
    transactions: list[Any] = [
        transaction_json(block, position) if whole_transactions else data(one.hash)
        for position, one in enumerate(block.transactions)
    ]
    return _header_json(block.header) | {"transactions": transactions, "uncles": [], "withdrawals": []}


def _hexed(fields: Json) -> Json:
    """Format the numbers and bytes among the values."""
    return {name: _hex(value) for name, value in fields.items()}


def _hex(value: Any) -> Any:
    if isinstance(value, bytes):
        return data(value)
    return quantity(value) if isinstance(value, int) else value


def _header_json(header: Any) -> Json:
    return _hexed(
        {
            "hash": header.hash,
            "parentHash": header.parent_hash,
            "sha3Uncles": header.uncles_hash,
            "miner": header.coinbase,
            "stateRoot": header.state_root,
            "transactionsRoot": header.transaction_root,
            "receiptsRoot": header.receipt_root,
            "logsBloom": header.bloom.to_bytes(256, "big"),
            "extraData": header.extra_data,
            "mixHash": header.mix_hash,
            "nonce": header.nonce,
            "withdrawalsRoot": header.withdrawals_root,
            "parentBeaconBlockRoot": header.parent_beacon_block_root,
            "requestsHash": header.requests_hash,
            "number": header.block_number,
            "difficulty": header.difficulty,
            "gasLimit": header.gas_limit,
            "gasUsed": header.gas_used,
            "timestamp": header.timestamp,
            "baseFeePerGas": header.base_fee_per_gas,
            "blobGasUsed": header.blob_gas_used,
            "excessBlobGas": header.excess_blob_gas,
        }
    )


def transaction_json(block: BlockAPI, position: int) -> Json:
    """Format a mined transaction."""
    one: Any = block.transactions[position]
    kind, chain_id = one.type_id or 0, chain_id_of(one)
    found = {
        "type": kind,
        "hash": one.hash,
        "nonce": one.nonce,
        **_place(block, position),
        "from": one.sender,
        "to": one.to or None,
        "value": one.value,
        "gas": one.gas,
        "gasPrice": _price(one, block.header),
        "input": one.data,
        "r": one.r,
        "s": one.s,
    }
    if chain_id is not None:
        found["chainId"] = chain_id
    return _hexed(found | (_typed(one, kind) if kind else {"v": one.v}))


def _place(block: BlockAPI, position: int) -> Json:
    return {"blockHash": block.hash, "blockNumber": block.number, "transactionIndex": position}


def _typed(one: Any, kind: int) -> Json:
    entries = [
        {"address": data(address), "storageKeys": [data(slot.to_bytes(32, "big")) for slot in slots]}
        for address, slots in one.access_list
    ]
    found: Json = {"v": one.y_parity, "yParity": one.y_parity, "accessList": entries}
    if kind >= 2:
        found |= {"maxFeePerGas": one.max_fee_per_gas, "maxPriorityFeePerGas": one.max_priority_fee_per_gas}
    if kind == 4:
        found["authorizationList"] = [_authorization(entry) for entry in one.authorization_list]
    return found


def _authorization(entry: Any) -> Json:
    numbers = {"chainId": entry.chain_id, "nonce": entry.nonce, "yParity": entry.y_parity, "r": entry.r, "s": entry.s}
    return _hexed({"address": entry.address, **numbers})


def receipt_json(block: BlockAPI, position: int, receipts: tuple[ReceiptAPI, ...]) -> Json:
    """Format the receipt of a mined transaction, with its logs."""
    one: Any = block.transactions[position]
    receipt = receipts[position]
    used_before = receipts[position - 1].gas_used if position else 0
    return _hexed(
        {
            "type": one.type_id or 0,
            "status": "0x1" if receipt.state_root == b"\x01" else "0x0",
            "transactionHash": one.hash,
            **_place(block, position),
            "from": one.sender,
            "to": one.to or None,
            "contractAddress": None if one.to else keccak(rlp.encode([one.sender, one.nonce]))[12:],
            "cumulativeGasUsed": receipt.gas_used,
            "gasUsed": receipt.gas_used - used_before,
            "effectiveGasPrice": _price(one, block.header),
            "logs": list(logs_json(block, position, receipts)),
            "logsBloom": receipt.bloom.to_bytes(256, "big"),
        }
    )


def logs_json(block: BlockAPI, position: int, receipts: tuple[ReceiptAPI, ...]) -> Iterator[Json]:
    """Yield the logs of one transaction; `logIndex` counts through the block."""
    before = sum(len(receipt.logs) for receipt in receipts[:position])
    for index, log in enumerate(receipts[position].logs, before):
        found = {
            "address": log.address,
            "topics": [data(topic.to_bytes(32, "big")) for topic in log.topics],
            "data": log.data,
            "logIndex": index,
            "transactionHash": block.transactions[position].hash,
            **_place(block, position),
        }
        yield _hexed(found) | {"removed": False}


def _price(one: Any, header: BlockHeaderAPI) -> int:
    # In transaction types without a fee market, both maxima are the gas price.
    base_fee = header.base_fee_per_gas or 0
    return int(min(one.max_fee_per_gas, one.max_priority_fee_per_gas + base_fee))
