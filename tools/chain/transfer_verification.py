"""Payment proof: judges a node's answers about one transaction. Pure; an answer is untrusted until checked.

Several nodes may answer for one address, and one of them may be behind on a branch that the chain has replaced. Then
the number of the newest block proves no confirmation. A block names its parent by hash, and a receipt has a bloom
filter of its logs (Ethereum yellow paper, 4.3), so confirmations are counted by parents, and a missing log is noticed.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from tools.chain.node_answers import (
    ADDRESS,
    BYTES,
    InvalidNodeAnswer,
    check_bloom,
    field_in,
    fields_in,
    items_in,
    quantity,
    text_in,
    typed,
    word_in,
)

# A thousand million USDC, above every price of the market. A larger amount is false, and 64-bit columns never overflow.
MAX_AMOUNT_MINOR = 10**15
MAX_BLOCK_NUMBER = 2**53 - 1  # the largest integer every JSON reader keeps
CLOCK_SLACK_SECONDS = 2  # a block is built for up to this long, and its time is when that began
MAX_BLOCK_TIME = 253_402_300_799  # the last second of the year 9999, the end of datetime

# ERC-20's event: the keccak-256 of "Transfer(address,address,uint256)"
_TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
_GIVEN_HASH = re.compile(r"(?:0x)?([0-9a-fA-F]{64})")


class ChainDown(Exception):
    """No usable answer came from the chain node; the same question may succeed later."""


class BadHash(ValueError):
    """Text that is not a transaction hash."""


class TransferStatus(StrEnum):
    """The state of a transaction: NOT_FOUND and PENDING may change, PAID and INVALID do not."""

    PAID = "paid"
    NOT_FOUND = "not_found"
    PENDING = "pending"
    INVALID = "invalid"


class InvalidReason(StrEnum):
    """Why a mined transaction is not a payment; `details.reason` of payment_invalid."""

    REVERTED = "reverted"
    WRONG_ASSET = "wrong_asset"
    WRONG_RECIPIENT = "wrong_recipient"
    WRONG_SENDER = "wrong_sender"
    AMOUNT_TOO_LOW = "amount_too_low"
    TOO_OLD = "too_old"
    SELF_PAYMENT = "self_payment"


class Began(NamedTuple):
    """The start of an obligation, in the terms of the chain: see Terms."""

    not_before: int
    after_block: int | None
    newest_time: int | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """The conditions that a transaction must meet.

    `payers`, `payees`: every accepted wallet of either party (frozen on the job, bound now), 0x + 40 hex.
    `after_block`: the chain head known when the obligation arose; the transaction must be in a later block.
    `not_before`: whole unix seconds; the earliest time of the block if no such head was known (`after_block` None).
    `newest_time`: unix seconds; the chain's time known when the obligation arose. An older block is too old.
    `confirmations`: the number of blocks needed, the transaction's own included.
    """

    asset: str
    payers: tuple[str, ...]
    payees: tuple[str, ...]
    not_before: int
    after_block: int | None
    confirmations: int
    newest_time: int | None = None

    def __post_init__(self) -> None:
        if not self.payers or not self.payees:
            raise ValueError("Terms need at least one payer and one payee")


@dataclass(frozen=True, slots=True)
class ChainAnswers:
    """Raw answers of nodes: the receipt, the head, the receipt's block, and later blocks.

    `later` are the blocks that follow. It may be empty while the head shows fewer confirmations than are needed.
    """

    receipt: object
    head: object
    block: object
    later: Sequence[object] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdict. When PAID, `amount_minor` is net, above 0, in USDC minor units.

    The caller compares the price. `payer`, `payee` (lower case) are set when PAID, the block's fields as soon as its
    place is known (`block_time`: unix seconds). `confirmations`, of `required`, includes the transaction's own block.
    `receipt` is the raw receipt, checked, once its block is known to be on the chain.
    """

    kind: TransferStatus
    required: int
    reason: InvalidReason | None = None
    amount_minor: int = 0
    payer: str | None = None
    payee: str | None = None
    block_number: int | None = None
    block_hash: str | None = None
    block_time: int | None = None
    confirmations: int = 0
    strangers: tuple[str, ...] = ()  # for a wrong sender or recipient: the wallets found instead, at most 8
    receipt: object = field(default=None, compare=False, repr=False)


def normalise_hash(text: str) -> str:
    """Normalise a transaction hash to 0x and 64 lower-case hex digits; raises BadHash."""
    given = _GIVEN_HASH.fullmatch(text) if isinstance(text, str) else None
    if given is None:
        raise BadHash("a transaction hash is 64 hex digits, with or without 0x in front")
    return "0x" + given[1].lower()


def mined_in(receipt: object) -> int | None:
    """Return the block number in a raw receipt, or None; raises InvalidNodeAnswer."""
    if receipt is None:
        return None
    fields = fields_in(receipt, "receipt")
    if field_in(fields, "blockNumber") is None or field_in(fields, "blockHash") is None:
        return None
    return quantity(fields["blockNumber"], "receipt.blockNumber", MAX_BLOCK_NUMBER)


def block_time_in(block: object) -> int | None:
    """Read the time of a raw block, in unix seconds; None if it is missing or impossible."""
    try:
        return quantity(field_in(fields_in(block, "block"), "timestamp"), "block.timestamp", MAX_BLOCK_TIME)
    except InvalidNodeAnswer:
        return None


def verify(transaction: str, seen: ChainAnswers, terms: Terms) -> Verification:
    """Judge what `seen` proves about `transaction` (from `normalise_hash`) under `terms`.

    A transfer is judged by its log in the asset's contract, never by the sender of the transaction, because smart
    wallets, bundlers and relayers send other people's transfers. Final faults are reported before those that waiting
    may cure. Raises InvalidNodeAnswer, and nothing else, for answers that are malformed or contradict each other.
    """
    parties = _parties(terms)
    unknown = Verification(TransferStatus.NOT_FOUND, terms.confirmations)
    if not parties.payers or not parties.payees:
        return _invalid(unknown, InvalidReason.SELF_PAYMENT)
    if seen.receipt is None:
        return unknown
    pending = replace(unknown, kind=TransferStatus.PENDING)
    number = mined_in(seen.receipt)
    if number is None:
        return pending
    receipt = _receipt(transaction, number, seen.receipt, terms.asset.lower())
    place = _place(seen.block, number)
    confirmations = max(0, _head(seen.head) - number + 1)
    linked = 1 + followers(receipt.block_hash, number, seen.later)
    if linked < terms.confirmations <= confirmations:
        confirmations = linked
    placed = replace(pending, block_number=number, block_hash=receipt.block_hash)
    if place is None or place[0] != receipt.block_hash or receipt.removed:
        return placed
    block_time = place[1]
    placed = replace(placed, block_time=block_time, confirmations=confirmations, receipt=seen.receipt)
    return _judge_content(placed, receipt, parties, is_too_old(number, block_time, terms))


def followers(block_hash: str, number: int, later: Sequence[object]) -> int:
    """Count the raw blocks that follow a block, each of which names its parent's hash.

    Raises InvalidNodeAnswer.
    """
    for count, answer in enumerate(later):
        place = _place(answer, number + 1 + count)
        if place is None or _parent(answer) != block_hash:
            return count
        block_hash = place[0]
    return len(later)


def check_receipt(transaction: str, receipt: object, asset: str) -> None:
    """Check that a receipt is whole and belongs to a transaction that a block has.

    Raises InvalidNodeAnswer.
    """
    number = mined_in(receipt)
    if number is None:
        raise InvalidNodeAnswer("a block has the transaction, and there is no receipt of it")
    _receipt(transaction, number, receipt, asset.lower())


class _Transfer(NamedTuple):
    log_index: int
    payer: str
    payee: str
    amount_minor: int


class _Parties(NamedTuple):
    payers: frozenset[str]
    payees: frozenset[str]
    shared: frozenset[str]


class _Receipt(NamedTuple):
    block_hash: str
    succeeded: bool
    removed: bool
    transfers: list[_Transfer]


def _parties(terms: Terms) -> _Parties:
    """Split the wallets: one that both sides claim proves nothing on either side."""
    payers = frozenset(address.lower() for address in terms.payers)
    payees = frozenset(address.lower() for address in terms.payees)
    shared = payers & payees
    return _Parties(payers - shared, payees - shared, shared)


def _judge_content(placed: Verification, receipt: _Receipt, parties: _Parties, too_old: bool) -> Verification:
    if not receipt.succeeded:
        return _invalid(placed, InvalidReason.REVERTED)
    fault = _fault(receipt.transfers, parties)
    if fault is not None:
        return replace(_invalid(placed, fault), strangers=_strangers(receipt.transfers, parties, fault))
    if too_old:
        return _invalid(placed, InvalidReason.TOO_OLD)
    amount_minor, payer, payee = _net(receipt.transfers, parties)
    if amount_minor == 0:
        return _invalid(placed, InvalidReason.AMOUNT_TOO_LOW)
    if placed.confirmations < placed.required:
        return placed
    return replace(placed, kind=TransferStatus.PAID, amount_minor=amount_minor, payer=payer, payee=payee)


def _invalid(verdict: Verification, reason: InvalidReason) -> Verification:
    return replace(verdict, kind=TransferStatus.INVALID, reason=reason)


def _fault(transfers: list[_Transfer], parties: _Parties) -> InvalidReason | None:
    payers, payees, shared = parties
    if not transfers:
        return InvalidReason.WRONG_ASSET
    received = [move for move in transfers if move.payee in payees and move.payer not in payees]
    if any(move.payer in payers for move in received):
        return None
    if any(move.payer in payers | shared and move.payee in payees | shared for move in transfers):
        return InvalidReason.SELF_PAYMENT
    sent, came = any(move.payer in payers for move in transfers), any(move.payee in payees for move in transfers)
    return InvalidReason.WRONG_SENDER if came and (received or not sent) else InvalidReason.WRONG_RECIPIENT


def _strangers(transfers: list[_Transfer], parties: _Parties, fault: InvalidReason) -> tuple[str, ...]:
    """Return the wallets found in place of the expected one, at most 8."""
    if fault is InvalidReason.WRONG_SENDER:
        found = [move.payer for move in transfers if move.payee in parties.payees]
    elif fault is InvalidReason.WRONG_RECIPIENT:
        found = [move.payee for move in transfers if move.payer in parties.payers] or [one.payee for one in transfers]
    else:
        found = []
    return tuple(dict.fromkeys(found))[:8]


def is_too_old(block_number: int, block_time: int, began: Began | Terms) -> bool:
    """Check whether a block is too old, by the chain's own time, as a host's clock may be wrong."""
    if began.newest_time is not None and block_time < began.newest_time - CLOCK_SLACK_SECONDS:
        return True
    return block_number <= began.after_block if began.after_block is not None else block_time < began.not_before


def _net(transfers: list[_Transfer], parties: _Parties) -> tuple[int, str, str]:
    """Return (amount, payer, payee) of the pair that moved most, net of what came back.

    Money comes back from a payee to a payer anywhere, and from anyone to a payer after the first payment (earlier
    inflows are the payer's own funding, such as a swap). At most what the payees kept counts, so a flash loan or a
    round trip nets to 0. The wallets of one side count together, so money cannot come back to another one unseen.
    """
    payers, payees, _ = parties
    paid = [move for move in transfers if move.payer in payers and move.payee in payees]
    first = paid[0].log_index
    back = sum(
        move.amount_minor
        for move in transfers
        if move.payee in payers and move.payer not in payers and (move.payer in payees or move.log_index > first)
    )
    kept = sum(move.amount_minor for move in transfers if move.payee in payees and move.payer not in payees) - sum(
        move.amount_minor for move in transfers if move.payer in payees and move.payee not in payees
    )
    by_pair: Counter[tuple[str, str]] = Counter()
    for move in paid:
        by_pair[move.payer, move.payee] += move.amount_minor
    (payer, payee), gross = max(by_pair.items(), key=lambda pair: pair[1])
    amount_minor = max(0, min(gross - back, kept))
    if amount_minor > MAX_AMOUNT_MINOR:
        raise InvalidNodeAnswer(f"the transfers add up beyond {MAX_AMOUNT_MINOR}")
    return amount_minor, payer, payee


def _receipt(transaction: str, number: int, answer: object, asset: str) -> _Receipt:
    fields = fields_in(answer, "receipt")
    if word_in(field_in(fields, "transactionHash"), "receipt.transactionHash") != transaction:
        raise InvalidNodeAnswer("the receipt is another transaction's")
    block_hash = word_in(field_in(fields, "blockHash"), "receipt.blockHash")
    status = quantity(field_in(fields, "status"), "receipt.status", 1)
    logs = [fields_in(log, "log") for log in items_in(field_in(fields, "logs"), "receipt.logs")]
    for log in logs:
        _check_place(log, transaction, number, block_hash)
    check_bloom(fields.get("logsBloom"), logs)
    indices = [quantity(field_in(log, "logIndex"), "log.logIndex", MAX_BLOCK_NUMBER) for log in logs]
    if len(set(indices)) != len(indices):
        raise InvalidNodeAnswer("two logs have one logIndex")
    found = [_transfer(log, index, asset) for log, index in zip(logs, indices, strict=True)]
    removed = [typed(log.get("removed", False), bool, "log.removed", "true or false") for log in logs]
    return _Receipt(block_hash, status == 1, any(removed), sorted(move for move in found if move is not None))


def _check_place(log: dict[str, object], transaction: str, number: int, block_hash: str) -> None:
    if word_in(field_in(log, "transactionHash"), "log.transactionHash") != transaction:
        raise InvalidNodeAnswer("a log is another transaction's")
    if word_in(field_in(log, "blockHash"), "log.blockHash") != block_hash:
        raise InvalidNodeAnswer("a log is in another block than its receipt")
    if quantity(field_in(log, "blockNumber"), "log.blockNumber", MAX_BLOCK_NUMBER) != number:
        raise InvalidNodeAnswer("a log is in another block than its receipt")


def _transfer(log: dict[str, object], index: int, asset: str) -> _Transfer | None:
    """Return the asset's transfer in this log; None for other contracts and other events."""
    address = text_in(ADDRESS, field_in(log, "address"), "log.address")
    topics = [word_in(topic, "log.topics") for topic in items_in(field_in(log, "topics"), "log.topics")]
    data = text_in(BYTES, field_in(log, "data"), "log.data")
    if address != asset or len(topics) != 3 or topics[0] != _TRANSFER:
        return None
    amount_minor = int(word_in(data, "the amount of a transfer"), 16)
    if amount_minor > MAX_AMOUNT_MINOR:
        raise InvalidNodeAnswer(f"a transfer is beyond {MAX_AMOUNT_MINOR}")
    return _Transfer(index, _address_in(topics[1]), _address_in(topics[2]), amount_minor)


def _address_in(word: str) -> str:
    if int(word[2:26], 16):
        raise InvalidNodeAnswer("a transfer's wallet is longer than an address")
    return "0x" + word[26:]


def _place(answer: object, number: int) -> tuple[str, int] | None:
    """Return hash and time of the block the chain has now; None if the node has it not sealed."""
    if answer is None:
        return None
    fields = fields_in(answer, "block")
    if field_in(fields, "number") is None or field_in(fields, "hash") is None:
        return None
    if quantity(fields["number"], "block.number", MAX_BLOCK_NUMBER) != number:
        raise InvalidNodeAnswer("the block is not the one that was asked for")
    block_time = quantity(field_in(fields, "timestamp"), "block.timestamp", MAX_BLOCK_TIME)
    return word_in(fields["hash"], "block.hash"), block_time


def _parent(answer: object) -> str:
    return word_in(field_in(fields_in(answer, "block"), "parentHash"), "block.parentHash")


def _head(answer: object) -> int:
    if not isinstance(answer, int) or isinstance(answer, bool) or not 0 <= answer <= MAX_BLOCK_NUMBER:
        raise InvalidNodeAnswer("the head is not a block number")
    return answer
