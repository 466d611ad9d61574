"""The draw of a dispute panel: which of the eligible evaluators sit, as a function of the job's seed and nothing else.

Each id gets a ticket, HMAC-SHA256 with the seed as its key over `emporion:draw:v1:<round>:<id>`; the ids with the lowest
tickets sit. Under a seed that nobody knew when the list was made, tickets are independent and uniform over 2^256, so every
set of that size is as likely as any other: no remainder is taken, so none favours anybody, and two ids share a ticket
with a chance below 2^-200 (then the lower id goes first). A ticket depends on its own id alone: who joins the list or
leaves it changes the order of no others. The seed is committed to before anybody can know who will be eligible: its hash
stands on the job from its creation.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from hmac import digest

import orjson

PANEL_SEATS = 3


def drawn(seed: bytes, number: int, eligible: Iterable[str], seats: int) -> list[str]:
    """The ids that sit, in the order they were drawn: at most `seats`, in round `number` (1, or 2 for seats drawn again)."""
    return sorted(set(eligible), key=lambda one: (ticket(seed, number, one), one))[: max(0, seats)]


def ticket(seed: bytes, number: int, one: str) -> bytes:
    return digest(seed, f"emporion:draw:v1:{number}:{one}".encode(), "sha256")


def list_text(eligible: Iterable[str]) -> str:
    """The list as it is hashed: a JSON array of the ids, sorted, without spaces."""
    return orjson.dumps(sorted(set(eligible))).decode()


def hash_of(text: str | bytes) -> str:
    """sha256, hex: of a list's text, or of a seed."""
    return sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def faults(seed: bytes, number: int, text: str, text_hash: str, seats: int, sitting: Sequence[str]) -> list[str]:
    """What does not hold of a draw that was made: nothing, where the same seed and list come to the same seats."""
    ids = orjson.loads(text)
    found = []
    if list_text(ids) != text:
        found.append("the list of ids is not sorted, or names one twice")
    if hash_of(text) != text_hash:
        found.append("the list of ids is not the one that was hashed")
    if sorted(drawn(seed, number, ids, seats)) != sorted(sitting):
        found.append("the seed draws others than those who sat")
    return found
