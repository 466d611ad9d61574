"""Robustness of the payment verdict: no answer of a node causes a crash; no malformed answer counts as a payment."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.chain.node_answers import InvalidNodeAnswer, quantity
from tools.chain.transfer_verification import (
    MAX_AMOUNT_MINOR,
    MAX_BLOCK_NUMBER,
    MAX_BLOCK_TIME,
    BadHash,
    ChainAnswers,
    InvalidReason,
    Terms,
    TransferStatus,
    Verification,
    mined_in,
    normalise_hash,
    verify,
)

ASSET = "0x036cbd53842c5426634e7929541ec2318f3dcf7e"
BUYER, BUYERS_OTHER = "0x" + "b1" * 20, "0x" + "b2" * 20
SELLER, SELLERS_OTHER = "0x" + "51" * 20, "0x" + "52" * 20
STRANGER, LENDER = "0x" + "71" * 20, "0x" + "72" * 20
WALLETS = (BUYER, BUYERS_OTHER, SELLER, SELLERS_OTHER, STRANGER, LENDER)
TRANSACTION, BLOCK = "0x" + "ab" * 32, "0x" + "cd" * 32
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
NUMBER, TIME, PRICE = 0x64, 1_700_000_000, 1_000_000
TERMS = Terms(ASSET, (BUYER,), (SELLER,), not_before=TIME, after_block=None, confirmations=3)
BOTH = Terms(ASSET, (BUYER, BUYERS_OTHER), (SELLER, SELLERS_OTHER), TIME, None, 3)


def word(address: str) -> str:
    return "0x" + "00" * 12 + address[2:]


def log(index: int, payer: str, payee: str, amount: int) -> dict[str, Any]:
    return {
        "address": ASSET,
        "topics": [TRANSFER, word(payer), word(payee)],
        "data": f"0x{amount:064x}",
        "logIndex": hex(index),
        "transactionHash": TRANSACTION,
        "blockHash": BLOCK,
        "blockNumber": hex(NUMBER),
        "removed": False,
    }


def answers(*moves: tuple[str, str, int]) -> dict[str, Any]:
    """Return the answers of an honest node about a transaction with these transfers."""
    receipt = {
        "transactionHash": TRANSACTION,
        "blockHash": BLOCK,
        "blockNumber": hex(NUMBER),
        "status": "0x1",
        "logs": [log(index, *move) for index, move in enumerate(moves)],
    }
    return {
        "receipt": receipt,
        "head": NUMBER + 2,
        "block": {"number": hex(NUMBER), "hash": BLOCK, "timestamp": hex(TIME)},
        "later": [block(NUMBER + 1, "0x" + "ce" * 32, BLOCK), block(NUMBER + 2, "0x" + "cf" * 32, "0x" + "ce" * 32)],
    }


def block(number: int, name: str, parent: str) -> dict[str, Any]:
    """Return a block as a node describes it."""
    return {"number": hex(number), "hash": name, "parentHash": parent, "timestamp": hex(TIME)}


PLAIN = (BUYER, SELLER, PRICE)
LEAVES = [
    ("receipt",),
    *(("receipt", name) for name in ("transactionHash", "blockHash", "blockNumber", "status", "logs")),
    ("receipt", "logs", 0),
    *(("receipt", "logs", 0, name) for name in log(0, *PLAIN)),
    *(("receipt", "logs", 0, "topics", place) for place in range(3)),
    ("head",),
    ("block",),
    *(("block", name) for name in ("number", "hash", "timestamp")),
]
# Not every node includes `removed`.
NAMED = [path for path in LEAVES if len(path) > 1 and isinstance(path[-1], str) and path[-1] != "removed"]
HEX = st.from_regex(r"0x[0-9a-fA-F]{0,70}", fullmatch=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80) | HEX,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
MOVES = st.lists(
    st.tuples(st.sampled_from(WALLETS), st.sampled_from(WALLETS), st.integers(0, 20) | st.just(MAX_AMOUNT_MINOR)),
    max_size=8,
)


def put(answer: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    changed = copy.deepcopy(answer)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return changed


def total(moves: list[tuple[str, str, int]], givers: tuple[str, ...], takers: tuple[str, ...]) -> int:
    return sum(amount for payer, payee, amount in moves if payer in givers and payee in takers)


def test_an_honest_answer_is_the_payment_it_shows() -> None:
    assert verify(TRANSACTION, ChainAnswers(**answers(PLAIN)), TERMS) == Verification(
        kind=TransferStatus.PAID,
        required=3,
        amount_minor=PRICE,
        payer=BUYER,
        payee=SELLER,
        block_number=NUMBER,
        block_hash=BLOCK,
        block_time=TIME,
        confirmations=3,
    )


@given(receipt=JSON, head=JSON, block=JSON)
def test_m6_arbitrary_answers_are_nonsense_or_unknown_but_never_paid(receipt: Any, head: Any, block: Any) -> None:
    try:
        verdict = verify(TRANSACTION, ChainAnswers(receipt, head, block), TERMS)
    except InvalidNodeAnswer:
        return
    assert verdict.kind in {TransferStatus.NOT_FOUND, TransferStatus.PENDING}


@given(path=st.sampled_from(LEAVES), value=JSON)
def test_m6_an_answer_with_one_field_replaced_never_crashes_and_never_raises_the_payment(path: Any, value: Any) -> None:
    try:
        verdict = verify(TRANSACTION, ChainAnswers(**put(answers(PLAIN), path, value)), TERMS)
    except InvalidNodeAnswer:
        return
    if verdict.kind is TransferStatus.PAID:
        assert path in {("head",), ("block", "timestamp"), ("receipt", "logs", 0, "logIndex")} or value is False
        assert verdict.amount_minor == PRICE


@pytest.mark.parametrize("path", NAMED, ids=lambda path: ".".join(map(str, path)))
def test_m6_an_answer_with_a_field_missing_is_nonsense(path: tuple[Any, ...]) -> None:
    changed = answers(PLAIN)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    with pytest.raises(InvalidNodeAnswer):
        verify(TRANSACTION, ChainAnswers(**changed), TERMS)


WRONG_KINDS = (7, True, 1.5, "", "0x", "0xzz", "latest", " 0x1", "0x1\n", [], {}, ["0x1"])
FORMS = [path for path in LEAVES if path[-1] not in ("receipt", "block", "removed", "head", "logs", "topics", 0)]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: ".".join(map(str, path)))
@pytest.mark.parametrize("value", WRONG_KINDS, ids=repr)
def test_m6_a_field_of_another_form_is_nonsense(path: tuple[Any, ...], value: object) -> None:
    with pytest.raises(InvalidNodeAnswer):
        verify(TRANSACTION, ChainAnswers(**put(answers(PLAIN), path, value)), TERMS)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("receipt", "transactionHash"), "0x" + "aa" * 32),
        (("receipt", "blockNumber"), "0x064"),
        (("receipt", "blockNumber"), hex(MAX_BLOCK_NUMBER + 1)),
        (("receipt", "blockNumber"), "0x" + "f" * 65),
        (("receipt", "status"), "0x2"),
        (("receipt", "status"), None),
        (("receipt", "logs"), None),
        (("receipt", "logs"), {"0": log(0, *PLAIN)}),
        (("receipt", "logs"), [log(0, *PLAIN), log(0, *PLAIN)]),
        (("receipt", "logs"), [log(0, *PLAIN), None]),
        (("receipt", "logs", 0, "removed"), None),
        (("receipt", "logs", 0, "removed"), "false"),
        (("receipt", "logs", 0, "logIndex"), "-0x1"),
        (("receipt", "logs", 0, "transactionHash"), "0x" + "aa" * 32),
        (("receipt", "logs", 0, "blockHash"), "0x" + "aa" * 32),
        (("receipt", "logs", 0, "blockNumber"), "0x63"),
        (("receipt", "logs", 0, "address"), ASSET + "00"),
        (("receipt", "logs", 0, "topics"), TRANSFER),
        (("receipt", "logs", 0, "topics", 1), "0x" + "01" * 12 + BUYER[2:]),
        (("receipt", "logs", 0, "topics", 2), "0x" + "01" * 12 + SELLER[2:]),
        (("receipt", "logs", 0, "data"), "0x"),
        (("receipt", "logs", 0, "data"), f"0x{PRICE:064x}00"),
        (("receipt", "logs", 0, "data"), f"0x{MAX_AMOUNT_MINOR + 1:064x}"),
        (("receipt", "logs", 0, "data"), "0x" + "f" * 64),
        (("receipt", "logs", 0, "data"), f"0x{2**63:064x}"),
        (("head",), None),
        (("head",), -1),
        (("head",), True),
        (("head",), "0x66"),
        (("head",), MAX_BLOCK_NUMBER + 1),
        (("block",), []),
        (("block", "number"), "0x63"),
        (("block", "timestamp"), hex(MAX_BLOCK_TIME + 1)),
    ],
)
def test_m6_a_value_that_cannot_be_is_nonsense(path: tuple[Any, ...], value: object) -> None:
    with pytest.raises(InvalidNodeAnswer):
        verify(TRANSACTION, ChainAnswers(**put(answers(PLAIN), path, value)), TERMS)


@pytest.mark.parametrize("beside", [(BUYER, SELLER, MAX_AMOUNT_MINOR), (STRANGER, LENDER, MAX_AMOUNT_MINOR + 1)])
def test_amounts_that_only_add_up_to_the_impossible_or_are_anothers_are_nonsense(beside: tuple[str, str, int]) -> None:
    with pytest.raises(InvalidNodeAnswer):
        verify(TRANSACTION, ChainAnswers(**answers(PLAIN, beside)), TERMS)


def test_the_order_of_transfers_is_that_of_their_log_indices() -> None:
    seen = answers(PLAIN, (STRANGER, BUYER, PRICE), PLAIN)
    expected = verify(TRANSACTION, ChainAnswers(**seen), TERMS)
    seen["receipt"]["logs"].reverse()
    assert expected.amount_minor == PRICE
    assert verify(TRANSACTION, ChainAnswers(**seen), TERMS) == expected


@pytest.mark.parametrize(
    "topics", [[], [TRANSFER], [TRANSFER, word(BUYER)], [TRANSFER, word(BUYER), word(SELLER), BLOCK]]
)
def test_an_event_of_the_asset_with_other_topics_is_no_transfer(topics: list[str]) -> None:
    verdict = verify(TRANSACTION, ChainAnswers(**put(answers(PLAIN), ("receipt", "logs", 0, "topics"), topics)), TERMS)
    assert (verdict.kind, verdict.reason) == (TransferStatus.INVALID, InvalidReason.WRONG_ASSET)


@given(moves=MOVES)
def test_m4_never_more_is_paid_than_the_sellers_side_kept_and_the_buyers_side_gave(moves: Any) -> None:
    try:
        verdict = verify(TRANSACTION, ChainAnswers(**answers(*moves)), BOTH)
    except InvalidNodeAnswer:
        assert total(moves, BOTH.payers, BOTH.payees) > MAX_AMOUNT_MINOR
        return
    if verdict.kind is not TransferStatus.PAID:
        assert (verdict.kind, verdict.amount_minor) == (TransferStatus.INVALID, 0)
        return
    outside = (STRANGER, LENDER)
    gave = total(moves, BOTH.payers, BOTH.payees) - total(moves, BOTH.payees, BOTH.payers)
    kept = gave + total(moves, outside, BOTH.payees) - total(moves, BOTH.payees, outside)
    assert verdict.payer in BOTH.payers
    assert verdict.payee in BOTH.payees
    assert 0 < verdict.amount_minor <= min(gave, kept, total(moves, (verdict.payer,), (verdict.payee,)))


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ([(BUYER, SELLER, 10), (SELLERS_OTHER, BUYERS_OTHER, 10)], None),
        ([(BUYER, SELLER, 10), (STRANGER, BUYERS_OTHER, 4)], (6, BUYER, SELLER)),
        ([(STRANGER, BUYERS_OTHER, 10), (BUYERS_OTHER, SELLER, 10)], (10, BUYERS_OTHER, SELLER)),
        ([(BUYERS_OTHER, BUYER, 10), (BUYER, SELLER, 10), (SELLER, SELLERS_OTHER, 10)], (10, BUYER, SELLER)),
        ([(BUYER, SELLER, 10), (BUYERS_OTHER, BUYER, 4)], (10, BUYER, SELLER)),
        ([(STRANGER, SELLER, 3), (SELLER, BUYER, 3), (BUYER, SELLER, 10)], (7, BUYER, SELLER)),
        ([(BUYER, SELLER, 3), (BUYERS_OTHER, SELLERS_OTHER, 5)], (5, BUYERS_OTHER, SELLERS_OTHER)),
        ([(BUYER, SELLER, 3), (BUYER, SELLER, 3), (BUYERS_OTHER, SELLERS_OTHER, 5)], (6, BUYER, SELLER)),
        ([(BUYER, SELLER, 10), (SELLER, SELLERS_OTHER, 10), (SELLERS_OTHER, LENDER, 10)], None),
    ],
)
def test_the_wallets_of_one_side_count_together_and_the_pair_that_moved_most_is_named(
    moves: list[tuple[str, str, int]], expected: tuple[int, str, str] | None
) -> None:
    verdict = verify(TRANSACTION, ChainAnswers(**answers(*moves)), BOTH)
    if expected is None:
        assert (verdict.kind, verdict.reason) == (TransferStatus.INVALID, InvalidReason.AMOUNT_TOO_LOW)
    else:
        assert (verdict.amount_minor, verdict.payer, verdict.payee) == expected


@pytest.mark.parametrize("move", [(BUYER, BUYER, 5), (BUYERS_OTHER, BUYER, 5), (BUYER, SELLER, 5)])
def test_a_wallet_that_both_sides_call_theirs_proves_no_payment(move: tuple[str, str, int]) -> None:
    """A transfer to or from a wallet that both sides registered is a self payment."""
    terms = Terms(ASSET, (BUYER, BUYERS_OTHER), (SELLER, BUYER.upper().replace("X", "x")), TIME, None, 3)
    verdict = verify(TRANSACTION, ChainAnswers(**answers(move)), terms)
    assert (verdict.kind, verdict.reason) == (TransferStatus.INVALID, InvalidReason.SELF_PAYMENT)


@pytest.mark.parametrize(
    ("moves", "reason", "strangers"),
    [
        ([(STRANGER, SELLER, 5)], InvalidReason.WRONG_SENDER, (STRANGER,)),
        ([(SELLER, SELLERS_OTHER, 5)], InvalidReason.WRONG_SENDER, (SELLER,)),
        ([(SELLER, SELLER, 5), (LENDER, STRANGER, 5)], InvalidReason.WRONG_SENDER, (SELLER,)),
        ([(BUYER, STRANGER, 5), (SELLER, SELLERS_OTHER, 5)], InvalidReason.WRONG_RECIPIENT, (STRANGER,)),
        ([(BUYER, STRANGER, 5), (LENDER, BUYERS_OTHER, 5)], InvalidReason.WRONG_RECIPIENT, (STRANGER,)),
        ([(LENDER, STRANGER, 5), (LENDER, STRANGER, 5)], InvalidReason.WRONG_RECIPIENT, (STRANGER,)),
        (
            [(BUYER, f"0x{n:040x}", 5) for n in range(20)],
            InvalidReason.WRONG_RECIPIENT,
            tuple(f"0x{n:040x}" for n in range(8)),
        ),
        ([], InvalidReason.WRONG_ASSET, ()),
    ],
)
def test_who_stood_in_a_partys_place_is_named(
    moves: list[tuple[str, str, int]], reason: InvalidReason, strangers: tuple[str, ...]
) -> None:
    verdict = verify(TRANSACTION, ChainAnswers(**answers(*moves)), BOTH)
    assert (verdict.reason, verdict.strangers) == (reason, strangers)


def test_terms_without_a_wallet_on_either_side_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one payer"):
        Terms(ASSET, (), (SELLER,), TIME, None, 3)
    with pytest.raises(ValueError, match="at least one payer"):
        Terms(ASSET, (BUYER,), (), TIME, None, 3)


@pytest.mark.parametrize("given_hash", ["0x" + "Ab" * 32, "Ab" * 32, "ab" * 32, "0x" + "ab" * 32])
def test_every_spelling_of_a_hash_becomes_one(given_hash: str) -> None:
    assert normalise_hash(given_hash) == "0x" + "ab" * 32


@pytest.mark.parametrize(
    "given_hash",
    [
        "",
        "0x",
        "0X" + "ab" * 32,
        "0x" + "ab" * 31,
        "0x" + "ab" * 33,
        "0x" + "ab" * 32 + "\n",
        " 0x" + "ab" * 32,
        "0x0x" + "ab" * 31,
        "0x" + "zz" * 32,
        "0x" + "\u0661" * 64,
        "0x" + "\uff11" * 64,
        "0x" + "ab" * 31 + "a\x00",
        None,
        7,
        b"ab" * 32,
    ],
)
def test_anything_else_is_no_hash(given_hash: Any) -> None:
    with pytest.raises(BadHash):
        normalise_hash(given_hash)


@given(text=st.text())
def test_a_text_is_a_hash_or_refused(text: str) -> None:
    try:
        normal = normalise_hash(text)
    except BadHash:
        return
    assert normal == normalise_hash(normal) == "0x" + text[-64:].lower()


@given(number=st.integers(0, 2**256 - 2))
def test_a_quantity_is_read_up_to_its_bound(number: int) -> None:
    assert quantity(hex(number), "n", 2**256) == number
    with pytest.raises(InvalidNodeAnswer, match="n is beyond"):
        quantity(hex(number + 1), "n", number)


@pytest.mark.parametrize(
    "value", ["0x", "0x00", "0x01", "1", "0X1", "-0x1", "0x-1", "0x1_0", "0x1 ", "0x1\n", "0xg", 1, None]
)
def test_what_json_rpc_does_not_call_a_quantity_is_nonsense(value: object) -> None:
    with pytest.raises(InvalidNodeAnswer, match="n is not a quantity"):
        quantity(value, "n", 10)


@pytest.mark.parametrize(
    "fields", [{"blockNumber": None, "blockHash": BLOCK}, {"blockNumber": "0x1", "blockHash": None}]
)
def test_a_receipt_without_its_block_is_in_no_block_yet(fields: dict[str, Any]) -> None:
    assert mined_in(fields) is None
    assert verify(TRANSACTION, ChainAnswers(fields, None, None), TERMS) == Verification(
        TransferStatus.PENDING, required=3
    )
