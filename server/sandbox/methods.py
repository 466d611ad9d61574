"""The JSON-RPC methods of the sandbox, their parameters and results, without HTTP."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from eth.abc import BlockHeaderAPI
from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_typing import Address

from server.sandbox.arguments import (
    InvalidParams,
    address,
    amount,
    block_reference,
    call_object,
    flag,
    hash32,
    log_filter,
    no_more,
    raw_bytes,
    required,
)
from server.sandbox.evm import PRIORITY_FEE_IN_WEI, DevChain, Refused, Reverted, blocks_between
from server.sandbox.journal import JournalUnwritable
from server.sandbox.wire import block_json, data, logs_json, quantity, receipt_json, transaction_json

INVALID_PARAMS: Final = -32602
METHOD_NOT_FOUND: Final = -32601
INTERNAL: Final = -32603
SERVER: Final = -32000
REVERTED: Final = 3
_MAX_BLOCKS_MINED: Final = 1000
_MAX_BLOCKS_SEARCHED: Final = 10_000
_ERROR_OF_STRING: Final = bytes.fromhex("08c379a0")

Params = Sequence[Any]


class RpcError(Exception):
    """A JSON-RPC error response."""

    def __init__(self, code: int, message: str, data: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


def answer(chain: DevChain, method: str, params: Params) -> Any:
    """Return the result of a call as JSON. Raises RpcError for every failure."""
    found = METHODS.get(method)
    if found is None:
        raise RpcError(METHOD_NOT_FOUND, f"the method {method[:60]} does not exist here")
    try:
        with chain.lock:
            return found(chain, params)
    except InvalidParams as problem:
        raise RpcError(INVALID_PARAMS, f"{method}: {problem}") from problem
    except Refused as problem:
        raise RpcError(SERVER, str(problem)) from problem
    except JournalUnwritable as problem:
        raise RpcError(INTERNAL, str(problem)) from problem
    except Reverted as problem:
        raise RpcError(REVERTED, _revert_text(problem.data), data(problem.data)) from problem


def _revert_text(returned: bytes) -> str:
    if returned[:4] != _ERROR_OF_STRING:
        return "execution reverted"
    try:
        return f"execution reverted: {decode(['string'], returned[4:])[0]}"
    except (DecodingError, UnicodeDecodeError):
        return "execution reverted"


# -- the chain as a whole ------------------------------------------------------------------------------------------


def _constant(value: Callable[[DevChain], Any]) -> Callable[[DevChain, Params], Any]:
    def method(chain: DevChain, params: Params) -> Any:
        no_more(params, 0)
        return value(chain)

    return method


def _base_fee(header: BlockHeaderAPI) -> int:
    return header.base_fee_per_gas or 0


def _fee_history(chain: DevChain, params: Params) -> Any:
    no_more(params, 3)
    wanted = min(max(amount(required(params, 0)), 1), 1024)
    last = _header(chain, params, 1).block_number
    first = max(last - wanted + 1, 0)
    headers = [block.header for block in blocks_between(chain, first, last)]
    percentiles = params[2] if len(params) > 2 and isinstance(params[2], list) else []
    tip = quantity(PRIORITY_FEE_IN_WEI)
    return {
        "oldestBlock": quantity(first),
        "baseFeePerGas": [quantity(_base_fee(one)) for one in [*headers, chain.header(last + 1) or chain.pending]],
        "gasUsedRatio": [one.gas_used / one.gas_limit for one in headers],
        "reward": [[tip for _ in percentiles] for _ in headers],
    }


# -- accounts ------------------------------------------------------------------------------------------------------


def _balance(chain: DevChain, params: Params) -> str:
    no_more(params, 2)
    return quantity(chain.state(_header(chain, params, 1)).get_balance(Address(address(required(params, 0)))))


def _nonce(chain: DevChain, params: Params) -> str:
    no_more(params, 2)
    return quantity(chain.state(_header(chain, params, 1)).get_nonce(Address(address(required(params, 0)))))


def _code(chain: DevChain, params: Params) -> str:
    no_more(params, 2)
    return data(chain.state(_header(chain, params, 1)).get_code(Address(address(required(params, 0)))))


def _storage(chain: DevChain, params: Params) -> str:
    no_more(params, 3)
    state = chain.state(_header(chain, params, 2))
    value = state.get_storage(Address(address(required(params, 0))), amount(required(params, 1)))
    return data(value.to_bytes(32, "big"))


# -- calls and transactions ----------------------------------------------------------------------------------------


def _call(chain: DevChain, params: Params) -> str:
    no_more(params, 2)
    return data(chain.call(call_object(required(params, 0)), _header(chain, params, 1)))


def _estimate(chain: DevChain, params: Params) -> str:
    no_more(params, 2)
    return quantity(chain.estimate(call_object(required(params, 0)), _header(chain, params, 1)))


def _send_raw(chain: DevChain, params: Params) -> str:
    no_more(params, 1)
    return data(chain.send_raw(raw_bytes(required(params, 0))))


def _transaction(chain: DevChain, params: Params) -> Any:
    no_more(params, 1)
    place = chain.find(hash32(required(params, 0)))
    return None if place is None else transaction_json(place.block, place.position)


def _receipt(chain: DevChain, params: Params) -> Any:
    no_more(params, 1)
    place = chain.find(hash32(required(params, 0)))
    return None if place is None else receipt_json(place.block, chain.receipts(place.block), place.position)


# -- blocks and logs -----------------------------------------------------------------------------------------------


def _block_by_number(chain: DevChain, params: Params) -> Any:
    no_more(params, 2)
    header = _found(chain, block_reference(required(params, 0)))
    return _block(chain, header, whole=flag(params, 1))


def _block_by_hash(chain: DevChain, params: Params) -> Any:
    no_more(params, 2)
    return _block(chain, chain.header_by_hash(hash32(required(params, 0))), whole=flag(params, 1))


def _block(chain: DevChain, header: BlockHeaderAPI | None, *, whole: bool) -> Any:
    return None if header is None else block_json(chain.block(header), whole_transactions=whole)


def _logs(chain: DevChain, params: Params) -> list[Any]:
    no_more(params, 1)
    wanted = log_filter(required(params, 0))
    first, last = _range(chain, wanted.first, wanted.last, wanted.block_hash)
    if last - first >= _MAX_BLOCKS_SEARCHED:
        raise InvalidParams(f"at most {_MAX_BLOCKS_SEARCHED} blocks can be searched at once")
    return [
        log
        for block in blocks_between(chain, first, last)
        if block.header.bloom
        for position in range(len(block.transactions))
        for log in logs_json(block, chain.receipts(block), position)
        if wanted.matches(log)
    ]


def _range(chain: DevChain, first: int | str, last: int | str, block_hash: bytes | None) -> tuple[int, int]:
    if block_hash is None:
        return _height(chain, first), _height(chain, last)
    header = chain.header_by_hash(block_hash)
    if header is None:
        raise Refused("unknown block")
    return header.block_number, header.block_number


def _height(chain: DevChain, reference: int | str) -> int:
    if isinstance(reference, int):
        return reference
    return 0 if reference == "earliest" else chain.number


def _found(chain: DevChain, reference: int | str) -> BlockHeaderAPI | None:
    return chain.header(_height(chain, reference))


def _header(chain: DevChain, params: Params, position: int) -> BlockHeaderAPI:
    reference = block_reference(params[position]) if len(params) > position else "latest"
    header = chain.pending if reference == "pending" else _found(chain, reference)
    if header is None:
        raise Refused(f"block {reference} does not exist")
    return header


# -- what only a sandbox has ---------------------------------------------------------------------------------------


def _faucet(chain: DevChain, params: Params) -> str:
    no_more(params, 2)
    return data(chain.faucet(address(required(params, 0)), amount(required(params, 1))))


def _gas(chain: DevChain, params: Params) -> str:
    no_more(params, 1)
    return data(chain.gas(address(required(params, 0))))


def _mine(chain: DevChain, params: Params) -> str:
    no_more(params, 1)
    blocks = amount(params[0]) if params else 1
    if not 1 <= blocks <= _MAX_BLOCKS_MINED:
        raise InvalidParams(f"the number of blocks is 1 to {_MAX_BLOCKS_MINED}")
    chain.mine(blocks)
    return "0x0"


METHODS: Final[dict[str, Callable[[DevChain, Params], Any]]] = {
    "web3_clientVersion": _constant(lambda _: "emporion-sandbox"),
    "net_version": _constant(lambda chain: str(chain.chain_id)),
    "net_listening": _constant(lambda _: True),
    "eth_chainId": _constant(lambda chain: quantity(chain.chain_id)),
    "eth_syncing": _constant(lambda _: False),
    "eth_accounts": _constant(lambda _: []),
    "eth_blockNumber": _constant(lambda chain: quantity(chain.number)),
    "eth_gasPrice": _constant(lambda chain: quantity(_base_fee(chain.pending) + PRIORITY_FEE_IN_WEI)),
    "eth_maxPriorityFeePerGas": _constant(lambda _: quantity(PRIORITY_FEE_IN_WEI)),
    "eth_feeHistory": _fee_history,
    "eth_getBalance": _balance,
    "eth_getTransactionCount": _nonce,
    "eth_getCode": _code,
    "eth_getStorageAt": _storage,
    "eth_call": _call,
    "eth_estimateGas": _estimate,
    "eth_sendRawTransaction": _send_raw,
    "eth_getTransactionByHash": _transaction,
    "eth_getTransactionReceipt": _receipt,
    "eth_getBlockByNumber": _block_by_number,
    "eth_getBlockByHash": _block_by_hash,
    "eth_getLogs": _logs,
    "dev_faucet": _faucet,
    "dev_gas": _gas,
    "evm_mine": _mine,
}
