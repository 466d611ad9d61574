"""The draw of a panel: tickets are computed as documented, and a check of a past draw reports its faults."""

import hmac
from hashlib import sha256

import pytest

from tools.jobs.disputes.draw_rules import VERSION, Made, draw_seats, hash_of, list_text, ticket, verify_draw
from tools.jobs.panel_rules import PANEL_SEATS

SEED = bytes(range(32))
IDS = [f"agt_{letter}" for letter in "abcdefgh"]
TEXT = '["agt_a","agt_b","agt_c","agt_d","agt_e","agt_f","agt_g","agt_h"]'


def by_hand(seed: bytes, number: int) -> list[str]:
    """Compute the order of the tickets with the standard library only."""
    made = {one: hmac.new(seed, f"emporion:draw:v1:{number}:{one}".encode(), sha256).digest() for one in IDS}
    return sorted(IDS, key=made.__getitem__)


def test_three_sit() -> None:
    assert (PANEL_SEATS, VERSION) == (3, 3)


def test_a_ticket_is_an_hmac_of_round_and_id_under_the_seed() -> None:
    assert ticket(SEED, 1, "agt_a").hex() == "85e2dfeb762b5e28a3fe2e7c956ebb0e60bc3f1ae1e19cb5d10930beebde3fb1"
    assert ticket(SEED, 2, "agt_a").hex() == "3b289ba92da6d44ba2ab2fb4166afa38c5827934f55871e57925cfd33dd70a13"


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("seats", [1, 3, 8, 20])
def test_the_lowest_tickets_sit_in_the_order_they_were_drawn(number: int, seats: int) -> None:
    assert draw_seats(SEED, number, reversed(IDS), seats) == by_hand(SEED, number)[:seats]
    assert by_hand(SEED, number)[:3] != IDS[:3]


def test_no_seats_draw_no_one_and_a_name_given_twice_has_one_ticket() -> None:
    assert draw_seats(SEED, 1, IDS, 0) == draw_seats(SEED, 1, IDS, -1) == draw_seats(SEED, 1, [], 3) == []
    assert draw_seats(SEED, 1, [*IDS, *IDS], 16) == by_hand(SEED, 1)


def test_the_list_is_hashed_as_sorted_json_without_spaces() -> None:
    assert list_text([*reversed(IDS), "agt_a"]) == TEXT
    assert hash_of(TEXT) == hash_of(TEXT.encode()) == sha256(TEXT.encode()).hexdigest()
    assert hash_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def check(seed: bytes, number: int, text: str, printed: str, seats: int, sitting: list[str]) -> list[str]:
    """Return the faults of a draw of version 1."""
    made = Made(version=1, round=number, wanted=0, seats=seats, eligible=text, eligible_hash=printed)
    return verify_draw(seed, made, sitting)


def test_a_check_says_each_thing_that_does_not_hold_of_a_draw() -> None:
    sat, printed = by_hand(SEED, 1)[:3], sha256(TEXT.encode()).hexdigest()
    unsorted, others = '["agt_b","agt_a"]', "the seed draws others than those who sat"
    assert check(SEED, 1, TEXT, printed, 3, sat) == check(SEED, 1, TEXT, printed, 3, sat[::-1]) == []
    assert check(SEED, 1, TEXT, "0" * 64, 3, sat) == ["the list of ids is not the one that was hashed"]
    for seed, number, sitting in [(bytes(32), 1, sat), (SEED, 2, sat), (SEED, 1, by_hand(SEED, 1)[1:4])]:
        assert check(seed, number, TEXT, printed, 3, sitting) == [others]
    for seats, sitting in [(2, sat), (3, sat[:2])]:
        assert check(SEED, 1, TEXT, printed, seats, sitting) == ["as many seats as sit were not written down", others]
    assert check(SEED, 1, unsorted, hash_of(unsorted), 2, ["agt_a", "agt_b"]) == [
        "the list of ids is not sorted, or names one twice"
    ]
    assert check(SEED, 1, "[", printed, 3, sat) == ["a list is no JSON"]
