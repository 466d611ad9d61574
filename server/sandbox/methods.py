"""The JSON-RPC methods of the sandbox, their parameters and results, without HTTP."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from eth.abc import BlockHeaderAPI, StateAPI
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
    parameter,
    raw_bytes,
)
from server.sandbox.evm import PRIORITY_FEE_IN_WEI, Call, DevChain, Refused, Reverted, blocks_between
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
Method = Callable[[DevChain, Params], Any]


class RpcError(Exception):
    """A JSON-RPC error response."""

    def __init__(self, code: int, message: str, data: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


def answer(chain: DevChain, method: str, params: Params) -> Any:
    """Return the result of a call as JSON. Raises RpcError for every failure."""
    if method not in METHODS:
        raise RpcError(METHOD_NOT_FOUND, f"the method {method[:60]} does not exist here")
    most, run = METHODS[method]
    try:
        if len(params) > most:
            raise InvalidParams(f"takes at most {most} parameters, got {len(params)}")
        with chain.lock:
            return run(chain, params)
    except InvalidParams as problem:
        raise RpcError(INVALID_PARAMS, f"{method}: {problem}") from problem
    except (Refused, JournalUnwritable) as problem:
        raise RpcError(SERVER if isinstance(problem, Refused) else INTERNAL, str(problem)) from problem
    except Reverted as problem:
        raise RpcError(REVERTED, _revert_text(problem.data), data(problem.data)) from problem


def _revert_text(returned: bytes) -> str:
    with suppress(DecodingError, UnicodeDecodeError):
        if returned[:4] == _ERROR_OF_STRING:
            return f"execution reverted: {decode(['string'], returned[4:])[0]}"
    return "execution reverted"


# -- the chain as a whole ------------------------------------------------------------------------------------------


def _base_fee(header: BlockHeaderAPI) -> int:
    return header.base_fee_per_gas or 0


def _fee_history(chain: DevChain, params: Params) -> Any:
    wanted = min(max(amount(parameter(params, 0)), 1), 1024)
    last = _header(chain, params, 1).block_number
    first = max(last - wanted + 1, 0)
    headers = [block.header for block in blocks_between(chain, first, last)]
    percentiles = params[2] if len(params) > 2 and isinstance(params[2], list) else []
    return {
        "oldestBlock": quantity(first),
        "baseFeePerGas": [quantity(_base_fee(one)) for one in [*headers, chain.header(last + 1) or chain.pending]],
        "gasUsedRatio": [one.gas_used / one.gas_limit for one in headers],
        "reward": [[quantity(PRIORITY_FEE_IN_WEI)] * len(percentiles) for _ in headers],
    }


# -- accounts, calls and transactions ------------------------------------------------------------------------------


def _of_account(read: Callable[[StateAPI, Address], str]) -> Method:
    """Return a method that reads the account named first, after the block named second."""
    return lambda chain, params: read(chain.state(_header(chain, params, 1)), Address(address(parameter(params, 0))))


def _storage(chain: DevChain, params: Params) -> str:
    state, account = chain.state(_header(chain, params, 2)), Address(address(parameter(params, 0)))
    return data(state.get_storage(account, amount(parameter(params, 1))).to_bytes(32, "big"))


def _call_at(chain: DevChain, params: Params) -> tuple[Call, BlockHeaderAPI]:
    return call_object(parameter(params, 0)), _header(chain, params, 1)


def _transaction(chain: DevChain, params: Params) -> Any:
    place = chain.find(hash32(parameter(params, 0)))
    return None if place is None else transaction_json(*place)


def _receipt(chain: DevChain, params: Params) -> Any:
    place = chain.find(hash32(parameter(params, 0)))
    return None if place is None else receipt_json(*place, chain.receipts(place[0]))


# -- blocks and logs -----------------------------------------------------------------------------------------------


def _block(chain: DevChain, params: Params, header: BlockHeaderAPI | None) -> Any:
    whole = flag(params, 1)
    return None if header is None else block_json(chain.block(header), whole_transactions=whole)


def _logs(chain: DevChain, params: Params) -> list[Any]:
    wanted = log_filter(parameter(params, 0))
    first, last = _height(chain, wanted.first), _height(chain, wanted.last)
    if wanted.block_hash is not None:
        header = chain.header_by_hash(wanted.block_hash)
        if header is None:
            raise Refused("unknown block")
        first = last = header.block_number
    if last - first >= _MAX_BLOCKS_SEARCHED:
        raise InvalidParams(f"at most {_MAX_BLOCKS_SEARCHED} blocks can be searched at once")
    return [
        log
        for block in blocks_between(chain, first, last)
        if block.header.bloom
        for position in range(len(block.transactions))
        for log in logs_json(block, position, chain.receipts(block))
        if wanted.matches(log)
    ]


def _height(chain: DevChain, reference: int | str) -> int:
    if isinstance(reference, int):
        return reference
    return 0 if reference == "earliest" else chain.number


def _named_header(chain: DevChain, params: Params) -> BlockHeaderAPI | None:
    return chain.header(_height(chain, block_reference(parameter(params, 0))))


def _header(chain: DevChain, params: Params, position: int) -> BlockHeaderAPI:
    reference = block_reference(params[position]) if len(params) > position else "latest"
    header = chain.pending if reference == "pending" else chain.header(_height(chain, reference))
    if header is None:
        raise Refused(f"block {reference} does not exist")
    return header


# -- what only a sandbox has ---------------------------------------------------------------------------------------


def _mine(chain: DevChain, params: Params) -> str:
    blocks = amount(params[0]) if params else 1
    if not 1 <= blocks <= _MAX_BLOCKS_MINED:
        raise InvalidParams(f"the number of blocks is 1 to {_MAX_BLOCKS_MINED}")
    chain.mine(blocks)
    return "0x0"


# Each method with the number of parameters that it takes at most.
METHODS: Final[dict[str, tuple[int, Method]]] = {
    "web3_clientVersion": (0, lambda *_: "emporion-sandbox"),
    "net_version": (0, lambda chain, _: str(chain.chain_id)),
    "net_listening": (0, lambda *_: True),
    "eth_chainId": (0, lambda chain, _: quantity(chain.chain_id)),
    "eth_syncing": (0, lambda *_: False),
    "eth_accounts": (0, lambda *_: []),
    "eth_blockNumber": (0, lambda chain, _: quantity(chain.number)),
    "eth_gasPrice": (0, lambda chain, _: quantity(_base_fee(chain.pending) + PRIORITY_FEE_IN_WEI)),
    "eth_maxPriorityFeePerGas": (0, lambda *_: quantity(PRIORITY_FEE_IN_WEI)),
    "eth_feeHistory": (3, _fee_history),
    "eth_getBalance": (2, _of_account(lambda state, account: quantity(state.get_balance(account)))),
    "eth_getTransactionCount": (2, _of_account(lambda state, account: quantity(state.get_nonce(account)))),
    "eth_getCode": (2, _of_account(lambda state, account: data(state.get_code(account)))),
    "eth_getStorageAt": (3, _storage),
    "eth_call": (2, lambda chain, params: data(chain.call(*_call_at(chain, params)))),
    "eth_estimateGas": (2, lambda chain, params: quantity(chain.estimate(*_call_at(chain, params)))),
    "eth_sendRawTransaction": (1, lambda chain, params: data(chain.send_raw(raw_bytes(parameter(params, 0))))),
    "eth_getTransactionByHash": (1, _transaction),
    "eth_getTransactionReceipt": (1, _receipt),
    "eth_getBlockByNumber": (2, lambda chain, params: _block(chain, params, _named_header(chain, params))),
    "eth_getBlockByHash": (
        2,
        lambda chain, params: _block(chain, params, chain.header_by_hash(hash32(parameter(params, 0)))),
    ),
    "eth_getLogs": (1, _logs),
    "dev_faucet": (
        2,
        lambda chain, params: data(chain.faucet(address(parameter(params, 0)), amount(parameter(params, 1)))),
    ),
    "dev_gas": (1, lambda chain, params: data(chain.gas(address(parameter(params, 0))))),
    "evm_mine": (1, _mine),
}
