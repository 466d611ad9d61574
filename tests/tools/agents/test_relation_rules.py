"""Relations between agents, computed by hand; a panel never seats two related agents, compared with a naive draw."""

from itertools import combinations
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.requirements import covers
from tools.agents.relation_rules import Traces, are_linked, are_related, pays_much_of, registrable, share_payers
from tools.jobs.disputes.draw_rules import (
    Made,
    draw_seats,
    drawn_again,
    has_bought,
    hash_of,
    in_order,
    list_text,
    pairs_text,
    seat_unrelated,
    verify_draw,
)

SEED = b"s" * 32


def traces(agent_id: str, **seen: Any) -> Traces:
    for name in ("wallets", "domains"):
        seen[name] = frozenset(seen.get(name, ()))
    return Traces(agent_id, **seen)


RELATED = {
    "one wallet": (traces("a", wallets={"w", "v"}), traces("b", wallets={"w"})),
    "one referred the other": (traces("a"), traces("b", referrer="a")),
    "one referrer": (traces("a", referrer="r"), traces("b", referrer="r")),
    "one domain": (traces("a", domains={"x.com"}), traces("b", domains={"x.com", "y.com"})),
    "paid more than a tenth": (traces("a", wallets={"w"}), traces("b", paid_by={"w": 11, "v": 98})),
    "common payers are more than half of both": (
        traces("a", paid_by={"w": 51, "v": 49}),
        traces("b", paid_by={"w": 2, "u": 1}),
    ),
    "paid more than a tenth, from one of several wallets": (
        traces("a", wallets={"w", "x", "y"}),
        traces("b", paid_by={"w": 11, "v": 98}),
    ),
    "several common payers together": (
        traces("a", paid_by={"w": 3, "v": 3, "u": 4}),
        traces("b", paid_by={"w": 3, "v": 3, "t": 5}),
    ),
}
UNRELATED = {
    "nothing in common": (traces("a", wallets={"w"}, domains={"x.com"}), traces("b", wallets={"v"})),
    "no referrer": (traces("a"), traces("b")),
    "the operator referred both": (
        traces("a", referrer="r", referred_by_operator=True),
        traces("b", referrer="r", referred_by_operator=True),
    ),
    "paid exactly a tenth": (traces("a", wallets={"w"}), traces("b", paid_by={"w": 10, "v": 90})),
    "common payers are half of one": (
        traces("a", paid_by={"w": 50, "v": 50}),
        traces("b", paid_by={"w": 100}),
    ),
    "other wallets of one paid nothing": (
        traces("a", wallets={"w", "x", "y"}),
        traces("b", paid_by={"w": 10, "v": 90}),
    ),
    "paid nothing": (traces("a", wallets={"w"}), traces("b", paid_by={"w": 0})),
}


@covers("second.panels.relations")
@pytest.mark.parametrize("pair", RELATED.values(), ids=RELATED)
def test_each_relation_holds_both_ways(pair: tuple[Traces, Traces]) -> None:
    one, other = pair
    assert are_related(one, other)
    assert are_related(other, one)


@covers("second.panels.bought")
def test_what_one_paid_the_other_is_told_apart_from_the_other_relations() -> None:
    found = {
        name: [relation(*pair) for relation in (are_linked, pays_much_of, share_payers)]
        for name, pair in RELATED.items()
    }
    payments = [name for name in RELATED if name.startswith("paid")]
    common = [name for name in RELATED if "common payers" in name]
    for name, holds in found.items():
        assert holds == [name not in (*payments, *common), name in payments, name in common], name
    payer, seller = RELATED[payments[0]]
    assert not pays_much_of(seller, payer), "only one of them paid"


@covers("second.panels.relations")
@pytest.mark.parametrize("pair", UNRELATED.values(), ids=UNRELATED)
def test_below_each_bound_there_is_no_relation(pair: tuple[Traces, Traces]) -> None:
    one, other = pair
    assert not are_related(one, other)
    assert not are_related(other, one)


@pytest.mark.parametrize(
    ("domain", "found"),
    [
        ("agent.example.co.uk", "example.co.uk"),
        ("example.com", "example.com"),
        ("a.b.example.com", "example.com"),
        ("alice.github.io", "alice.github.io"),
        ("www.alice.github.io", "alice.github.io"),
        ("x.host.unlisted", "host.unlisted"),
        ("xn--bcher-kva.example.de", "example.de"),
    ],
)
def test_the_registrable_domain_is_one_label_more_than_the_public_suffix(domain: str, found: str) -> None:
    assert registrable(domain) == found


@st.composite
def draws(choose: st.DrawFn) -> tuple[list[str], set[frozenset[str]], set[str], int]:
    """Generate ids, related pairs, ids paid by a party, and the number of seats.

    A pair may contain "outside", an agent that is not in the draw.
    """
    ids = [f"agt_{number}" for number in range(choose(st.integers(0, 9)))]
    every = [frozenset(pair) for pair in combinations([*ids, "outside"], 2)]
    related = set(choose(st.lists(st.sampled_from(every)))) if every else set()
    paid = set(choose(st.lists(st.sampled_from(ids), max_size=3))) if ids else set()
    return ids, related, paid, choose(st.integers(0, 4))


@covers("second.panels.draw", "second.panels.bought")
@given(draws())
def test_the_walk_seats_all_who_are_unrelated_and_its_lists_give_the_same_seats(
    drawn_from: tuple[list[str], set[frozenset[str]], set[str], int],
) -> None:
    ids, related, paid, seats = drawn_from
    order = in_order(SEED, 1, ids)
    assert order == draw_seats(SEED, 1, ids, len(ids)), "the order of version 1"
    seated, pairs = seat_unrelated(
        order, seats, ["outside"], lambda one, other: frozenset((one, other)) in related, paid.__contains__
    )
    naive: list[str] = []
    for one in order:
        if len(naive) < seats and not any(frozenset((one, other)) in related for other in ["outside", *naive]):
            naive.append(one)
    stopped = next((one for one in naive if one in paid), None)
    assert seated == ([] if stopped else naive), (
        "a payment changes nobody's seat: they sit as without it, or nobody does"
    )
    assert {frozenset(pair) for pair in pairs} <= related | {frozenset((one,)) for one in paid}
    assert has_bought(pairs) == (stopped is not None)
    kept = orjson.loads(pairs_text(pairs))
    assert drawn_again(SEED, 1, ids, kept, seats) == seated
    assert verify_draw(SEED, made(ids, kept, seats, len(seated)), seated) == []


def made(ids: list[str], pairs: list[Any], wanted: int, seats: int, **more: Any) -> Made:
    text, related = list_text(ids), pairs_text(pairs)
    return Made(2, 1, wanted, seats, text, hash_of(text), related, hash_of(related), **more)


@covers("second.panels.draw")
def test_a_draw_of_version_two_that_was_tampered_with_is_told() -> None:
    ids = ["a", "b", "c", "d"]
    first, second, third, fourth = in_order(SEED, 1, ids)
    draw = made(ids, [(first, second)], 2, 2)
    assert verify_draw(SEED, draw, [first, third]) == []
    assert verify_draw(SEED, draw, [first, second]) == [
        "two who sat are related",
        "the seed draws others than those who sat",
    ]
    assert verify_draw(SEED, draw._replace(related="[]"), [first, third]) != []
    assert verify_draw(SEED, draw._replace(related_hash="0"), [first, third]) == [
        "the list of related pairs is not the one that was hashed"
    ]
    swapped = f'[["{max(first, second)}","{min(first, second)}"]]'
    unsorted = draw._replace(related=swapped, related_hash=hash_of(swapped))
    assert verify_draw(SEED, unsorted, [first, third]) == [
        "the list of related pairs is not sorted, or names one twice"
    ]
    whole = made(ids, [(first, second)], 2, 0, whole_or_none=True)
    assert verify_draw(SEED, whole, []) == ["the seed draws others than those who sat"], "two could be seated"
    three = made(ids, [(first, one) for one in (second, third, fourth)], 3, 0, whole_or_none=True)
    assert verify_draw(SEED, three, []) == [], "on live fewer than three are none"


@covers("second.panels.bought")
def test_a_draw_that_ends_at_an_evaluator_whom_a_party_paid_seats_nobody() -> None:
    ids = ["a", "b", "c", "d"]
    first, second, third, fourth = in_order(SEED, 1, ids)
    for at, one in enumerate((first, second, third, fourth)):
        seated, pairs = seat_unrelated(
            [first, second, third, fourth], 3, ["p"], lambda _, __: False, {one}.__contains__
        )
        stops = at < 3
        assert (seated, has_bought(pairs)) == ([] if stops else [first, second, third], stops)
        assert drawn_again(SEED, 1, ids, pairs, 3) == seated
    draw = made(ids, [(second, second)], 3, 0)._replace(version=3)
    assert verify_draw(SEED, draw, []) == []
    assert verify_draw(SEED, draw._replace(seats=3), [first, third, fourth]) == [
        "the seed draws others than those who sat"
    ]
    late = made(ids, [(fourth, fourth)], 3, 0)._replace(version=3)
    assert verify_draw(SEED, late, []) == ["the seed draws others than those who sat"], "it would not have sat"


@covers("second.panels.bought")
def test_an_evaluator_that_may_not_sit_anyway_ends_no_draw() -> None:
    related = frozenset(("b", "p"))
    seated, pairs = seat_unrelated(
        ["a", "b", "c"], 2, ["p"], lambda one, other: frozenset((one, other)) == related, {"b"}.__contains__
    )
    assert (seated, pairs) == (["a", "c"], {("b", "p")})
