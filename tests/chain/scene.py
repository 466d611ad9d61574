"""A buyer, a seller and the payment verdict between them, read through a node that can be made to misbehave."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from eth_account.signers.local import LocalAccount

from server.world.chain import JsonRpcChain
from tests.chain import flows
from tests.chain.evm import Evm
from tests.chain.faults import FaultyNode
from tools.rules.transfers import Kind, Reason, Terms, Verdict, judge, normalise_hash
from tools.steps.chain_reading import look_up

ONE = 1_000_000


@dataclass
class Scene:
    """One test's people; `terms` is what a job made now would ask. Keyword arguments of the methods change the terms."""

    evm: Evm
    node: FaultyNode
    chain: JsonRpcChain
    buyer: LocalAccount
    seller: LocalAccount
    terms: Terms

    def pay(self, amount_minor: int = ONE) -> str:
        """A plain, honest payment. Its transaction."""
        return flows.plain(self.evm, self.buyer, self.seller, amount_minor)

    def wallet(self) -> flows.Wallet:
        """A smart wallet of the buyer's, with money."""
        return flows.smart_wallet(self.evm, 10 * ONE)

    async def verdict(self, transaction: str, **changed: Any) -> Verdict:
        """What the product says; of the wallets seen in a party's place the rules' own tests tell."""
        name = normalise_hash(transaction)
        found = judge(name, await look_up(self.chain, name), replace(self.terms, **changed))
        return replace(found, strangers=())

    def paid(self, transaction: str, amount_minor: int = ONE, **changed: Any) -> Verdict:
        """The whole verdict that the first payer of the terms paid the first payee."""
        terms = replace(self.terms, **changed)
        payer, payee = terms.payers[0].lower(), terms.payees[0].lower()
        placed = self.placed(Kind.PAID, transaction, **changed)
        return replace(placed, amount_minor=amount_minor, payer=payer, payee=payee)

    def invalid(self, transaction: str, reason: Reason, **changed: Any) -> Verdict:
        """The whole verdict that the transaction is mined and no payment."""
        return replace(self.placed(Kind.INVALID, transaction, **changed), reason=reason)

    def placed(self, kind: Kind, transaction: str, **changed: Any) -> Verdict:
        """A verdict with the place of the transaction as the chain itself tells it."""
        receipt = self.evm.receipt(transaction)
        number = int(receipt["blockNumber"], 16)
        return Verdict(
            kind,
            required=replace(self.terms, **changed).confirmations,
            block_number=number,
            block_hash=receipt["blockHash"],
            block_time=int(self.evm.rpc("eth_getBlockByNumber", hex(number), False)["timestamp"], 16),
            confirmations=self.evm.head() - number + 1,
        )

    def pending(self, transaction: str, receipt: Any = None) -> Verdict:
        """The verdict on a receipt whose block the chain does not have, or not that one."""
        receipt = receipt or self.evm.receipt(transaction)
        number = int(receipt["blockNumber"], 16)
        return Verdict(Kind.PENDING, required=1, block_number=number, block_hash=receipt["blockHash"])


@asynccontextmanager
async def open_scene(evm: Evm) -> AsyncIterator[Scene]:
    """People with money, a node in front of `evm`, and a reader of that node."""
    buyer, seller = evm.person(10 * ONE), evm.person(10 * ONE)
    terms = Terms(evm.usdc, (buyer.address,), (seller.address,), 0, after_block=evm.head(), confirmations=1)
    async with FaultyNode(evm.url) as node:
        chain = JsonRpcChain(node.url, evm.chain_id, timeout_in_seconds=10)
        try:
            yield Scene(evm, node, chain, buyer, seller, terms)
        finally:
            await chain.close()
