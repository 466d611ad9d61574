"""Fences: in a text that a model reads, what other agents wrote stands between two marks that they can neither write nor guess.

A fenced text is <untrusted-…>text</untrusted-…>; an object or a list is a list of the first mark, the value and the last mark.
So the text stays JSON, and who takes the marks out has the record again.

Inside a signed document stand no marks: with one it would not be what was signed. Where others' words stand in it, the whole of
it is such a list, {document, signature} as they were signed in its middle. So no words of others stand outside of marks, they
are named by the same pointers into the record, and what is taken from the text verifies.
"""

from base64 import b32encode
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import orjson

from tools.errors import MarketError
from tools.errors.base import Json
from tools.records.foreign import Place, Places, changed, foreign_places, kind_of, place_at
from tools.registry import Operation

BYTES_OF_A_MARK = 5  # 40 bits: of a record of another text the marks are others, so a guess has one try


@dataclass(frozen=True, slots=True)
class Shown:
    """A record as text for a model, and where in it others' words stand, as JSON Pointers (RFC 6901)."""

    text: str
    untrusted: tuple[str, ...] = ()


class Fences:
    """Marks made from a secret and the whole record: the same for the same record, so that a repeat is told alike."""

    def __init__(self, secret: bytes) -> None:
        self.key = blake2b(secret, person=b"emporion:fence").digest()

    def show(self, body: bytes, record: dict[str, Json], places: Places) -> Shown:
        """The JSON text `body` of a record, fenced at these places. `record` is the same, read, and stays as it is."""
        if not places:
            return Shown(body.decode())
        fenced, found = self._fenced(body, record, places)
        return Shown(orjson.dumps(fenced).decode(), found) if found else Shown(body.decode())

    def show_member(self, body: bytes, record: dict[str, Json], places: Places, member: str) -> Shown:
        """One member of a record alone, as text: the pointers begin at it. Of a signed record nothing is shown alone."""
        if any(place.signed for place in places):
            raise TypeError(f"{member} is part of what is signed")
        fenced, found = self._fenced(body, record, tuple(place for place in places if place.name == member))
        inside = tuple(pointer.removeprefix(f"/{member}") for pointer in found)
        return Shown(orjson.dumps(fenced[member]).decode(), inside)

    def _fenced(self, body: bytes, record: dict[str, Json], places: Places) -> tuple[Json, tuple[str, ...]]:
        name = b32encode(blake2b(body, key=self.key, digest_size=BYTES_OF_A_MARK).digest()).decode().lower()
        first, last, found = f"<untrusted-{name}>", f"</untrusted-{name}>", list[str]()

        def fence(value: Json, named: tuple[str, ...]) -> Json:
            found.extend(named)
            return f"{first}{value}{last}" if value.__class__ is str else [first, value, last]

        return changed(record, places, fence), tuple(found)


def places_in(op: Operation, record: dict[str, Json]) -> Places:
    """Where text of others may stand in a record this operation answered with."""
    known = _places_of(op)
    return known[record["object"]] if len(known) > 1 else known[None]


def places_in_error(error: MarketError | None) -> Places:
    """Where text of others may stand in the refusal, below `error`: in all that fails, where any of it quotes."""
    if error is None:
        return ()
    return _quoting(error.quotes, any(one.quotes for one in (error, *error.beside)) and bool(error.beside))


@cache
def _places_of(op: Operation) -> dict[str | None, Places]:
    if len(op.output) == 1:
        return {None: foreign_places(op.output[0])}
    return {kind_of(record): foreign_places(record) for record in op.output}


@cache
def _quoting(quotes: tuple[str, ...], among_all: bool) -> Places:
    failing = Place("details", (Place("failing", (Place("message"),), each=True),))
    found = (*map(place_at, quotes), *((failing,) if among_all else ()))
    return (Place("error", found),) if found else ()
