"""Untrusted text: in a text for a model, other agents' text is put between two marks that those agents cannot know or guess.

A fenced text is <untrusted-…>text</untrusted-…>. A list gets the marks as its first and last item. An object gets them
as the names of its first and last member, whose values are empty texts. In a sentence of the market the marks are around
what it quotes. So every value keeps its JSON type, the text stays JSON, and a client that removes the marks has the
original record. The caller's own text gets no marks.

A signed document gets no marks inside, because they would break its signature. If it contains other agents' text, the
marks surround {document, signature} as a whole. So all such text is inside of marks, the same JSON Pointers into the
record name it, and a document that is copied from the text still verifies.
"""

from base64 import b32encode
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b

import orjson

from protocol.untrusted_text import Place, Places, changed, foreign_places, place_at, record_type
from tools.engine.registry import Operation
from tools.kernel.errors import Json, MarketError
from tools.kernel.quoting import parts_of
from tools.kernel.text_authors import any_of

SENTENCE = Place("message", parts=parts_of)
OF_RULES = any_of({"rule": None})  # without a rule, `param` is a place in the caller's own document
VIOLATION = (SENTENCE, Place("param", unless=OF_RULES), Place("rule"))
QUOTING = {"message": SENTENCE, "details/violations": Place("details", (Place("violations", VIOLATION, each=True),))}
BYTES_OF_A_MARK = 5  # 40 bits: the marks depend on the record's text, so a guess has one try


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A record as text for a model, and JSON Pointers (RFC 6901) to other agents' text in it."""

    text: str
    untrusted: tuple[str, ...] = ()


class UntrustedMarkers:
    """Marks made from a secret and the whole record; the same record always gets the same marks."""

    def __init__(self, secret: bytes) -> None:
        self.key = blake2b(secret, person=b"emporion:fence").digest()

    def show(self, body: bytes, record: dict[str, Json], places: Places, caller: str | None = None) -> MarkedText:
        """Return the JSON text `body` of a record with fences at these places.

        `record` is the parsed `body`; it is not changed. `caller` is the agent that reads it: its own text gets no fence.
        """
        if not places:
            return MarkedText(body.decode())
        fenced, found = self._fenced(body, record, places, caller)
        return MarkedText(orjson.dumps(fenced).decode(), found) if found else MarkedText(body.decode())

    def show_member(
        self, body: bytes, record: dict[str, Json], places: Places, member: str, caller: str | None = None
    ) -> MarkedText:
        """Return one member of a record as text, with pointers that begin at the member.

        Raises TypeError for a signed record, because its members are not shown alone.
        """
        if any(place.signed for place in places):
            raise TypeError(f"{member} is part of what is signed")
        fenced, found = self._fenced(body, record, tuple(place for place in places if place.name == member), caller)
        inside = tuple(pointer.removeprefix(f"/{member}") for pointer in found)
        return MarkedText(orjson.dumps(fenced[member]).decode(), inside)

    def _fenced(
        self, body: bytes, record: dict[str, Json], places: Places, caller: str | None
    ) -> tuple[Json, tuple[str, ...]]:
        name = b32encode(blake2b(body, key=self.key, digest_size=BYTES_OF_A_MARK).digest()).decode().lower()
        first, last, found = f"<untrusted-{name}>", f"</untrusted-{name}>", list[str]()

        def fence(value: Json, named: tuple[str, ...]) -> Json:
            found.extend(named)
            if value.__class__ is str:
                return f"{first}{value}{last}"
            return {first: "", **value, last: ""} if value.__class__ is dict else [first, *value, last]

        return changed(record, places, fence, caller), tuple(dict.fromkeys(found))


def places_in(op: Operation, record: dict[str, Json]) -> Places:
    """Return the places of other agents' text in an operation's record."""
    return foreign_places(record_type(op, record))


def places_in_error(error: MarketError | None) -> Places:
    """Return the places of other agents' text in a refusal.

    Of all that fails, the messages of those errors count that may quote.
    """
    if error is None:
        return ()
    told = (error, *error.other_failures) if error.other_failures else ()
    return _quoting(error.quotes, tuple((one.code, "message" in one.quotes) for one in told))


@cache
def _quoting(quotes: tuple[str, ...], told: tuple[tuple[str, bool], ...]) -> Places:
    """`told`: the codes of all that fails, and whether the message of each quotes."""
    own = any_of(*({"code": code} for code, quoting in told if not quoting))
    failing = Place("details", (Place("failing", (replace(SENTENCE, unless=own),), each=True),))
    found = (
        *(QUOTING.get(place) or place_at(place) for place in quotes),
        *((failing,) if len(own) < len(told) else ()),
    )
    return (Place("error", found),) if found else ()
