"""Sealed outputs: the commitment, how the size is reported, and what a reveal must match."""

from hashlib import sha256
from typing import Any

import pytest

from tools.jobs.sealing_rules import ROUNDED_TO, SALT_BYTES, commitment, is_revealed, reveal_fault, rounded_size

SALT = bytes(range(32)).hex()
OUTPUT, TEXT = {"b": 1, "a": "é"}, '{"a":"é","b":1}'.encode()
COMMITTED = "sha256:" + sha256(bytes(range(32)) + TEXT).hexdigest()
REVEALED: dict[str, Any] = {
    "object": "delivery",
    "output": OUTPUT,
    "output_salt": SALT,
    "output_commitment": COMMITTED,
    "output_hash": sha256(TEXT).hexdigest(),
}
UNREADABLE, OTHER = "the output or its salt cannot be read", "the output is not the one that was committed to"


def test_a_commitment_is_the_hash_of_salt_and_text() -> None:
    assert (SALT_BYTES, ROUNDED_TO) == (32, 1024)
    assert commitment(SALT, TEXT) == COMMITTED
    assert commitment(SALT, b"") == "sha256:630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd"
    assert commitment("00" * 32, TEXT) != COMMITTED


@pytest.mark.parametrize(
    ("size", "shown"), [(0, 0), (1, 1024), (1023, 1024), (1024, 1024), (1025, 2048), (524_288, 524_288)]
)
def test_a_size_is_rounded_up_to_the_next_kilobyte(size: int, shown: int) -> None:
    assert rounded_size(size) == shown


@pytest.mark.parametrize(
    ("record", "revealed"),
    [
        (REVEALED, True),
        (REVEALED | {"object": "job"}, True),
        (REVEALED | {"object": "receipt"}, False),
        (REVEALED | {"output_salt": None}, False),
        ({"object": "job"}, False),
        ({}, False),
    ],
)
def test_what_carries_a_salt_is_revealed(record: dict[str, Any], revealed: bool) -> None:
    assert is_revealed(record) is revealed


def test_a_reveal_agrees_with_its_commitment_and_its_hash() -> None:
    assert reveal_fault(REVEALED) is None
    assert reveal_fault(REVEALED | {"output": {"a": "é", "b": 1}}) is None, "the order of keys plays no part"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"output": OUTPUT | {"b": 2}}, OTHER),
        ({"output_commitment": "sha256:" + "0" * 64}, OTHER),
        ({"output_commitment": COMMITTED.removeprefix("sha256:")}, OTHER),
        ({"output_commitment": None}, OTHER),
        ({"output_commitment": 7}, OTHER),
        ({"output_salt": None}, OTHER),
        ({"output_salt": 7}, OTHER),
        ({"output_salt": "00" * 32}, OTHER),
        ({"output_salt": SALT[:-2]}, OTHER),
        ({"output_salt": SALT + "00"}, OTHER),
        ({"output_salt": "zz" * 32}, UNREADABLE),
        ({"output": float("nan")}, UNREADABLE),
        ({"output_hash": "0" * 64}, "the output does not have this output_hash"),
        ({"output_hash": None}, "the output does not have this output_hash"),
    ],
)
def test_whatever_does_not_agree_is_named(changes: dict[str, Any], fault: str) -> None:
    assert reveal_fault(REVEALED | changes) == fault


def test_a_short_salt_is_refused_even_where_the_commitment_was_made_with_it() -> None:
    """Otherwise a seller could commit without a salt, and the output could be guessed."""
    short = SALT[:-2]
    assert reveal_fault(REVEALED | {"output_salt": short, "output_commitment": commitment(short, TEXT)}) == OTHER
