"""The draw of a dispute panel: selects evaluators by the job's seed and two lists.

Each id gets a ticket: HMAC-SHA256 with the seed as its key over `emporion:draw:v1:<round>:<id>`. The seed is not
known when the list is made, so tickets are independent and uniform over 2^256, and every order is equally likely. No
remainder is taken, so there is no bias. Two ids share a ticket with a chance below 2^-200; then the lower id goes
first. A ticket depends only on its own id, so ids that join or leave the list do not reorder the others. The hash of
the seed is stored with the job when it is created, before anyone can know which ids will be eligible.

Version 1 seats the ids with the lowest tickets. Version 2 goes through the same order, and seats each id that is
related to none of those seated before it, to neither party and, in round 2, to no member of round 1. The related pairs
that it met are stored with the draw, so that the same seed and the same two lists give the same seats.

Version 3 does the same, but what a party itself has paid an evaluator never lets another evaluator sit instead.
Otherwise a party could choose its panel by buying from the evaluators that it does not want. If the draw reaches an
evaluator that would be seated if no party had paid it, nobody is seated and the operator decides. The list of pairs
then contains that evaluator's id paired with itself. A draw of version 2 has no such pair, so the same function repeats
both versions.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from hmac import digest
from typing import NamedTuple

import orjson

VERSION = 3

Pair = tuple[str, str]


class Made(NamedTuple):
    """A draw as it is stored."""

    version: int
    round: int
    wanted: int  # how many seats were to be filled
    seats: int  # how many were filled
    eligible: str
    eligible_hash: str
    related: str = "[]"
    related_hash: str = ""
    whole_or_none: bool = False  # in round 1 on live: no seats unless all wanted ones are filled


def in_order(seed: bytes, number: int, eligible: Iterable[str]) -> list[str]:
    """Sort the ids by their tickets in round `number`: 1, or 2 for seats drawn again."""
    return sorted(set(eligible), key=lambda one: (ticket(seed, number, one), one))


def draw_seats(seed: bytes, number: int, eligible: Iterable[str], seats: int) -> list[str]:
    """Draw by version 1: return at most `seats` ids, in the order they were drawn."""
    return in_order(seed, number, eligible)[: max(0, seats)]


def seat_unrelated(
    order: Iterable[str],
    seats: int,
    before: Iterable[str],
    related: Callable[[str, str], bool],
    bought: Callable[[str], bool],
) -> tuple[list[str], set[Pair]]:
    """Draw by version 3: return the seated ids, and every pair that was met.

    `before` are ids that no seated id may be related to: the parties and, in round 2, the members of round 1. `bought`
    tells whether a party has paid an evaluator. It is asked only about an id that would be seated otherwise. If it is
    true, nobody is seated, and that id is paired with itself.
    """
    apart, seated, pairs = list(before), list[str](), set[Pair]()
    for one in order:
        if len(seated) >= seats:
            break
        met = [other for other in (*apart, *seated) if related(one, other)]
        pairs |= {(min(one, other), max(one, other)) for other in met}
        if not met and bought(one):
            return [], pairs | {(one, one)}
        if not met:
            seated.append(one)
    return seated, pairs


def has_bought(pairs: Iterable[Sequence[str]]) -> bool:
    """Check whether a draw ended at an evaluator that a party had paid."""
    return any(one == other for one, other in pairs)


def drawn_again(
    seed: bytes, number: int, eligible: Iterable[str], pairs: Iterable[Sequence[str]], seats: int
) -> list[str]:
    """Repeat a draw by version 2 or 3 from the two lists alone.

    An id that is only in `pairs` is a party or an earlier member, to which no seated id may be related.
    """
    ids = set(eligible)
    known = {frozenset(pair) for pair in pairs}
    read_ctx = sorted({one for pair in known for one in pair} - ids)
    seated, _ = seat_unrelated(
        in_order(seed, number, ids),
        seats,
        read_ctx,
        lambda one, other: frozenset((one, other)) in known,
        lambda one: frozenset((one,)) in known,
    )
    return seated


def ticket(seed: bytes, number: int, one: str) -> bytes:
    return digest(seed, f"emporion:draw:v1:{number}:{one}".encode(), "sha256")


def list_text(eligible: Iterable[str]) -> str:
    """Write the list as it is hashed: a JSON array of the sorted ids, without spaces."""
    return orjson.dumps(sorted(set(eligible))).decode()


def pairs_text(pairs: Iterable[Sequence[str]]) -> str:
    """Write the pairs as they are hashed: a sorted JSON array of sorted pairs, no spaces."""
    return orjson.dumps(sorted({tuple(sorted(pair)) for pair in pairs})).decode()


def hash_of(text: str | bytes) -> str:
    """Return the SHA-256 of a list's text or of a seed, in hex."""
    return sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def verify_draw(seed: bytes, made: Made, sitting: Sequence[str]) -> list[str]:
    """Return what is wrong with a draw; nothing if its seed and lists give the same seats."""
    try:
        ids, pairs = orjson.loads(made.eligible), orjson.loads(made.related)
    except orjson.JSONDecodeError:
        return ["a list is no JSON"]
    found = [] if len(sitting) == made.seats else ["as many seats as sit were not written down"]
    if list_text(ids) != made.eligible:
        found.append("the list of ids is not sorted, or names one twice")
    if hash_of(made.eligible) != made.eligible_hash:
        found.append("the list of ids is not the one that was hashed")
    if made.version == 1:
        again = draw_seats(seed, made.round, ids, made.seats)
    else:
        found += _faults_of_pairs(made, pairs, sitting)
        again = drawn_again(seed, made.round, ids, pairs, made.wanted)
        again = [] if made.whole_or_none and len(again) < made.wanted else again
    if sorted(again) != sorted(sitting):
        found.append("the seed draws others than those who sat")
    return found


def _faults_of_pairs(made: Made, pairs: Sequence[Sequence[str]], sitting: Sequence[str]) -> list[str]:
    found = []
    if pairs_text(pairs) != made.related:
        found.append("the list of related pairs is not sorted, or names one twice")
    if hash_of(made.related) != made.related_hash:
        found.append("the list of related pairs is not the one that was hashed")
    if any(set(pair) <= set(sitting) for pair in pairs):
        found.append("two who sat are related")
    return found
