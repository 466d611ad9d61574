"""The registry of ARD 0.91 (5.3): search, retrieve and list live listings, as operations that only this registry calls.

They search with `search_listings` and read with `get_listing`, so they find what agents find. Test listings are never
shown, whatever credential a request has.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import orjson
from pydantic import BeforeValidator, Field, StringConstraints

from protocol.discovery.ard import A2A_CARD, Entry, document, listing_entry, registry, surfaces, urn
from storage.vocabulary import Env
from tools.discovery.peer_catalogs import Foreign, elsewhere
from tools.engine.arguments import Arguments
from tools.engine.context import ReadContext
from tools.engine.errors import InvalidCursor, InvalidRequest, NotFound
from tools.engine.registry import internal_operation
from tools.kernel.ard_urns import URN, publisher_in
from tools.kernel.records import Ready, encode
from tools.listings.logic import Tag
from tools.listings.search_operations import ListingRef, SearchListings, get_listing, search_listings

T = TypeVar("T")
SECONDS = 60  # that a cache may keep an answer
MAX_CATALOG, MAX_CATALOG_BYTES = 1_000, 2_000_000  # readers take 2 MB
LEAST_SCORE = 51  # of our entries, so that those of other markets come after them
MAX_TERMS = 200  # characters of a query that a search of listings reads
LISTING_ID = re.compile(r"lst_[0-9A-Za-z]{1,60}")
TOKEN = re.compile(r"([0-9]{1,6})\.([A-Za-z0-9_-]+)")

Value = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Many = Annotated[
    list[T], Field(max_length=20), BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
]
LIVE_ONLY = (
    "This registry shows live listings only, and takes no env. GET /v1/listings?env=test searches test listings."
)
PageToken = Annotated[str | None, Field(alias="pageToken", max_length=1_000)]


class LiveArguments(Arguments):
    hints: ClassVar[Mapping[str, str]] = {"env": LIVE_ONLY}


class Filter(LiveArguments):
    """The terms by which results can be filtered; any other is refused."""

    type: Many[Value] | None = None
    publisher: Many[Value] | None = None
    tags: Many[Tag] | None = None
    capabilities: Many[Value] | None = None

    def admits(self, entry: Entry) -> bool:
        """Check an entry: each named term needs one of its values."""
        found = {**entry, "type": [entry["type"]], "publisher": [publisher_in(entry["identifier"])]}
        return all(not set(wanted).isdisjoint(found.get(term, ())) for term, wanted in self if wanted is not None)


class Query(LiveArguments):
    text: str = Field(min_length=1, max_length=2_000)
    filter: Filter = Filter()
    context: Any = Field(None, alias="@context")  # ignored: it binds terms that are not known here


class SearchRegistry(LiveArguments):
    query: Query
    federation: Literal["auto", "referrals", "none"] = "auto"
    page_size: int = Field(10, alias="pageSize", ge=1, le=100)
    page_token: PageToken = None


class ListRegistry(LiveArguments):
    page_size: int = Field(20, alias="pageSize", ge=1, le=100)
    page_token: PageToken = None


class EntryRef(LiveArguments):
    identifier: str = Field(max_length=500)


@internal_operation("GET /ard", auth="none", cache_seconds=SECONDS)
async def get_registry(read_ctx: ReadContext, _: LiveArguments) -> Ready:
    """Read what this registry offers."""
    config = read_ctx.config
    offered = (search_registry, list_registry, get_registry_entry, get_listing_catalog)
    operations = [{"method": op.method, "path": op.path, "description": op.summary} for op in offered]
    about = {"note": LIVE_ONLY, "manifest": f"{config.base_url}/.well-known/ard.json", "operations": operations}
    return _answer(registry(config) | {"env": Env.LIVE.value} | about)


@internal_operation("POST /ard/search", auth="none", safe=True, errors=(InvalidCursor,))
async def search_registry(read_ctx: ReadContext, asked: SearchRegistry) -> Ready:
    """Search live listings by words and filters, best first; then entries of other markets.

    Other markets are shown on the first page, on at most half of it, as they were last read: none is asked now.
    """
    others = await elsewhere(read_ctx)
    foreign = others.matching(asked.query.text) if asked.federation == "auto" and asked.page_token is None else []
    admitted = [one for one in foreign if asked.query.filter.admits(one.entry)][: asked.page_size // 2]
    found, token = await _own_results(read_ctx, asked, asked.page_size - len(admitted))
    found += [_foreign_result(one, number) for number, one in enumerate(admitted)]
    referred = {"referrals": [_referral(one) for one in others.registries]} if asked.federation == "referrals" else {}
    return _answer({"results": found, **referred}, token)


@internal_operation("GET /ard/agents", auth="none", errors=(InvalidCursor,), cache_seconds=SECONDS)
async def list_registry(read_ctx: ReadContext, asked: ListRegistry) -> Ready:
    """List live listings, newest first."""
    _, cursor = _place(asked.page_token)
    entries, following = await _page(read_ctx, sort="newest", limit=asked.page_size, cursor=cursor)
    return _answer({"items": entries}, following and f"0.{following}")


@internal_operation("GET /ard/agents/{identifier}", auth="none", errors=(NotFound,), cache_seconds=SECONDS)
async def get_registry_entry(read_ctx: ReadContext, ref: EntryRef) -> Ready:
    """Read the complete entry with this identifier."""
    if not URN.fullmatch(ref.identifier):
        raise InvalidRequest("identifier: urn:air:<publisher>:<name>", param="identifier")
    found = await _entry(read_ctx, ref.identifier)
    if found is None:
        raise NotFound("no entry has this identifier here", param="identifier")
    return _answer(found)


@internal_operation("GET /ard/listings.json", auth="none", cache_seconds=SECONDS)
async def get_listing_catalog(read_ctx: ReadContext, _: LiveArguments) -> Ready:
    """Return the newest live listings as a catalogue, at most 1,000 and 2 MB."""
    entries, size, cursor = list[Entry](), 0, None
    while True:
        page, cursor = await _page(read_ctx, sort="newest", limit=100, cursor=cursor)
        for entry in page:
            size += len(orjson.dumps(entry)) + 1
            if size > MAX_CATALOG_BYTES:
                cursor = None
                break
            entries.append(entry)
        if cursor is None or len(entries) >= MAX_CATALOG:
            return _answer(document(read_ctx.config, entries[:MAX_CATALOG]))


async def _own_results(read_ctx: ReadContext, asked: SearchRegistry, limit: int) -> tuple[list[Entry], str | None]:
    """Return a page of our entries with score and source, and the token of the next page."""
    wanted, config = asked.query.filter, read_ctx.config
    ours = {"identifier": urn(config, "listing"), "type": A2A_CARD}
    if not Filter(type=wanted.type, publisher=wanted.publisher).admits(ours):
        return [], None
    place, cursor = _place(asked.page_token)
    tag = wanted.tags[0] if wanted.tags and len(wanted.tags) == 1 else None
    entries, following = await _page(read_ctx, q=asked.query.text[:MAX_TERMS], tag=tag, limit=limit, cursor=cursor)
    results = [
        {name: value for name, value in entry.items() if name != "representativeQueries"}
        | {"score": max(LEAST_SCORE, 100 - place - number), "source": f"{config.base_url}/ard"}
        for number, entry in enumerate(entries)
        if wanted.admits(entry)
    ]
    return results, following and f"{place + len(entries)}.{following}"


def _foreign_result(one: Foreign, place: int) -> Entry:
    return _shown(one) | {"score": max(1, LEAST_SCORE - 1 - place), "source": one.source}


def _shown(one: Foreign) -> Entry:
    """Return an entry of another market, marked as foreign."""
    told = {name: value for name, value in one.entry.items() if value}
    return told | {"metadata": {"foreign": True, "market": one.market}}


def _referral(entry: Entry) -> Entry:
    return {name: entry[name] for name in ("identifier", "displayName", "type", "url")}


async def _page(read_ctx: ReadContext, **given: Any) -> tuple[list[Entry], str | None]:
    """Return a page of `search_listings` in live as entries, and the cursor of the next page."""
    try:
        found = await search_listings(_live(read_ctx), SearchListings(env=Env.LIVE, **given))
    except InvalidCursor:
        raise InvalidCursor("pageToken: changed, or of another search", param="pageToken") from None
    page = orjson.loads(encode(found))
    return [listing_entry(read_ctx.config, one) for one in page["data"]], page["next_cursor"]


async def _entry(read_ctx: ReadContext, identifier: str) -> Entry | None:
    """Return the entry of a surface, an active live listing or another market, if it exists."""
    config = read_ctx.config
    listing_id = identifier.removeprefix(urn(config, "listing", ""))
    if not LISTING_ID.fullmatch(listing_id):
        others = await elsewhere(read_ctx)
        foreign = [_shown(one) for one in others.entries] + others.registries
        return next((one for one in (*surfaces(config), *foreign) if one["identifier"] == identifier), None)
    try:
        found = await get_listing(_live(read_ctx), ListingRef(listing_id=listing_id, env=Env.LIVE))
    except NotFound:
        return None
    listing = orjson.loads(encode(found))
    return listing_entry(config, listing) if listing["status"] == "active" else None


def _place(token: str | None) -> tuple[int, str | None]:
    """Return the number of results before a page, and the cursor in its token."""
    if token is None:
        return 0, None
    found = TOKEN.fullmatch(token)
    if found is None:
        raise InvalidCursor("pageToken: not a page token", param="pageToken")
    return int(found[1]), found[2]


def _live(read_ctx: ReadContext) -> ReadContext:
    return replace(read_ctx, env=Env.LIVE)


def _answer(body: dict[str, Any], token: str | None = None) -> Ready:
    return Ready(orjson.dumps(body if token is None else {**body, "pageToken": token}))
