"""Ids: a prefix that names the kind of record, then 26 characters that sort by creation (ULID) or by number (events).

The alphabet is Crockford's base32 in upper case (https://github.com/ulid/spec). Sorted as text, ids are in the order of
their numbers.
"""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

ENTROPY_BYTES = 10
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_AS_PYTHON_READS = str.maketrans(_ALPHABET, "0123456789abcdefghijklmnopqrstuv")  # digits of int(text, 32)
_LENGTH = 26
_SHIFTS = range(5 * (_LENGTH - 1), -1, -5)  # of a number's digits in base 32, the highest first
_PAIRS = tuple(one + two for one in _ALPHABET for two in _ALPHABET)
_BODY = re.compile(f"[0-7][{_ALPHABET}]{{{_LENGTH - 1}}}")  # 128 bits: the first character holds three
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Prefix(StrEnum):
    """The first four characters of an id."""

    AGENT = "agt_"
    LISTING = "lst_"
    JOB = "job_"
    SETTLEMENT = "stl_"
    MESSAGE = "msg_"
    EVENT = "evt_"
    WEBHOOK = "whk_"
    BOUNTY = "bty_"
    KEY = "key_"
    THREAD = "thr_"
    DISPUTE = "dsp_"
    REVIEW = "rev_"
    PROPOSAL = "prp_"
    SCHEDULE = "sch_"
    REPORT = "rpt_"
    DELIVERY = "dlv_"
    REQUEST = "req_"
    ARCHIVE = "arc_"


class BadId(ValueError):
    """Text that is not an id of the expected kind."""


def new_id(prefix: str, now: datetime, entropy: bytes) -> str:
    """Make an id with a ULID of 48 bits of milliseconds since 1970 and 80 bits of entropy.

    `now` is aware, and `entropy` is exactly 10 bytes.
    """
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"An id takes {ENTROPY_BYTES} bytes of entropy.")
    milliseconds = (now - _EPOCH) // timedelta(milliseconds=1)
    if not 0 <= milliseconds < 2**48:
        raise ValueError("An id's time lies between 1970 and the year 10889.")
    return prefix + _spell(milliseconds << 80 | int.from_bytes(entropy))


def first_id(prefix: str, at: datetime) -> str:
    """Return a lower bound of ids made at that millisecond or later, above every earlier one."""
    return new_id(prefix, at, bytes(ENTROPY_BYTES))


def event_id(number: int) -> str:
    """Return the id of event `number` (0 to 2^63-1); ids sort in the order of numbers."""
    if not 0 <= number < 2**63:
        raise ValueError("An event's number lies between 0 and 2^63-1.")
    return _head_of_event(number >> 10) + _PAIRS[number & 1023]


def event_number(text: str) -> int:
    """Return the number in an event id; raises BadId for any other text."""
    if not is_id(Prefix.EVENT, text):
        raise BadId("An event id is evt_ and 26 characters of Crockford base32.")
    number = int(text.removeprefix(Prefix.EVENT).translate(_AS_PYTHON_READS), 32)
    if number >= 2**63:
        raise BadId("No event has this id.")
    return number


def is_id(prefix: str, text: str) -> bool:
    """Check whether `text` has the form of an id with this prefix."""
    return text.startswith(prefix) and _BODY.fullmatch(text, len(prefix)) is not None


@lru_cache(1024)
def _head_of_event(number: int) -> str:
    """Return all but the last two letters, which most events of a page share."""
    return Prefix.EVENT + _spell(number)[2:]


def _spell(number: int) -> str:
    return "".join([_ALPHABET[number >> shift & 31] for shift in _SHIFTS])
