"""The catalogues of other markets: read strictly, because a hostile server may have written them, and searched.

An entry is taken only if its identifier belongs to the market that it was read from, its URL is a public one of
another market, and its texts pass the screening that listings pass.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from storage.peers import peers_among
from storage.transaction import Tx
from tools.engine.context import ReadContext
from tools.kernel.ard_urns import CATALOG, MANIFEST, REGISTRY, URN, publisher_in
from tools.kernel.plain_text import one_line
from tools.kernel.records import Json, shortened
from tools.kernel.search_terms import index_terms, query_terms
from tools.kernel.ssrf_guard import BadTarget, judge_target
from tools.kernel.strict_json import BadJson, parse
from tools.screening.errors import ContentRejected
from tools.screening.logic import public_words

KEPT = timedelta(hours=24)
MAX_ENTRIES, MAX_NESTED = 1_000, 10  # of one market
MAX_IDENTIFIER, MAX_KIND, MAX_LINE, MAX_WORD, MAX_WORDS = 300, 200, 200, 64, 16
Entry = dict[str, Any]  # identifier, displayName, type, url, description, tags, capabilities


class BadCatalog(Exception):
    """A document that is no catalogue. `reason` is one word for the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Reader:
    """The market that reads, and the market that is read."""

    origin: str  # of the market that is read
    publisher: str  # ours
    own: frozenset[tuple[str, int]]  # our hosts and ports
    allow_private: bool

    def read(self, raw: bytes, room: int) -> "Catalog":
        """Return the accepted entries of a document, at most `room`; raises BadCatalog."""
        try:
            document = parse(raw)
        except BadJson:
            raise BadCatalog("malformed") from None
        entries = document.get("entries") if isinstance(document, dict) else None
        if not isinstance(entries, list):
            raise BadCatalog("no_entries")
        found = [self._accepted(one) for one in entries[:room]]
        kept = [one for one in found if one is not None]
        nested = [one["url"] for one in kept if one["type"] == CATALOG and _origin(one["url"]) == self.origin]
        shown = [one for one in kept if one["type"] != CATALOG]
        return Catalog(shown, nested[:MAX_NESTED], len(entries) - len(kept))

    def _accepted(self, given: Json) -> Entry | None:
        """Return an entry with its texts in short lines; None if it is refused."""
        if not isinstance(given, dict):
            return None
        identifier, kind, url = (_ascii(given.get(name)) for name in ("identifier", "type", "url"))
        name, description = (_line(given.get(member), MAX_LINE) for member in ("displayName", "description"))
        if not (name and 0 < len(kind) <= MAX_KIND and self._belongs(identifier) and self._is_reachable(url)):
            return None
        words = {"tags": _words(given.get("tags"), str.lower), "capabilities": _words(given.get("capabilities"))}
        try:
            public_words({"displayName": name, "description": description, **words})
        except ContentRejected:
            return None
        shown = {"identifier": identifier, "displayName": name, "type": kind, "url": url, "description": description}
        return shown | words

    def _belongs(self, identifier: str) -> bool:
        if len(identifier) > MAX_IDENTIFIER or not URN.fullmatch(identifier):
            return False
        publisher = publisher_in(identifier)
        return publisher == urlsplit(self.origin).hostname and publisher != self.publisher

    def _is_reachable(self, url: str) -> bool:
        try:
            judge_target(url, self.allow_private, self.own)
        except BadTarget:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Catalog:
    """The accepted entries of a document, how many were refused, and the catalogues it names."""

    entries: list[Entry]
    nested: list[str]
    refused: int


@dataclass(frozen=True, slots=True)
class Foreign:
    """An entry of another market."""

    market: str  # host
    source: str  # the registry to ask for more, or the manifest
    entry: Entry
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """All entries of other markets that are less than a day old."""

    entries: list[Foreign] = field(default_factory=list)
    registries: list[Entry] = field(default_factory=list)

    def matching(self, q: str | None) -> list[Foreign]:
        """Return the entries with all words of `q`, otherwise with any of them; markets take turns."""
        wanted = query_terms(q or "")
        if q and not wanted:
            return []
        found = [(len(one.terms.intersection(wanted)), one) for one in self.entries]
        most = max((hits for hits, _ in found), default=0)
        least = len(wanted) if most == len(wanted) else 1
        return _in_turn(sorted((one for one in found if one[0] >= least), key=lambda one: -one[0]))


async def elsewhere(read_ctx: ReadContext) -> Elsewhere:
    """Return the entries of other markets, as a worker last read them, shared for a minute."""
    origins, since = read_ctx.config.referrals, read_ctx.now - KEPT
    if not origins:
        return Elsewhere()
    return await read_ctx.services.shared_results.of(
        "elsewhere", lambda: read_ctx.store.scan(lambda tx: _load(tx, origins, since))
    )


def _load(tx: Tx, origins: Sequence[str], since: datetime) -> Elsewhere:
    kept, found = {row.origin: row.documents for row in tx.all(peers_among, origins=origins)}, Elsewhere()
    for origin in origins:
        read = islice(_entries(kept.get(origin, []), since), MAX_ENTRIES)
        entries = {one["identifier"]: one for one in read}.values()
        registries = [one for one in entries if one["type"] == REGISTRY]
        source = registries[0]["url"] if registries else origin + MANIFEST
        market = urlsplit(origin).hostname or ""
        found.registries.extend(registries)
        found.entries.extend(
            Foreign(market, source, one, frozenset(_terms(one))) for one in entries if one["type"] != REGISTRY
        )
    return found


def _entries(documents: Iterable[dict[str, Any]], since: datetime) -> Iterable[Entry]:
    """Yield the entries of the documents that were read since then."""
    return (entry for one in documents if one["at"] > since.timestamp() for entry in one["entries"])


def _terms(entry: Entry) -> tuple[str, ...]:
    words = [*entry["tags"], *entry["capabilities"]]
    return index_terms(entry["displayName"], entry["description"], words, "")


def _in_turn(found: Sequence[tuple[int, Foreign]]) -> list[Foreign]:
    """Order by hits; among equals each market has a turn, so that none fills the page."""
    turn = Counter[tuple[int, str]]()
    placed = list[tuple[int, int, Foreign]]()
    for hits, one in found:
        placed.append((-hits, turn[hits, one.market], one))
        turn[hits, one.market] += 1
    return [one for *_, one in sorted(placed, key=lambda each: each[:2])]


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _ascii(value: Json) -> str:
    return value if isinstance(value, str) and value.isascii() and value.isprintable() else ""


def _line(value: Json, most: int) -> str:
    return shortened(one_line(value), most) if isinstance(value, str) else ""


def _words(value: Json, form: Callable[[str], str] = str) -> list[str]:
    """Return the texts of a list as short lines in this form, each once."""
    given = value[:MAX_WORDS] if isinstance(value, list) else []
    return [*dict.fromkeys(word for one in given if (word := form(_line(one, MAX_WORD))))]
