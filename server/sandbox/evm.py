"""The sandbox's chain on py-evm: one block per transaction, block times from a given clock, exactly repeatable blocks.

Built on py-evm alone. The layers usually put above it (eth-tester, web3's tester provider) fix another chain id, date a
block by when its predecessor was sealed, draw random numbers into headers and search receipts block by block.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from eth.abc import BlockAPI, BlockHeaderAPI, ComputationAPI, ReceiptAPI, SignedTransactionAPI, StateAPI
from eth.chains.base import MiningChain
from eth.db.atomic import AtomicDB
from eth.db.backends.memory import MemoryDB
from eth.exceptions import HeaderNotFound, PyEVMError, Revert
from eth.typing import AccountState, HeaderParams
from eth.vm.forks.prague import PragueVM
from eth.vm.spoof import SpoofTransaction
from eth_abi.abi import encode
from eth_keys.exceptions import BadSignature
from eth_typing import Address, BlockNumber, Hash32
from eth_utils.abi import function_signature_to_4byte_selector
from eth_utils.address import to_canonical_address
from eth_utils.crypto import keccak
from eth_utils.exceptions import ValidationError
from rlp.exceptions import RLPException

from server.sandbox import genesis
from server.sandbox.journal import Header, Journal, JournalDamaged, Sealed

PRIORITY_FEE_IN_WEI: Final = 10**9
GAS_GIFT_IN_WEI: Final = 10**18
_BLOB_TRANSACTION: Final = 3
_MAX_FEE_IN_WEI: Final = 10**12
_CALL_STIPEND: Final = 2300
_PAY_OUT_GAS: Final = 300_000


class Refused(ValueError):
    """The chain rejects this transaction or call; the message says why. Nothing changed."""


class Reverted(Exception):
    """The called contract reverted; `data` is what it returned."""

    def __init__(self, data: bytes) -> None:
        super().__init__("execution reverted")
        self.data = data


@dataclass(frozen=True, slots=True)
class Call:
    """A message call that is run without a transaction.

    If `to` is None, `data` is run as creation code. If `gas` is None, the limit is that of a block.
    """

    data: bytes = b""
    to: bytes | None = None
    sender: bytes = bytes(20)
    value: int = 0
    gas: int | None = None


class DevChain:
    """An EVM chain in memory. It is not thread-safe: if it is shared, hold `lock` for each call."""

    def __init__(
        self,
        chain_id: int,
        now: Callable[[], int],
        *,
        genesis_time: int | None = None,
        on_block: Callable[[Sealed], None] = lambda _: None,
    ) -> None:
        """Make a new chain; `now` returns Unix seconds.

        `on_block` is called with every block before it is added; if it raises, the block is not added.
        """
        self.chain_id = chain_id
        self.usdc = genesis.USDC[chain_id]
        self.lock = threading.RLock()
        self.on_block = on_block
        self._now = now
        self._chain = _chain(chain_id, genesis_time if genesis_time is not None else now())
        self._hashes: list[Hash32] = [self._chain.get_canonical_block_hash(BlockNumber(0))]
        self._places: dict[bytes, tuple[int, int]] = {}
        self._open: BlockHeaderAPI | None = None

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def number(self) -> int:
        """The height of the last block."""
        return len(self._hashes) - 1

    @property
    def genesis(self) -> bytes:
        """The hash of block 0, which is different for each chain that was ever made."""
        return self._hashes[0]

    @property
    def head(self) -> BlockHeaderAPI:
        """The last block's header."""
        return self._chain.get_block_header_by_hash(self._hashes[-1])

    @property
    def pending(self) -> BlockHeaderAPI:
        """The header of the next block, with held transactions already applied."""
        return self._open or self._next_header()

    def header(self, number: int) -> BlockHeaderAPI | None:
        """Return the header at a height; None above the head."""
        return self._chain.get_block_header_by_hash(self._hashes[number]) if 0 <= number <= self.number else None

    def header_by_hash(self, block_hash: bytes) -> BlockHeaderAPI | None:
        """Return the header with a hash; None if it is unknown or on a dropped branch."""
        try:
            found = self._chain.get_block_header_by_hash(Hash32(block_hash))
        except HeaderNotFound:
            return None
        return found if self.header(found.block_number) == found else None

    def block(self, header: BlockHeaderAPI) -> BlockAPI:
        """Return the whole block of a header of this chain."""
        return self._chain.get_block_by_header(header)

    def receipts(self, block: BlockAPI) -> tuple[ReceiptAPI, ...]:
        """Return the receipts of a block, in the order of its transactions."""
        return block.get_receipts(self._chain.chaindb)

    def find(self, transaction_hash: bytes) -> tuple[BlockAPI, int] | None:
        """Return the block of a transaction and its position there; None if it was not mined."""
        number, position = self._places.get(transaction_hash, (-1, 0))
        header = self.header(number)
        return None if header is None else (self.block(header), position)

    def state(self, header: BlockHeaderAPI) -> StateAPI:
        """Return balances, nonces, code and storage after the block of a header."""
        return self._chain.get_vm(header).state

    # -- running without sending -----------------------------------------------------------------------------------

    def call(self, call: Call, header: BlockHeaderAPI) -> bytes:
        """Return the result of a call in the state after `header`.

        If `header` is the head, the call sees the current time. Raises Reverted if the contract reverts, and Refused if
        the call cannot run.
        """
        computation = self._run(call, header, min(call.gas or genesis.GAS_LIMIT, genesis.GAS_LIMIT))
        if not computation.is_error:
            return computation.output
        if isinstance(computation.error, Revert):
            raise Reverted(computation.output)
        raise Refused(f"execution failed: {computation.error!r}")

    def estimate(self, call: Call, header: BlockHeaderAPI) -> int:
        """Return a gas limit at which the call succeeds, at most 1/64 too high; raises like `call`."""
        most = min(call.gas or genesis.GAS_LIMIT, genesis.GAS_LIMIT)
        self.call(call, header)
        used = self._run(call, header, most).get_gas_used()
        least = self._unsigned(call, 0, most).intrinsic_gas - 1
        guess = min((least + 1 + used + _CALL_STIPEND) * 64 // 63, most)
        if not self._run(call, header, guess).is_error:
            most = guess
        while most - least > most // 64:
            middle = (most + least) // 2
            if self._run(call, header, middle).is_error:
                least = middle
            else:
                most = middle
        return most

    def _run(self, call: Call, header: BlockHeaderAPI, gas: int) -> ComputationAPI:
        # An idle chain's last block is old. A contract that compares times must see the current time, as on a live net.
        time = max(header.timestamp, self._now()) if header.hash == self._hashes[-1] else header.timestamp
        state = self.state(header.copy(base_fee_per_gas=0, timestamp=time))
        unsigned = self._unsigned(call, state.get_nonce(Address(call.sender)), gas)
        if gas < unsigned.intrinsic_gas:
            raise Refused("intrinsic gas too low")
        try:
            return state.apply_transaction(cast(SignedTransactionAPI, SpoofTransaction(unsigned, from_=call.sender)))
        except ValidationError as problem:
            raise Refused(str(problem)) from problem

    def _unsigned(self, call: Call, nonce: int, gas: int, *, tip: int = 0, max_fee: int = 0) -> Any:
        return PragueVM.get_transaction_builder().new_unsigned_dynamic_fee_transaction(  # type: ignore[attr-defined]
            chain_id=self.chain_id,
            nonce=nonce,
            max_priority_fee_per_gas=tip,
            max_fee_per_gas=max_fee,
            gas=gas,
            to=call.to or b"",
            value=call.value,
            data=call.data,
            access_list=[],
        )

    # -- writing ---------------------------------------------------------------------------------------------------

    def send_raw(self, raw: bytes) -> bytes:
        """Mine a signed transaction at once and return its hash; raises Refused if it is invalid."""
        transaction = self._decoded(raw)
        if self.find(transaction.hash) is not None:
            raise Refused("already known")
        self._apply(transaction, self.pending)
        self._seal()
        return transaction.hash

    def faucet(self, address: bytes, amount_minor: int) -> bytes:
        """Mint USDC (minor units) to an address and return the transaction's hash.

        Raises Reverted above the token's cap for one mint.
        """
        selector = function_signature_to_4byte_selector("mint(address,uint256)")
        data = selector + encode(["address", "uint256"], [address, amount_minor])
        return self._pay_out(to_canonical_address(self.usdc), 0, data)

    def gas(self, address: bytes) -> bytes:
        """Send one coin for gas to an address and return the transaction's hash.

        Raises Reverted for a contract that accepts none.
        """
        return self._pay_out(address, GAS_GIFT_IN_WEI, b"")

    def mine(self, blocks: int = 1) -> None:
        """Mine blocks; the first contains the transactions that were held."""
        for _ in range(blocks):
            self._open = self.pending
            self._seal()

    def replay(self, sealed: Sealed) -> bytes:
        """Make a recorded block again with its time; return its hash, which the caller compares."""
        if sealed.timestamp <= self.head.timestamp:
            raise Refused(f"block {sealed.number} is not later than the block before it")
        self._open = self._next_header(sealed.timestamp)
        for raw in sealed.transactions:
            self._apply(self._decoded(raw), self._open)
        self._seal()
        return self._hashes[-1]

    def _decoded(self, raw: bytes) -> SignedTransactionAPI:
        if raw[:1] == bytes([_BLOB_TRANSACTION]):
            raise Refused("blob transactions are not supported")
        try:
            transaction = PragueVM.get_transaction_builder().decode(raw)
            transaction.validate()
            _ = transaction.sender
        except (ValidationError, RLPException, PyEVMError, BadSignature, TypeError, ValueError, IndexError) as problem:
            raise Refused(f"not a valid signed transaction: {problem}") from problem
        if chain_id_of(transaction) != self.chain_id:
            raise Refused(f"invalid chain id: this chain is {self.chain_id}")
        return transaction

    def _apply(self, transaction: SignedTransactionAPI, header: BlockHeaderAPI) -> None:
        self._chain.header = header
        try:
            self._chain.apply_transaction(transaction)
        except ValidationError as problem:
            raise Refused(str(problem)) from problem
        self._open = self._chain.header

    def _seal(self) -> None:
        header, self._open = self._open, None
        if header is None:
            raise RuntimeError("no block is open")
        vm = self._chain.get_vm(header)
        block = vm.mine_block(vm.get_block()).block
        self._chain.validate_block(block)
        raw = tuple(one.encode() for one in block.transactions)
        self.on_block(Sealed(block.number, block.header.timestamp, raw, block.hash))
        self._chain.chaindb.persist_block(block)
        self._hashes.append(block.hash)
        self._places.update({one.hash: (block.number, index) for index, one in enumerate(block.transactions)})

    def _next_header(self, timestamp: int | None = None) -> BlockHeaderAPI:
        head = self.head
        return self._chain.create_header_from_parent(
            head,
            timestamp=timestamp or max(head.timestamp + 1, self._now()),
            gas_limit=head.gas_limit,
            mix_hash=keccak(head.hash + bytes(8)),  # in place of a beacon chain's randomness: the same on every replay
        )

    def _pay_out(self, to: bytes, value: int, data: bytes) -> bytes:
        key = genesis.bank()
        sender = key.public_key.to_canonical_address()
        call = Call(data, to, sender, value, _PAY_OUT_GAS)
        self.call(call, self.head)
        nonce = self.state(self.pending).get_nonce(Address(sender))
        unsigned = self._unsigned(call, nonce, _PAY_OUT_GAS, tip=PRIORITY_FEE_IN_WEI, max_fee=_MAX_FEE_IN_WEI)
        return self.send_raw(unsigned.as_signed_transaction(key).encode())


def chain_id_of(transaction: SignedTransactionAPI) -> int | None:
    """Return the chain a transaction was signed for; None for the old kind without a chain id."""
    if transaction.type_id is not None:
        return cast(int, transaction.chain_id)
    v = cast(int, cast(Any, transaction).v)
    return (v - 35) // 2 if v >= 35 else None


def _chain(chain_id: int, genesis_time: int) -> MiningChain:
    class SandboxChain(MiningChain):
        vm_configuration = ((BlockNumber(0), PragueVM),)

    SandboxChain.chain_id = chain_id
    parameters: dict[str, HeaderParams] = {
        "difficulty": 0,
        "gas_limit": genesis.GAS_LIMIT,
        "timestamp": genesis_time,
        "extra_data": b"emporion",
    }
    accounts = cast(AccountState, genesis.genesis_accounts(chain_id))
    return cast(MiningChain, SandboxChain.from_genesis(AtomicDB(MemoryDB()), parameters, accounts))


def blocks_between(chain: DevChain, first: int, last: int) -> Iterator[BlockAPI]:
    """Yield the blocks of a range of heights, both ends included, as far as they exist."""
    headers = map(chain.header, range(max(first, 0), min(last, chain.number) + 1))
    return (chain.block(header) for header in headers if header is not None)


def open_chain(
    directory: Path, chain_id: int, now: Callable[[], int], tell: Callable[[int], None] = lambda _: None
) -> tuple[DevChain, Journal]:
    """Restore the chain of a directory, or begin a new one; new blocks go to the journal.

    `now` returns Unix seconds; `tell` is called with the number of each restored block. Raises JournalDamaged if a
    block comes out different, and JournalInUse if another process uses the directory.
    """
    journal = Journal(directory, Header(chain_id, now(), genesis.contracts_hash()))
    try:
        chain = DevChain(chain_id, now, genesis_time=journal.header.genesis_time)
        for sealed in journal.blocks():
            _replay(chain, journal, sealed)
            tell(sealed.number)
    except BaseException:
        journal.close()
        raise
    chain.on_block = journal.append
    return chain, journal


def _replay(chain: DevChain, journal: Journal, sealed: Sealed) -> None:
    try:
        made = chain.replay(sealed)
    except Refused as problem:
        raise JournalDamaged(journal.path, f"block {sealed.number} cannot be replayed ({problem})") from problem
    if made != sealed.hash:
        raise JournalDamaged(journal.path, f"block {sealed.number} came out different")
