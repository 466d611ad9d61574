"""A buyer, a seller and the payment verdict between them, read through a faulty node."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from eth_account.signers.local import LocalAccount

from server.adapters.chain import ABSENT_SECONDS, JsonRpcChain
from tests.support import payment_flows
from tests.support.evm import Evm
from tests.support.faulty_node import FaultyNode
from tools.chain.chain_reads import look_up
from tools.chain.transfer_verification import InvalidReason, Terms, TransferStatus, Verification, normalise_hash, verify

ONE = 1_000_000


@dataclass
class Scene:
    """The parties of a test.

    `terms` are those of a new job; keyword arguments of the methods change them.
    """

    evm: Evm
    node: FaultyNode
    chain: JsonRpcChain
    buyer: LocalAccount
    seller: LocalAccount
    terms: Terms
    seconds: list[float]  # the reader's clock

    def pay(self, amount_minor: int = ONE) -> str:
        """Make a plain, honest payment; return its hash."""
        return payment_flows.plain(self.evm, self.buyer, self.seller, amount_minor)

    def wallet(self) -> payment_flows.Wallet:
        """Return a smart wallet of the buyer, with USDC."""
        return payment_flows.smart_wallet(self.evm, 10 * ONE)

    async def verdict(self, transaction: str, **changed: Any) -> Verification:
        """Return the market's verdict, after the reader's cache of unknown hashes has expired."""
        name = normalise_hash(transaction)
        self.seconds[0] += ABSENT_SECONDS
        terms = replace(self.terms, **changed)
        found = verify(name, await look_up(self.chain, name, terms.confirmations), terms)
        return replace(found, strangers=())

    def paid(self, transaction: str, amount_minor: int = ONE, **changed: Any) -> Verification:
        """Return the expected verdict: the first payer of the terms paid the first payee."""
        terms = replace(self.terms, **changed)
        payer, payee = terms.payers[0].lower(), terms.payees[0].lower()
        placed = self.placed(TransferStatus.PAID, transaction, **changed)
        return replace(placed, amount_minor=amount_minor, payer=payer, payee=payee)

    def invalid(self, transaction: str, reason: InvalidReason, **changed: Any) -> Verification:
        """Return the expected verdict: the transaction is mined but is no payment."""
        return replace(self.placed(TransferStatus.INVALID, transaction, **changed), reason=reason)

    def placed(self, kind: TransferStatus, transaction: str, **changed: Any) -> Verification:
        """Return a verdict with the place of the transaction from the chain itself."""
        receipt = self.evm.receipt(transaction)
        number = int(receipt["blockNumber"], 16)
        return Verification(
            kind,
            required=replace(self.terms, **changed).confirmations,
            block_number=number,
            block_hash=receipt["blockHash"],
            block_time=int(self.evm.rpc("eth_getBlockByNumber", hex(number), False)["timestamp"], 16),
            confirmations=self.evm.head() - number + 1,
        )

    def pending(self, transaction: str, receipt: Any = None) -> Verification:
        """Return the expected verdict on a receipt whose block is not on the chain."""
        receipt = receipt or self.evm.receipt(transaction)
        number = int(receipt["blockNumber"], 16)
        return Verification(TransferStatus.PENDING, required=1, block_number=number, block_hash=receipt["blockHash"])


@asynccontextmanager
async def open_scene(evm: Evm) -> AsyncIterator[Scene]:
    """Open accounts with money, a faulty node in front of `evm`, and a reader of that node."""
    buyer, seller = evm.person(10 * ONE), evm.person(10 * ONE)
    terms = Terms(evm.usdc, (buyer.address,), (seller.address,), 0, after_block=evm.head(), confirmations=1)
    async with FaultyNode(evm.url) as node:
        seconds = [0.0]
        chain = JsonRpcChain(node.url, evm.chain_id, timeout_in_seconds=10, monotonic=lambda: seconds[0])
        try:
            yield Scene(evm, node, chain, buyer, seller, terms, seconds)
        finally:
            await chain.close()
