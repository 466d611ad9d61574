"""Searches for gas-free payments: the market made the nonce, so it finds the transaction in the chain's blocks."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from storage.payment_searches import claim_searches, end_search, note_searched, open_searches
from storage.tables import JobRow, PaymentSearchRow
from storage.transaction import Tx
from tools.chain.block_reader import BLOCKS_AT_ONCE, last_confirmed, read_block
from tools.chain.errors import PaymentInvalid, TransactionNotFound
from tools.chain.node_answers import InvalidNodeAnswer
from tools.chain.transfer_proof import chain_failed, chain_of, known_settlement
from tools.chain.transfer_verification import ChainDown
from tools.chain.x402_payload import Authorization
from tools.chain.x402_payments import AFTERMATH, QUIET, settles, transactions_with_nonce
from tools.engine.context import ReadContext, TxContext
from tools.jobs.logic import own_job_locked
from tools.jobs.payments.logic import TransferProof, apply_transfer, prove_transfer
from tools.jobs.payments.records import PaymentTerms
from tools.jobs.payments.terms import transfer_terms
from tools.jobs.snapshot import load
from tools.kernel.errors import MarketError
from tools.kernel.records import stamp

OPEN = 200  # searches of an environment at once; the others wait
MATCHES = 5  # transactions of one block with the same nonce that are judged; others can be proven by their hash
PAUSE = timedelta(seconds=5)  # between two looks of the workers
LEASE = timedelta(seconds=15)  # for the process that looks
RETRY_SECONDS, WAITING_SECONDS = 3, 30


@dataclass(frozen=True, slots=True)
class Looked:
    """A step of a search, and its payment if it was found."""

    search: PaymentSearchRow
    scanned_to: int
    block_time: int = 0  # of that block, in Unix seconds; 0: no block was read
    is_behind: bool = False  # more confirmed blocks are to be read
    proof: TransferProof | None = None

    def is_over(self, now: datetime, patience: timedelta) -> bool:
        """Check whether no later block can have the payment.

        If the chain makes no new blocks, that is assumed after `patience`.
        """
        ends = datetime.fromtimestamp(self.search.valid_before, UTC)
        past = self.block_time >= self.search.valid_before
        return self.proof is None and (past or (not self.is_behind and now >= ends + patience))


def begin_search(ctx: TxContext, terms: PaymentTerms | None) -> None:
    """Store that gas-free terms are answered, so that their payment is found in a later block."""
    if terms is None or terms.gasless is None:
        return
    message = terms.gasless["typed_data"]["message"]
    nonce, until = message["nonce"], message["validBefore"]
    known = ctx.tx.get(PaymentSearchRow, terms.job_id, lock=True)
    if known is not None and known.nonce == nonce:
        ctx.tx.change(known, valid_before=max(until, known.valid_before))
        return
    head = _known_head(ctx, terms.job_id)
    if head is not None:
        place = max(0, head - ctx.network.confirmations)  # later blocks may still be replaced
        key = {"job_id": terms.job_id, "env": ctx.env}
        found = {"nonce": nonce, "scanned_to": place, "valid_before": until, "look_at": ctx.now}
        ctx.tx.add_or_change(PaymentSearchRow, known, key, **found)


def _known_head(ctx: TxContext, job_id: str) -> int | None:
    """Return a block number that the chain had reached before; None if its node never answered."""
    chain = ctx.world.chains.get(ctx.env)
    if chain is not None and chain.last_head is not None:
        return chain.last_head[0]
    return ctx.tx.need(JobRow, job_id).head_at_order


async def find_payment(read_ctx: ReadContext, job_id: str) -> TransferProof | None:
    """Find the gas-free payment of a job; None if nothing is searched for, or no longer.

    Raises TransactionNotFound while a block may still have it.
    """
    search, is_open = await read_ctx.store.read(lambda tx: _search_of(read_ctx, tx, job_id))
    if search is None:
        return None
    if not is_open:
        raise _not_found(search, f"{OPEN} earlier payments are searched for first", WAITING_SECONDS)
    try:
        looked = await _look_for(read_ctx, search, await chain_of(read_ctx).head())
    except (ChainDown, InvalidNodeAnswer) as error:
        raise chain_failed(error) from None
    if looked.proof is not None:
        return looked.proof
    if looked.scanned_to > search.scanned_to:
        await read_ctx.store.write(lambda tx: _note(tx, [looked], read_ctx.now), "note_search")
    if looked.is_over(read_ctx.now, AFTERMATH):
        return None
    raise _not_found(search, "no confirmed block shows this payment yet", RETRY_SECONDS)


def _search_of(read_ctx: ReadContext, tx: Tx, job_id: str) -> tuple[PaymentSearchRow | None, bool]:
    """Return the search of a job, and whether it is one of those that are open."""
    first = tx.all(open_searches, env=read_ctx.env, limit=OPEN)
    return tx.get(PaymentSearchRow, job_id), any(one.job_id == job_id for one in first)


def _not_found(search: PaymentSearchRow, why: str, seconds: int) -> TransactionNotFound:
    ends = stamp(datetime.fromtimestamp(search.valid_before, UTC))
    return TransactionNotFound(
        why,
        hint="Call pay_job with gasless: true again after details.retry_after_seconds. If details.valid_before passes without the "
        "payment, it answers new terms.",
        retry_after_seconds=seconds,
        valid_before=ends,
    )


async def search_blocks(read_ctx: ReadContext) -> int:
    """Do a step of each open search of an environment; return how many payments were recorded."""
    now = read_ctx.now
    first = await read_ctx.store.read(lambda tx: tx.all(open_searches, env=read_ctx.env, limit=OPEN))
    due = [one for one in first if one.look_at <= now]
    if not due:
        return 0
    names = [one.job_id for one in due]
    claimed = await read_ctx.store.write(
        lambda tx: tx.all(claim_searches, job_ids=names, now=now, leased_until=now + LEASE), "claim_searches"
    )
    looks = await _look_for_all(read_ctx, [one for one in due if one.job_id in claimed])
    await read_ctx.store.write(lambda tx: _note(tx, looks, now), "note_searches")
    found = [one for one in looks if one.proof is not None]
    for one in found:
        await read_ctx.store.write(lambda tx: _record(read_ctx, tx, one), "record_found")  # noqa: B023
    return len(found)


async def _look_for_all(read_ctx: ReadContext, searches: list[PaymentSearchRow]) -> list[Looked]:
    """Do a step of each search; stop if the chain cannot be read."""
    looks: list[Looked] = []
    with suppress(ChainDown, InvalidNodeAnswer):
        head = await chain_of(read_ctx).head()
        for search in searches:
            try:
                looks.append(await _look_for(read_ctx, search, head))
            except MarketError:  # its transaction cannot be judged now; the others must not wait for it
                looks.append(Looked(search, search.scanned_to))
            await asyncio.sleep(0)  # blocks that are kept take no wait, so other calls get their turn here
    return looks


async def _look_for(read_ctx: ReadContext, search: PaymentSearchRow, head: int) -> Looked:
    """Read the next confirmed blocks of a search, up to the first transaction that pays.

    Raises ChainDown and InvalidNodeAnswer, and the error of a transaction that cannot be judged yet.
    """
    chain, began, confirmed = chain_of(read_ctx), search.scanned_to, last_confirmed(read_ctx, head)
    place, block_time, judged = began, 0, 0
    while place < min(confirmed, began + BLOCKS_AT_ONCE) and judged < MATCHES:
        block = await read_block(read_ctx, chain, place + 1, head)
        for transaction in transactions_with_nonce(block.inputs, search.nonce)[:MATCHES]:
            proof = await _proof(read_ctx, search, transaction)
            if proof is not None:
                return Looked(search, place, proof=proof)
            judged += 1
        place, block_time = place + 1, block.time
    return Looked(search, place, block_time, place < confirmed)


async def _proof(read_ctx: ReadContext, search: PaymentSearchRow, transaction: str) -> TransferProof | None:
    """Prove a transaction by the ordinary rules; return None if it pays nothing or is recorded.

    The token must have used the nonce, because anyone can send another job's authorization with this nonce beside it.
    """
    try:
        proof = await prove_transfer(
            read_ctx,
            transaction,
            lambda tx: transfer_terms(tx, read_ctx, load(tx, tx.need(JobRow, search.job_id))),
        )
    except PaymentInvalid:
        return None
    paid = proof.verification
    if paid is None:
        return None
    used = Authorization(paid.payer or "", paid.payee or "", paid.amount_minor, search.valid_before, search.nonce)
    return proof if settles(paid.receipt, read_ctx.network.asset, used) else None


def _note(tx: Tx, looks: list[Looked], now: datetime) -> None:
    """Store how far searches have come, and delete those that are over."""
    for one in looks:
        same = {"job_id": one.search.job_id, "nonce": one.search.nonce}
        if one.is_over(now, QUIET):
            tx.run(end_search, **same, valid_before=one.search.valid_before)
        else:
            next_look = now if one.is_behind else now + PAUSE
            tx.run(note_searched, **same, place=one.scanned_to, next_look=next_look)


def _record(read_ctx: ReadContext, tx: Tx, found: Looked) -> None:
    """Record a payment that was found, unless another process has recorded it."""
    assert found.proof is not None
    assert found.proof.verification is not None
    job = tx.need(JobRow, found.search.job_id)
    ctx = read_ctx.acting_for(tx, job.buyer_id)
    seen = own_job_locked(ctx, job.id)
    if known_settlement(tx, ctx, found.proof.transaction) is None:
        apply_transfer(ctx, seen, found.proof.transaction, found.proof.verification)
