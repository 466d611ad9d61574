"""A small model of an EVM chain with USDC: blocks, a mempool, balances, reorgs, contract wallets and identities.

One random generator and one clock decide everything, so the same calls give the same chain in every process.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import NamedTuple

from tests.simulation.blocks import (
    BLOCK_SECONDS,
    Json,
    Mined,
    Move,
    Transaction,
    Transfer,
    Window,
    block_json,
    receipt_json,
)
from tools.chain.erc8004 import OWNER_OF, TOKEN_URI
from tools.chain.wallet_proof import signer_of
from tools.engine.config import Network
from tools.engine.ports import Clock

FIRST_HEAD = 1_000  # blocks that exist when a simulation begins
SPREAD = 3  # the number of next blocks, one of which has a transaction
LOST = 0.2  # the share of a reorg's transactions that no block has any more
FAKE_TOKEN = "0x" + "fa" * 20  # its transfers need no balance

_IS_VALID_SIGNATURE = "0x1626ba7e"


@dataclass(frozen=True, slots=True)
class Fork:
    """The blocks that the last reorg replaced: `start` to `top`."""

    start: int
    top: int
    hashes: dict[int, str]
    blocks: dict[int, list[Mined]]
    places: dict[str, Mined]  # by the transaction's hash


class View(NamedTuple):
    """The chain that a node knows: up to `top`, with the replaced blocks if it is on a fork."""

    top: int
    fork: Fork | None = None


class SimulatedChain:
    """The chain of one environment, whose blocks follow a clock.

    Blocks are two seconds apart and are made when something is read. A clock that goes back changes nothing. Addresses
    may be written in any case, hashes and nonces in lower case only.
    """

    def __init__(self, network: Network, clock: Clock, dice: Random) -> None:
        self.network, self.clock = network, clock
        self.usdc = network.asset.lower()
        self._dice, self._seed = dice, dice.getrandbits(64)
        self._genesis = int(clock.now().timestamp()) - FIRST_HEAD * BLOCK_SECONDS
        self._head = FIRST_HEAD
        self._sent = 0  # numbers everything that enters the mempool
        self._mempool: list[tuple[int, int, Transaction]] = []  # a heap by block number and order
        self._transactions: dict[str, Transaction] = {}
        self._blocks: dict[int, list[Mined]] = {}  # only those with transactions
        self._branches = [(0, 0)]  # the first block of each branch, and its number
        self._reorgs = 0
        self.replaced_at = -inf  # the monotonic time of the last reorg
        self._fork: Fork | None = None
        self._transfers: list[Transfer] = []
        self._once_final: defaultdict[str, list[Transfer]] = defaultdict(list)
        self._balances: defaultdict[str, int] = defaultdict(int)
        self._used: set[tuple[str, str]] = set()  # payer and nonce
        self._owners: dict[str, str] = {}  # of contract wallets
        self._identities: dict[int, tuple[str, str]] = {}  # owner and URI

    # -- sending -------------------------------------------------------------------------------------------------------

    def fund(self, address: str, amount: int) -> None:
        """Give an address USDC at once, outside of all blocks."""
        self._balances[address.lower()] += amount

    def send_transfer(
        self, sender: str, recipient: str, amount: int, token: str | None = None, *, beside: str = ""
    ) -> str:
        """Send a transfer of USDC or another token; return its hash.

        It is mined with status 0 if the balance is too low then. `beside` is hex that follows the call data.
        """
        return self.send_several(sender, [(sender, recipient, amount)], token, beside=beside)

    def send_several(
        self, sender: str, moves: Iterable[tuple[str, str, int]], token: str | None = None, *, beside: str = ""
    ) -> str:
        """Send transfers (from, to, amount) in one transaction, which succeeds or fails as a whole."""
        contract = (token or self.usdc).lower()
        made = tuple(Move(contract, one.lower(), other.lower(), amount) for one, other, amount in moves)
        return self._send(sender, made, beside)

    def authorize(
        self,
        payer: str,
        payee: str,
        amount: int,
        window: Window,
        *,
        relayer: str | None = None,
        signed: bool = True,
        beside: str = "",
    ) -> str:
        """Send the payer's EIP-3009 authorization; return the hash.

        It is mined with status 0 if the nonce is used, the time is not within the window, the balance is too low, or it
        is not `signed` by the payer.
        """
        move = Move(self.usdc, payer.lower(), payee.lower(), amount, window)
        return self._send(relayer or payer, (move,), beside, signed=signed)

    def new_hash(self) -> str:
        """Return the hash of a transaction that was never sent."""
        self._sent += 1
        return self._digest(f"transaction:{self._sent}")

    # -- reading -------------------------------------------------------------------------------------------------------

    def head(self) -> int:
        """Return the number of the newest block."""
        self._advance()
        return self._head

    def block_time(self, number: int) -> int:
        """Return the time of a block in Unix seconds."""
        return self._genesis + number * BLOCK_SECONDS

    def balance(self, address: str) -> int:
        """Return the USDC of an address after the newest block."""
        self._advance()
        return self._balances.get(address.lower(), 0)

    def is_used(self, payer: str, nonce: str) -> bool:
        """Check whether a block has a successful authorization with this nonce."""
        self._advance()
        return (payer.lower(), nonce) in self._used

    def was_charged(self, payer: str, nonce: str, transaction: str | None) -> bool:
        """Tell if a block has an authorization, or its transaction was once in a confirmed block."""
        return self.is_used(payer, nonce) or bool(transaction and self.once_final(transaction))

    def transfers(self) -> Sequence[Transfer]:
        """Return all successful USDC transfers of the chain, in order. Do not change the list."""
        self._advance()
        return self._transfers

    def transfers_of(self, transaction: str) -> list[Transfer]:
        """Return the successful USDC transfers of one transaction; none if no block has it."""
        self._advance()
        sent = self._transactions.get(transaction)
        if sent is None or sent.mined is None:
            return []
        return list(sent.mined.transfers(self.usdc, self.block_time(sent.mined.number)))

    def once_final(self, transaction: str) -> Sequence[Transfer]:
        """Return the USDC transfers that a transaction made in a confirmed block.

        Only those in blocks that a reorg has replaced since.
        """
        return self._once_final.get(transaction, ())

    def confirmations(self, transaction: str) -> int:
        """Return the number of blocks since a transaction, its own included; 0 if no block has it."""
        self._advance()
        sent = self._transactions.get(transaction)
        return 0 if sent is None or sent.mined is None else self._head - sent.mined.number + 1

    def is_final(self, transaction: str) -> bool:
        """Check whether a transaction has the network's confirmations.

        Only a reorg that is as deep removes it.
        """
        return self.confirmations(transaction) >= self.network.confirmations

    # -- reorgs --------------------------------------------------------------------------------------------------------

    def reorg(self, depth: int, lost: float = LOST) -> list[str]:
        """Replace the newest blocks; return the hashes of the transactions that were in them.

        A seeded share of these is `lost` for good. The others are mined in another order, in the new blocks or later.
        """
        self._advance()
        start = max(1, self._head - depth + 1)
        numbers = range(start, self._head + 1)
        hashes = {number: self.block_hash(number) for number in numbers}
        blocks = {number: self._blocks.pop(number) for number in numbers if number in self._blocks}
        found = [one for number in blocks for one in blocks[number]]
        places = {one.transaction.hash: one for one in found}
        self._fork = Fork(start, self._head, hashes, blocks, places)
        self._reorgs += 1
        self.replaced_at = self.clock.monotonic()
        del self._branches[bisect_right(self._branches, (start - 1, self._reorgs)) :]
        self._branches.append((start, self._reorgs))
        while self._transfers and self._transfers[-1].block_number >= start:
            self._transfers.pop()
        for one in reversed(found):
            if self.is_final(one.transaction.hash):
                transfers = one.transfers(self.usdc, self.block_time(one.number))
                self._once_final[one.transaction.hash].extend(transfers)
            one.transaction.mined = None
            if one.succeeded:
                self._undo(one.transaction.moves)
        self._mine_again([one.transaction for one in found], start, lost)
        return list(places)

    def _mine_again(self, transactions: list[Transaction], start: int, lost: float) -> None:
        self._dice.shuffle(transactions)
        for one in transactions:
            if self._dice.random() >= lost:
                self._queue(one, self._dice.randint(start, self._head + SPREAD))

    # -- contracts -----------------------------------------------------------------------------------------------------

    def register_wallet(self, address: str, owner: str) -> None:
        """Deploy a contract wallet that accepts the signatures of an owner's key (ERC-1271)."""
        self._owners[address.lower()] = owner.lower()

    def register_identity(self, token: int, owner: str, uri: str) -> None:
        """Give a token of the ERC-8004 registry an owner and a URI."""
        self._identities[token] = owner.lower(), uri

    def burn_identity(self, token: int) -> None:
        """Remove a token of the ERC-8004 registry."""
        del self._identities[token]

    def accepts(self, address: str, digest: bytes, signature: str) -> bool:
        """Check a signature of 32 bytes, by the key of an address or of its contract wallet's owner."""
        signer = signer_of(digest, signature)
        return signer is not None and signer.lower() == self._owners.get(address.lower(), address.lower())

    def call(self, to: str, data: str) -> str | None:
        """Return the answer of a contract as 0x hex; None if it reverts, 0x if there is no contract."""
        if to.lower() == self.network.identity_registry.lower():
            return self._registry(data[:10], int(data[10:74], 16))
        if to.lower() not in self._owners or not data.startswith(_IS_VALID_SIGNATURE):
            return "0x"
        given = bytes.fromhex(data[10:])
        signature = given[96 : 96 + int.from_bytes(given[64:96])]
        agrees = self.accepts(to, given[:32], f"0x{signature.hex()}")
        return (_IS_VALID_SIGNATURE if agrees else "0xffffffff").ljust(66, "0")

    def _registry(self, selector: str, token: int) -> str | None:
        if token not in self._identities:
            return None
        owner, uri = self._identities[token]
        if selector == OWNER_OF:
            return f"0x{owner[2:]:0>64}"
        if selector != TOKEN_URI:
            return None
        text = uri.encode().hex()
        return f"0x{32:064x}{len(text) // 2:064x}{text}{'0' * (-len(text) % 64)}"

    # -- the chain as a node describes it ------------------------------------------------------------------------------

    def view(self, lag: int = 0, *, forked: bool = False) -> View:
        """Return the chain as it was `lag` blocks ago.

        If `forked`, it has the blocks that a reorg replaced since.
        """
        self._advance()
        top, fork = self._head - lag, self._fork
        stale = forked and lag > 0 and fork is not None and fork.start <= top <= fork.top
        return View(top, fork if stale else None)

    def receipt(self, view: View, transaction: str) -> Json | None:
        """Return the receipt of a transaction; None if the view has it in no block."""
        fork, sent = view.fork, self._transactions.get(transaction)
        found = None if sent is None else sent.mined
        if fork is not None and (found is None or found.number >= fork.start):
            found = fork.places.get(transaction)
        return None if found is None or found.number > view.top else receipt_json(found)

    def block(self, view: View, number: int, *, whole: bool) -> Json | None:
        """Return a block with its transactions, as hashes or whole; None if it is not there."""
        if number > view.top:
            return None
        fork = view.fork
        blocks = self._blocks if fork is None or number < fork.start else fork.blocks
        hashes = self.block_hash(number, view), self.block_hash(number - 1, view)
        return block_json(number, *hashes, self.block_time(number), blocks.get(number, ()), whole=whole)

    def block_hash(self, number: int, view: View | None = None) -> str:
        """Return the hash of a block."""
        if view is not None and view.fork is not None and number >= view.fork.start:
            return view.fork.hashes[number]
        branch = self._branches[bisect_right(self._branches, (number, self._reorgs)) - 1][1]
        return self._digest(f"block:{branch}:{number}")

    # -- mining --------------------------------------------------------------------------------------------------------

    def _send(self, sender: str, moves: tuple[Move, ...], beside: str, *, signed: bool = True) -> str:
        self._advance()
        sent = Transaction(self.new_hash(), sender.lower(), moves, beside, signed)
        self._transactions[sent.hash] = sent
        self._queue(sent, self._head + self._dice.randint(1, SPREAD))
        return sent.hash

    def _queue(self, transaction: Transaction, number: int) -> None:
        self._sent += 1
        heappush(self._mempool, (number, self._sent, transaction))

    def _advance(self) -> None:
        """Make the blocks up to now."""
        seconds = int(self.clock.now().timestamp()) - self._genesis
        self._head = head = max(self._head, seconds // BLOCK_SECONDS)
        while self._mempool and self._mempool[0][0] <= head:
            number, _, transaction = heappop(self._mempool)
            self._mine(transaction, number)

    def _mine(self, transaction: Transaction, number: int) -> None:
        block, seconds = self._blocks.setdefault(number, []), self.block_time(number)
        succeeded = transaction.signed and self._execute(transaction.moves, seconds)
        first_log = block[-1].next_log if block else 0
        mined = Mined(transaction, number, self.block_hash(number), len(block), first_log, succeeded)
        transaction.mined = mined
        block.append(mined)
        self._transfers.extend(mined.transfers(self.usdc, seconds))

    def _execute(self, moves: tuple[Move, ...], seconds: int) -> bool:
        """Make all moves, or none if one of them fails."""
        for place, move in enumerate(moves):
            if not self._allows(move, seconds):
                self._undo(moves[:place])
                return False
            self._shift(move, 1)
            if move.window is not None:
                self._used.add((move.sender, move.window.nonce))
        return True

    def _allows(self, move: Move, seconds: int) -> bool:
        """Check the rules of USDC; other tokens have none."""
        if move.window is not None:
            nonce, after, before = move.window
            if (move.sender, nonce) in self._used or not after < seconds < before:
                return False
        return move.token != self.usdc or self._balances[move.sender] >= move.amount

    def _undo(self, moves: tuple[Move, ...]) -> None:
        for move in reversed(moves):
            self._shift(move, -1)
            if move.window is not None:
                self._used.discard((move.sender, move.window.nonce))

    def _shift(self, move: Move, times: int) -> None:
        if move.token == self.usdc:
            self._balances[move.sender] -= times * move.amount
            self._balances[move.recipient] += times * move.amount

    def _digest(self, name: str) -> str:
        return f"0x{blake2b(f'{self._seed}:{name}'.encode(), digest_size=32).hexdigest()}"
