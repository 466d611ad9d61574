"""Purchases with one signed payment (x402): the steps of a purchase, each in its own unit of work.

The work comes first. Then the intent is committed, the facilitator is asked, the transaction hash it returns is
committed, and the chain decides. Any process may do the next step, and a process may be killed after any of them,
because the row says where to continue.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog

from storage.tables import PurchaseRow
from storage.transaction import StorageError
from storage.vocabulary import PurchaseStatus
from tools.chain.block_reader import BLOCKS_AT_ONCE, last_confirmed, read_block
from tools.chain.chain_reads import receipt_of
from tools.chain.errors import ChainUnavailable, TransactionPending
from tools.chain.node_answers import InvalidNodeAnswer
from tools.chain.transfer_proof import no_chain, verify_transfer
from tools.chain.transfer_verification import ChainDown, TransferStatus, Verification
from tools.chain.x402_payload import VERSION, Authorization
from tools.chain.x402_payments import read_authorization, settles, transactions_with_nonce
from tools.engine.context import ReadContext
from tools.engine.ports import Chain, Facilitator, SettleNotSent, SettleUnknown
from tools.jobs.payments.terms import chain_terms
from tools.kernel.errors import MarketError
from tools.purchases.errors import SAME_AGAIN, X402AuthorizationInUse, X402InsufficientFunds, X402SettleFailed
from tools.purchases.logic import (
    LEASE,
    SeenPurchase,
    close,
    finish,
    forget,
    hand_over,
    keep,
    lease,
    note,
    note_asked,
    postpone,
    revert_handover,
    see_purchase,
)
from tools.purchases.rules import (
    ENDED,
    NOT_SUBMITTED,
    Event,
    NextAction,
    Outcome,
    end_of,
    has_ended,
    is_over,
    is_to_be_noted,
    needs_its_client,
    next_of,
)

TICK_SECONDS = 0.5  # between two polls of a purchase that another call is processing, or of the chain
CALL_SECONDS = 160.0  # total time a call spends on a purchase: the work, the facilitator, the block
CONFIRM_SECONDS = 80.0  # the part of it spent on the block
MAX_WAITING = 8  # concurrent calls with the same payment
SHOWN_SECONDS = 30.0  # within which the chain must show a submitted transaction; after that its hash is dropped

log = structlog.get_logger("emporion.purchases")


async def run_until_done(read_ctx: ReadContext, purchase_id: str) -> PurchaseRow:
    """Process a purchase until it has ended, or raise why it cannot go on and whether to retry."""
    clock = read_ctx.world.clock
    seen = await _look(read_ctx, purchase_id)
    ends = clock.monotonic() + CALL_SECONDS
    with read_ctx.services.notifier.open_stream(
        seen.row.agent_id, purchase_id, MAX_WAITING, read_ctx.config.limits.streams_per_agent
    ) as ear:
        while clock.monotonic() < ends:
            ear.clear()
            seen = await _look(read_ctx, purchase_id)
            match next_of(seen.standing(clock.now()), clock.now()):
                case NextAction.TELL:
                    return seen.row
                case NextAction.WAIT:
                    await _still_there(read_ctx, seen)
                    await ear.wait_for(TICK_SECONDS)
                case NextAction.SETTLE:
                    stay(read_ctx, seen.row)
                    await _settle(read_ctx, seen)
                case NextAction.FOLLOW:
                    await _follow(read_ctx, seen, CONFIRM_SECONDS, brought=True)
                case NextAction.CLOSE:
                    await _close(read_ctx, seen)
    raise in_use(seen.row)


async def follow_up(read_ctx: ReadContext, purchase_id: str) -> None:
    """Process a purchase that no call is processing.

    Submitted payments are followed up, failed purchases are closed, old ones are deleted.
    """
    clock = read_ctx.world.clock
    row = await read_ctx.store.read(lambda tx: tx.get(PurchaseRow, purchase_id))
    if row is None or row.status in (PurchaseStatus.CHECKING, PurchaseStatus.CLOSED):
        await read_ctx.store.write(lambda tx: forget(read_ctx, tx, purchase_id), "forget_purchase")
        return
    seen = await _look(read_ctx, purchase_id)
    match next_of(seen.standing(clock.now()), clock.now()):
        case NextAction.CLOSE:
            await _close(read_ctx, seen)
        case NextAction.FOLLOW:
            with suppress(MarketError):  # the reason is stored in the row
                await _follow(read_ctx, seen, patience=0.0, brought=False)
        case NextAction.WAIT | NextAction.SETTLE:
            await read_ctx.store.write(lambda tx: postpone(read_ctx, tx, purchase_id), "put_off_purchase")


def in_use(row: PurchaseRow, why: str = "this payment is being worked on") -> X402AuthorizationInUse:
    told = "nothing was charged yet" if row.status in NOT_SUBMITTED else "it may have been charged"
    job: dict[str, Any] = {"job_id": row.job_id} if row.job_id else {}
    return X402AuthorizationInUse(f"{why}; {told}", **job, retry_after_seconds=5)


async def _still_there(read_ctx: ReadContext, seen: SeenPurchase) -> None:
    """Record regularly that the client is connected, and once more when it disconnects."""
    now = read_ctx.world.clock.now()
    standing = seen.standing(now)
    if is_to_be_noted(standing, now) or (needs_its_client(standing) and has_gone(read_ctx)):
        await read_ctx.store.write(lambda tx: note_asked(read_ctx, tx, seen.row.id), "note_purchase")
    stay(read_ctx, seen.row)


def has_gone(read_ctx: ReadContext) -> bool:
    """Check whether the client has disconnected."""
    gone = read_ctx.caller.request.client_disconnected
    return gone is not None and gone()


def stay(read_ctx: ReadContext, row: PurchaseRow) -> None:
    """Raise if the market stops or the client has gone; without the client nothing is submitted."""
    if read_ctx.services.notifier.closed or has_gone(read_ctx):
        raise in_use(row, "the market is stopping" if read_ctx.services.notifier.closed else "the client has gone")


async def _look(read_ctx: ReadContext, purchase_id: str) -> SeenPurchase:
    return await read_ctx.store.read(lambda tx: see_purchase(tx, purchase_id))


async def _close(read_ctx: ReadContext, seen: SeenPurchase) -> None:
    now = read_ctx.world.clock.now()
    end = end_of(seen.standing(now), now)
    if end is not None:
        await read_ctx.store.write(lambda tx: close(read_ctx, tx, seen.row.id, end), "close_purchase")


async def _settle(read_ctx: ReadContext, seen: SeenPurchase) -> None:
    """Submit the payment for the first time."""
    await head_of(read_ctx)  # do not submit what could not be verified on the chain
    stay(read_ctx, seen.row)
    mine = await read_ctx.store.write(lambda tx: hand_over(read_ctx, tx, seen.row.id), "settle_purchase")
    if mine is not None:
        row = await _handed_over(read_ctx, mine, first=True)
        await _find_outcome(read_ctx, row, CONFIRM_SECONDS)


async def _follow(read_ctx: ReadContext, seen: SeenPurchase, patience: float, *, brought: bool) -> None:
    """Find out what became of a submitted payment; resubmit it while it is valid.

    Resubmitting is safe, because the token accepts an authorization only once. A refused payment is resubmitted
    only if the client sent it again (`brought`), because the client may have signed another since.
    """
    row = await read_ctx.store.write(lambda tx: lease(read_ctx, tx, seen.row.id), "follow_purchase")
    if row is None:
        return
    again = row.status is PurchaseStatus.SETTLING or (row.status is PurchaseStatus.REFUSED and brought)
    if again and row.valid_before > read_ctx.world.clock.now().timestamp():
        row = await _handed_over(read_ctx, row, first=False)
    await _find_outcome(read_ctx, row, patience)


async def _handed_over(read_ctx: ReadContext, row: PurchaseRow, *, first: bool) -> PurchaseRow:
    """Submit the payment to the facilitator and commit its answer at once."""
    event: Event | None = Event.REFUSE
    found: dict[str, object] = {}
    try:
        async with _kept(read_ctx, row.id):
            said = await facilitator_of(read_ctx).settle(row.settle_body)
        found["reason"] = said.refusal
        if said.transaction is not None:
            event, found["tx_hash"] = Event.SEND, said.transaction
    except SettleNotSent as down:
        event, found["reason"] = None, f"the facilitator was not reached ({down})"
    except SettleUnknown as lost:
        event, found["reason"] = Event.DOUBT, f"the facilitator's answer was lost ({lost})"
    log.info("handed_over", purchase=row.id, transaction=found.get("tx_hash"), reason=found["reason"])
    if event is None and first:
        return await read_ctx.store.write(lambda tx: revert_handover(read_ctx, tx, row, **found), "take_back_purchase")
    return await _record(read_ctx, row, event, **found)


@asynccontextmanager
async def _kept(read_ctx: ReadContext, purchase_id: str) -> AsyncIterator[None]:
    """Renew the lease of a purchase while the facilitator works.

    If this process is killed, the lease expires.
    """

    async def renew() -> None:
        while True:
            await asyncio.sleep(LEASE.total_seconds() / 3)
            with suppress(StorageError):
                await read_ctx.store.write(lambda tx: keep(read_ctx, tx, purchase_id), "keep_purchase")

    renewing = asyncio.create_task(renew(), name="purchase")
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing


async def _find_outcome(read_ctx: ReadContext, row: PurchaseRow, patience: float) -> None:
    """Read the outcome from the chain, by the transaction hash or, without one, by the nonce.

    The purchase then ends as paid or closed. If it is still open, raises the reason and releases the purchase for the
    next call.
    """
    try:
        if row.status in (PurchaseStatus.SETTLING, PurchaseStatus.REFUSED):
            row = await _scan_for_nonce(read_ctx, row)
        if row.status is PurchaseStatus.SENT:
            row = await _verified(read_ctx, row, patience)
        if row.status not in ENDED:
            raise _unsettled(row)
    except MarketError:
        await _record(read_ctx, row)
        raise


async def _verified(read_ctx: ReadContext, row: PurchaseRow, patience: float) -> PurchaseRow:
    """Mark the purchase as paid if the chain shows exactly this payment.

    The hash is only a hint: without such a payment it is dropped. Raises TransactionPending while confirmations are
    missing.
    """
    assert row.tx_hash is not None
    given, transaction = authorization_of(row), row.tx_hash
    verdict = await _confirmed(read_ctx, row, transaction, patience)
    if verdict.kind is TransferStatus.PAID and settles(verdict.receipt, read_ctx.network.asset, given):
        return await read_ctx.store.write(lambda tx: finish(read_ctx, tx, row.id, transaction, verdict), "pay_purchase")
    if verdict.kind is TransferStatus.PENDING:
        raise TransactionPending(
            f"{verdict.confirmations} of {verdict.required} confirmations; the same payment again shows the result",
            hint=SAME_AGAIN,
            confirmations=verdict.confirmations,
            required=verdict.required,
            retry_after_seconds=5,
        )
    doubt = f"the chain shows no such payment: {verdict.kind}"
    return await read_ctx.store.write(
        lambda tx: note(read_ctx, tx, row.id, Event.DOUBT, tx_hash=None, reason=doubt), "doubt_purchase"
    )


async def _confirmed(read_ctx: ReadContext, row: PurchaseRow, transaction: str, patience: float) -> Verification:
    """Return the chain's verdict on a transaction once it is certain, or when the wait is over."""
    given, seen, clock = authorization_of(row), await _look(read_ctx, row.id), read_ctx.world.clock
    terms, began = chain_terms(read_ctx, seen.job, {given.payer}, {given.payee}), clock.monotonic()
    while True:
        try:
            verdict = await verify_transfer(read_ctx, transaction, terms)
        except ChainUnavailable:
            raise silent_chain() from None
        unknown = verdict.kind is TransferStatus.NOT_FOUND
        long = clock.monotonic() - began >= (min(patience, SHOWN_SECONDS) if unknown else patience)
        if (
            long
            or verdict.kind in (TransferStatus.PAID, TransferStatus.INVALID)
            or (unknown and has_ended(row.valid_before, clock.now()))
        ):
            return verdict
        await asyncio.sleep(TICK_SECONDS)


async def _scan_for_nonce(read_ctx: ReadContext, row: PurchaseRow) -> PurchaseRow:
    """Search the blocks since the payment was submitted for its nonce.

    If none holds it and none can any more, the purchase is closed as not charged.
    """
    chain, given, now = chain_of(read_ctx), authorization_of(row), read_ctx.world.clock.now()
    began, asset = row.scanned_to, read_ctx.network.asset
    try:
        head = await chain.head()
        ends = min(head, began + BLOCKS_AT_ONCE)
        for number in range(began + 1, ends + 1):
            block = await read_block(read_ctx, chain, number, head)
            for transaction in transactions_with_nonce(block.inputs, given.nonce):
                if settles(await receipt_of(chain, transaction, asset), asset, given):
                    return await _record(read_ctx, row, Event.SEND, tx_hash=transaction)
        over = False
        if ends == head and has_ended(row.valid_before, now):
            confirmed = await read_block(read_ctx, chain, last_confirmed(read_ctx, head), head)
            over = is_over(row.valid_before, confirmed.time, now)
    except (ChainDown, InvalidNodeAnswer):
        raise silent_chain() from None
    if over:
        return await read_ctx.store.write(lambda tx: close(read_ctx, tx, row.id, Outcome.NOT_CHARGED), "close_purchase")
    return await _record(read_ctx, row, scanned_to=max(began, min(ends, last_confirmed(read_ctx, head))))


async def _record(read_ctx: ReadContext, row: PurchaseRow, event: Event | None = None, **found: object) -> PurchaseRow:
    return await read_ctx.store.write(lambda tx: note(read_ctx, tx, row.id, event, **found), "note_purchase")


def authorization_of(row: PurchaseRow) -> Authorization:
    """Return the authorization that the client signed."""
    return read_authorization(row.settle_body["paymentPayload"]["payload"]["authorization"])


def terms_of(row: PurchaseRow) -> dict[str, Any]:
    """Return the terms that a payment accepted: PaymentRequired (version 2) without `error`."""
    signed = row.settle_body["paymentPayload"]
    return {"x402Version": VERSION, "resource": signed["resource"], "accepts": [signed["accepted"]]}


def _unsettled(row: PurchaseRow) -> MarketError:
    """Return the error of a payment that is not settled yet."""
    reason = row.reason or "the chain does not show it yet"
    if row.status is PurchaseStatus.WORKING:
        told = "nothing was charged, and the payment was not handed over"
    elif row.status is PurchaseStatus.REFUSED:
        told = f"nothing was charged; until Unix second {row.valid_before} the facilitator could still send it"
    else:
        told = f"whether it was sent is not known; it may still be taken until Unix second {row.valid_before}: sign no other before"
    kind = X402InsufficientFunds if "insufficient" in reason else X402SettleFailed
    refused = kind(
        f"the payment was not taken: {reason}; {told}",
        reason=reason,
        job_id=row.job_id,
        valid_before=row.valid_before,
        retry_after_seconds=5,
    )
    return refused.with_terms(terms_of(row))


def silent_chain() -> ChainUnavailable:
    """Return the error for a payment whose outcome the chain does not show."""
    return ChainUnavailable(
        "the chain does not answer, so whether the payment was taken is not known yet",
        hint=SAME_AGAIN,
        retry_after_seconds=5,
    )


async def head_of(read_ctx: ReadContext) -> int:
    """Return the newest block number, where the search for a payment begins."""
    try:
        return await chain_of(read_ctx).head()
    except ChainDown:
        raise ChainUnavailable(
            "the chain does not answer; nothing was charged",
            hint="Send the same request with the same payment again.",
            retry_after_seconds=5,
        ) from None


def chain_of(read_ctx: ReadContext) -> Chain:
    """Return the environment's chain; raises ChainUnavailable if none is configured."""
    chain = read_ctx.world.chains.get(read_ctx.env)
    if chain is None:
        raise no_chain(read_ctx.env, SAME_AGAIN)
    return chain


def facilitator_of(read_ctx: ReadContext) -> Facilitator:
    """Return the environment's facilitator.

    Raises SettleNotSent if none is configured. It may have been removed from the settings since; submitted payments
    are still followed up.
    """
    facilitator = read_ctx.world.facilitators.get(read_ctx.env)
    if facilitator is None:
        raise SettleNotSent("none is configured")
    return facilitator
