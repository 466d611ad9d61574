"""A payment's position in the chain and its time: bounds, confirmations, age, removed blocks."""

from dataclasses import replace
from typing import Any

import pytest

from tests.requirements import covers
from tests.tools.chain.test_transfer_verification import (
    BLOCK,
    BUYER,
    LENDER,
    NUMBER,
    PLAIN,
    PRICE,
    SELLER,
    STRANGER,
    TERMS,
    TIME,
    TRANSACTION,
    answers,
    put,
)
from tools.chain.node_answers import InvalidNodeAnswer
from tools.chain.transfer_verification import (
    CLOCK_SLACK_SECONDS,
    MAX_AMOUNT_MINOR,
    MAX_BLOCK_NUMBER,
    MAX_BLOCK_TIME,
    Began,
    ChainAnswers,
    InvalidReason,
    TransferStatus,
    Verification,
    block_time_in,
    is_too_old,
    mined_in,
    verify,
)

OTHER_BLOCK = "0x" + "ef" * 32
PLACED = Verification(
    TransferStatus.PENDING, required=3, block_number=100, block_hash=BLOCK, block_time=TIME, confirmations=3
)


def seen(**changes: Any) -> ChainAnswers:
    return replace(ChainAnswers(**answers(PLAIN)), **changes)


def test_the_bounds_are_those_decided() -> None:
    assert (MAX_AMOUNT_MINOR, MAX_BLOCK_NUMBER) == (1_000_000_000_000_000, 9_007_199_254_740_991)
    assert MAX_BLOCK_TIME == 253_402_300_799, "the last second of the year 9999"


def test_a_verdict_knows_nothing_until_it_is_told() -> None:
    nothing = Verification(TransferStatus.NOT_FOUND, 3)
    assert (nothing.amount_minor, nothing.confirmations, nothing.strangers) == (0, 0, ())
    assert (nothing.reason, nothing.payer, nothing.payee) == (None, None, None)
    assert verify(TRANSACTION, seen(receipt=None), TERMS) == nothing


@pytest.mark.parametrize(
    ("amount", "paid"), [(1, 1), (PRICE, PRICE), (10**15, 10**15), (0, None), (10**15 + 1, "nonsense")]
)
def test_amounts_from_one_unit_to_the_most_are_payments(amount: int, paid: object) -> None:
    given = ChainAnswers(**answers((BUYER, SELLER, amount)))
    if paid == "nonsense":
        with pytest.raises(InvalidNodeAnswer):
            verify(TRANSACTION, given, TERMS)
        return
    verdict = verify(TRANSACTION, given, TERMS)
    assert (verdict.kind, verdict.amount_minor) == (
        (TransferStatus.PAID, paid) if paid else (TransferStatus.INVALID, 0)
    )
    assert verdict.reason is (None if paid else InvalidReason.AMOUNT_TOO_LOW)


def test_two_halves_of_the_most_are_a_payment_and_a_unit_more_is_nonsense() -> None:
    half = (BUYER, SELLER, 5 * 10**14)
    assert verify(TRANSACTION, ChainAnswers(**answers(half, half)), TERMS).amount_minor == 10**15
    with pytest.raises(InvalidNodeAnswer, match="add up"):
        verify(TRANSACTION, ChainAnswers(**answers(half, half, (BUYER, SELLER, 1))), TERMS)


@pytest.mark.parametrize(
    ("head", "confirmations", "kind"),
    [
        (99, 0, TransferStatus.PENDING),
        (0, 0, TransferStatus.PENDING),
        (100, 1, TransferStatus.PENDING),
        (101, 2, TransferStatus.PENDING),
        (102, 3, TransferStatus.PAID),
    ],
)
def test_confirmations_count_the_payments_own_block_and_never_fall_below_none(
    head: int, confirmations: int, kind: TransferStatus
) -> None:
    verdict = verify(TRANSACTION, seen(head=head), TERMS)
    assert (verdict.kind, verdict.confirmations) == (kind, confirmations)
    assert (verdict.block_number, verdict.block_time) == (NUMBER, TIME)
    if kind is TransferStatus.PENDING:
        assert verdict == replace(PLACED, confirmations=confirmations)


def test_a_head_at_the_largest_number_is_a_head() -> None:
    assert verify(TRANSACTION, seen(head=9_007_199_254_740_991), TERMS).kind is TransferStatus.PAID
    with pytest.raises(InvalidNodeAnswer, match="head"):
        verify(TRANSACTION, seen(head=9_007_199_254_740_992), TERMS)


@pytest.mark.parametrize(
    "block",
    [
        None,
        {"number": None, "hash": BLOCK, "timestamp": hex(TIME)},
        {"number": hex(NUMBER), "hash": None, "timestamp": hex(TIME)},
        {"number": hex(NUMBER), "hash": OTHER_BLOCK, "timestamp": hex(TIME)},
    ],
)
def test_a_block_that_is_gone_or_not_sealed_leaves_the_payment_pending(block: object) -> None:
    assert verify(TRANSACTION, seen(block=block), TERMS) == Verification(
        TransferStatus.PENDING, required=3, block_number=NUMBER, block_hash=BLOCK
    )


def test_a_log_that_a_node_calls_removed_leaves_the_payment_pending() -> None:
    removed = put(answers(PLAIN), ("receipt", "logs", 0, "removed"), True)
    assert verify(TRANSACTION, ChainAnswers(**removed), TERMS).kind is TransferStatus.PENDING
    silent = answers(PLAIN)
    del silent["receipt"]["logs"][0]["removed"]
    assert verify(TRANSACTION, ChainAnswers(**silent), TERMS).kind is TransferStatus.PAID, "not every node writes it"
    two = put(answers(PLAIN, (STRANGER, SELLER, 1)), ("receipt", "logs", 1, "removed"), True)
    assert verify(TRANSACTION, ChainAnswers(**two), TERMS).kind is TransferStatus.PENDING, "one of two is enough"


@pytest.mark.parametrize(
    ("after_block", "kind"),
    [
        (98, TransferStatus.PAID),
        (99, TransferStatus.PAID),
        (100, TransferStatus.INVALID),
        (101, TransferStatus.INVALID),
    ],
)
def test_a_payment_stands_in_a_later_block_than_the_head_at_the_order(after_block: int, kind: TransferStatus) -> None:
    verdict = verify(TRANSACTION, seen(), replace(TERMS, after_block=after_block))
    assert (verdict.kind, verdict.reason) == (kind, None if kind is TransferStatus.PAID else InvalidReason.TOO_OLD)


@pytest.mark.parametrize(
    ("not_before", "kind"),
    [(TIME - 1, TransferStatus.PAID), (TIME, TransferStatus.PAID), (TIME + 1, TransferStatus.INVALID)],
)
def test_where_no_head_was_known_the_time_of_the_block_decides(not_before: int, kind: TransferStatus) -> None:
    verdict = verify(TRANSACTION, seen(), replace(TERMS, not_before=not_before))
    assert (verdict.kind, verdict.reason) == (kind, None if kind is TransferStatus.PAID else InvalidReason.TOO_OLD)


@covers("second.old_transfer.time")
@pytest.mark.parametrize(("newest_time", "kind"), [(TIME + 2, TransferStatus.PAID), (TIME + 3, TransferStatus.INVALID)])
def test_a_block_two_seconds_older_than_the_time_known_at_the_order_is_good_and_three_too_old(
    newest_time: int, kind: TransferStatus
) -> None:
    """This holds in any later block too, because the known head may be a few seconds old."""
    for after_block in (98, None):
        terms = replace(TERMS, after_block=after_block, newest_time=newest_time)
        verdict = verify(TRANSACTION, seen(), terms)
        assert (verdict.kind, verdict.reason) == (kind, None if kind is TransferStatus.PAID else InvalidReason.TOO_OLD)


def test_a_block_of_the_last_second_is_read() -> None:
    last = {"number": hex(NUMBER), "hash": BLOCK, "timestamp": hex(253_402_300_799)}
    assert verify(TRANSACTION, seen(block=last), TERMS).block_time == 253_402_300_799


def test_what_is_wrong_for_good_is_said_before_confirmations_are_waited_for() -> None:
    reverted = put(answers(PLAIN), ("receipt", "status"), "0x0")
    for given, reason in (
        (reverted | {"head": NUMBER}, InvalidReason.REVERTED),
        (answers((STRANGER, SELLER, 5)) | {"head": NUMBER}, InvalidReason.WRONG_SENDER),
        (answers((BUYER, SELLER, 0)) | {"head": NUMBER}, InvalidReason.AMOUNT_TOO_LOW),
    ):
        verdict = verify(TRANSACTION, ChainAnswers(**given), TERMS)
        assert (verdict.kind, verdict.reason, verdict.confirmations) == (TransferStatus.INVALID, reason, 1)


def test_the_contract_and_the_event_are_matched_whatever_their_case() -> None:
    given = put(answers(PLAIN), ("receipt", "logs", 0, "address"), TERMS.asset.upper().replace("X", "x"))
    assert (
        verify(TRANSACTION, ChainAnswers(**given), replace(TERMS, asset=TERMS.asset.upper().replace("X", "x"))).kind
        is TransferStatus.PAID
    )
    foreign = put(answers(PLAIN), ("receipt", "logs", 0, "address"), "0x" + "11" * 20)
    assert verify(TRANSACTION, ChainAnswers(**foreign), TERMS).reason is InvalidReason.WRONG_ASSET
    approval = put(answers(PLAIN), ("receipt", "logs", 0, "topics", 0), "0x" + "11" * 32)
    assert verify(TRANSACTION, ChainAnswers(**approval), TERMS).reason is InvalidReason.WRONG_ASSET


def test_without_a_receipt_there_is_no_block() -> None:
    assert mined_in(None) is None
    assert mined_in({"blockNumber": "0x64", "blockHash": BLOCK}) == 100


@pytest.mark.parametrize(
    ("payers", "payees"), [((BUYER,), (BUYER,)), ((BUYER,), (BUYER, SELLER)), ((BUYER, SELLER), (SELLER,))]
)
def test_a_party_without_a_wallet_of_its_own_pays_itself_whatever_the_chain_shows(
    payers: tuple[str, ...], payees: tuple[str, ...]
) -> None:
    verdict = verify(TRANSACTION, seen(receipt=None), replace(TERMS, payers=payers, payees=payees))
    assert verdict == Verification(TransferStatus.INVALID, 3, InvalidReason.SELF_PAYMENT)


def test_one_payment_to_oneself_among_others_is_one() -> None:
    terms = replace(TERMS, payers=(BUYER, LENDER), payees=(SELLER, BUYER))
    given = answers((LENDER, BUYER, 5), (STRANGER, "0x" + "77" * 20, 1))
    assert verify(TRANSACTION, ChainAnswers(**given), terms).reason is InvalidReason.SELF_PAYMENT


@pytest.mark.parametrize("dirt", ["1" + "0" * 23, "0" * 23 + "1", "f" * 24, "0" * 11 + "a" + "0" * 12])
@pytest.mark.parametrize("place", [1, 2])
def test_a_wallet_longer_than_an_address_is_nonsense(place: int, dirt: str) -> None:
    topic = "0x" + dirt + (BUYER, SELLER)[place - 1][2:]
    with pytest.raises(InvalidNodeAnswer, match="longer than an address"):
        verify(TRANSACTION, ChainAnswers(**put(answers(PLAIN), ("receipt", "logs", 0, "topics", place), topic)), TERMS)


@pytest.mark.parametrize(
    ("block", "time"),
    [
        ({"timestamp": "0x5"}, 5),
        ({"timestamp": hex(253_402_300_799)}, 253_402_300_799),
        ({"timestamp": hex(253_402_300_800)}, None),
        ({"timestamp": 5}, None),
        ({"timestamp": None}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_a_blocks_time_is_read_if_an_honest_node_would_tell_it(block: object, time: int | None) -> None:
    assert block_time_in(block) == time


def test_two_seconds_are_the_slack_of_a_block() -> None:
    assert CLOCK_SLACK_SECONDS == 2
    terms = replace(TERMS, after_block=1, newest_time=TIME)
    assert [is_too_old(2, TIME - seconds, terms) for seconds in (0, 2, 3)] == [False, False, True]
    assert [is_too_old(number, TIME, terms) for number in (0, 1, 2)] == [True, True, False]
    assert [is_too_old(9, seconds, Began(7, None)) for seconds in (6, 7)] == [True, False]
