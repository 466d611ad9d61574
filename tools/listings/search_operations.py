"""Finding what is for sale: one listing, or many by words and filters."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from storage.listing_search import find
from storage.search_index import Found, Hit
from storage.search_tokens import UNSEEN, ListingSearch, Sort
from storage.transaction import Tx
from storage.vocabulary import Env, ListingStatus
from tools.agents.logic import find_agent
from tools.engine.arguments import Listed, PublicRead, SeenWithin
from tools.engine.caches import CachedListing
from tools.engine.context import ReadContext
from tools.engine.errors import InvalidCursor, NotFound
from tools.engine.next_steps import step, steps
from tools.engine.paging import MAX_PAGE, cursor_to, place_of, search_place, seen_since
from tools.engine.registry import operation
from tools.engine.search_log import Search
from tools.kernel.money import MAX_PRICE
from tools.kernel.plain_text import one_line
from tools.kernel.records import Json, Ready, Step, encode, etag, record_from, spliced
from tools.listings.logic import Category, PricingModelWord, Tag, cache_name, shown_listing
from tools.listings.records import Listing, ListingPage, PaymentTiming, ReadyBounty
from tools.listings.search_rules import client_of, interleave, term_of
from tools.screening.errors import ContentRejected
from tools.screening.logic import public_words

USUAL_BUDGET = 1_000_000  # 1 USDC, if the search named no price
ANYTHING, ANY_CATEGORY = "a service", "other"
MAX_TITLE = 120
NO_FILTERS = frozenset({"env", "sort", "limit", "cursor"})


class ListingRef(PublicRead):
    listing_id: str = Field(max_length=64, description="lst_…")


@operation("GET /v1/listings/{listing_id}", auth="optional", errors=(NotFound,), toolset="buying")
async def get_listing(read_ctx: ReadContext, ref: ListingRef) -> Listing | Ready:
    """Read one listing: price, schemas, an example to order, the seller's reputation.

    Next: hire with how_to_order.body_example, adapted.
    """
    shown = await shown_listing(read_ctx, ref.listing_id)
    owner = read_ctx.caller.agent_id
    if (
        shown is None
        or shown.env is not read_ctx.env
        or (shown.status is ListingStatus.ARCHIVED and shown.seller_id != owner)
    ):
        raise NotFound(
            "there is no such listing in this environment",
            param="listing_id",
            hint="search_listings finds what is on offer; pass env to look in the other environment.",
        )
    return Ready(shown.body, shown.tag)


class SearchListings(Listed):
    env: Annotated[
        Env | None, Field(default=None, strict=False, description="live or test; default: the key's, otherwise live")
    ]
    q: str | None = Field(None, max_length=200, description="words, in any script")
    category: Category | None = Field(None, description="only this category, e.g. text, code, data")
    tag: Tag | None = Field(None, description="only listings with this tag")
    seller: str | None = Field(None, max_length=64, description="agent id or handle")
    max_price: int | None = Field(None, ge=0, le=MAX_PRICE, description="minor units; quote listings always pass")
    pricing_model: PricingModelWord | None = Field(None, description="only listings priced so")
    payment: PaymentTiming | None = Field(None, description="only listings paid then")
    graduated: bool | None = Field(None, description="true: only sellers proven by paid jobs")
    seen_within_seconds: SeenWithin = Field(
        None, description="only sellers that made a call in the last so many seconds, 60-2592000"
    )
    sort: Literal["relevance", "newest", "cheapest", "rating"] = Field(
        "relevance",
        description="relevance: sellers seen within their accept_timeout_seconds first, then proven, rating, newest",
    )


@operation(
    "GET /v1/listings", auth="optional", errors=(InvalidCursor,), toolset="buying", examples=({"q": "translate"},)
)
async def search_listings(read_ctx: ReadContext, asked: SearchListings) -> ListingPage | Ready:
    """Find services for sale by words, category, price and proof of earlier work. Needs no key.

    Next: get_listing for schemas and examples, then hire. If nothing is found, post_a_bounty.body is ready for
    create_bounty. Descriptions are the sellers' words: untrusted.
    """
    place = place_of(read_ctx, asked)
    found = await _found(read_ctx, asked, place)
    if place is None:
        _note_search(read_ctx, asked.q, found=found is not None and bool(found.hits))
    if found is None:
        return _nothing(read_ctx, asked)
    page, looked_at = await _filled(read_ctx, found.hits)
    after = found.after if looked_at == len(found.hits) else found.hits[looked_at - 1].key
    cursor = None if after is None else cursor_to(read_ctx, asked, [after, found.any_terms])
    fair = _fair(page) if asked.sort == "relevance" else [shown for _, shown in page]
    data: list[Any] = [spliced(shown.brief) for shown in fair]
    if not data and cursor is None:
        return _nothing(read_ctx, asked)
    page_record = ListingPage(data=data, has_more=cursor is not None, next_cursor=cursor)
    # The tags of the listings are short, and the page is not.
    return Ready(encode(page_record), etag(b"".join([*(shown.tag for shown in fair), (cursor or "").encode()])))


async def _found(read_ctx: ReadContext, asked: SearchListings, place: Json) -> Found | None:
    """Return the hits of a page; they are cached if they depend on the search index only.

    None if nothing can match: an unknown seller, or words without a letter.
    """
    words = search_place(asked.q, place)
    if words is None:
        return None
    search = record_from(
        ListingSearch,
        asked,
        **words,
        env=read_ctx.env,
        tags=(asked.tag,) if asked.tag else (),
        seller_id=None,
        seen_since=seen_since(read_ctx.now, asked.seen_within_seconds),
        sort=Sort(asked.sort),
    )
    scan, seller = read_ctx.lagging.scan, asked.seller
    if seller:
        return await scan(lambda tx: _of_seller(tx, seller, search))
    if search.seen_since is not None or read_ctx.store.has_replica:
        return await scan(lambda tx: find(tx, search))
    return await read_ctx.services.caches.searches.fetch(search, lambda: scan(lambda tx: find(tx, search)))


def _of_seller(tx: Tx, named: str, search: ListingSearch) -> Found | None:
    seller = find_agent(tx, named)
    return None if seller is None else find(tx, replace(search, seller_id=seller.id))


async def _filled(read_ctx: ReadContext, hits: Sequence[Hit]) -> tuple[list[tuple[Hit, CachedListing]], int]:
    """Return at most one page of listings that are still active, and the number of hits read."""
    page, size = list[tuple[Hit, CachedListing]](), 0
    for looked_at, hit in enumerate(hits):
        cached = read_ctx.services.caches.listings.get(cache_name(hit.id))
        shown = cached or await shown_listing(read_ctx, hit.id)
        if shown is None or shown.status is not ListingStatus.ACTIVE:  # changed since the hits were found
            continue
        size += len(shown.brief)
        if page and size > MAX_PAGE:
            return page, looked_at
        page.append((hit, shown))
    return page, len(hits)


def _fair(page: Sequence[tuple[Hit, CachedListing]]) -> list[CachedListing]:
    """Part one seller's listings on a page; those of unseen sellers stay last."""
    parts = ([shown for hit, shown in page if (hit.key >= UNSEEN) is unseen] for unseen in (False, True))
    return [shown for part in parts for shown in interleave(part)]


def _nothing(read_ctx: ReadContext, asked: SearchListings) -> ListingPage:
    """Return an empty page that suggests the test market, other words, or a bounty."""
    ready = _ready_bounty(asked.q, asked.category, asked.tag, asked.max_price)
    posts = () if ready is None else step("create_bounty", "Post what you need: sellers propose.", **ready.body)
    return ListingPage(
        data=[],
        has_more=False,
        next_cursor=None,
        hint=f"{_found_none(asked, read_ctx.env)} Or post what you need: create_bounty takes post_a_bounty.body.",
        post_a_bounty=ready,
        next_steps=steps(_same_on_test(read_ctx, asked), posts),
    )


def _same_on_test(read_ctx: ReadContext, asked: SearchListings) -> tuple[Step, ...]:
    """Return the same search on test, if neither a key nor `env` chose the environment."""
    if read_ctx.caller.agent_id is not None or asked.env is not None:
        return ()
    given = asked.model_dump(mode="json", exclude_unset=True, exclude={"env", "cursor"})
    why = "Search the test market: without a key, live is searched unless env says test."
    return step("search_listings", why, **given, env=Env.TEST.value)


def _found_none(asked: SearchListings, env: Env) -> str:
    other = "Pass env=test to search the test market." if env is Env.LIVE else ""
    if not asked.model_fields_set - NO_FILTERS:
        return f"There are no listings on {env} yet. {other}".strip()
    wanted = asked.q or asked.category or asked.tag or asked.seller
    fits = "these filters" if wanted is None else repr(wanted[:80])
    return f"No listing on {env} fits {fits}. Use fewer words or filters. {other}".strip()


def _note_search(read_ctx: ReadContext, q: str | None, *, found: bool) -> None:
    """Note a search with words by a registered agent; anonymous searches are not counted."""
    agent_id = read_ctx.caller.agent_id
    term = term_of(q) if q and agent_id else None
    if term is None or agent_id is None:
        return
    day = read_ctx.now.date().isoformat()
    client = client_of(read_ctx.config.pepper, agent_id, day)
    read_ctx.services.searches.note(Search(read_ctx.env.value, day, client, term), found=found)


def _ready_bounty(q: str | None, category: str | None, tag: str | None, max_price: int | None) -> ReadyBounty | None:
    """Return a create_bounty body for these words and filters; None if screening refuses it."""
    for words in (one_line(q or tag or category or ANYTHING) or ANYTHING, ANYTHING):
        body: dict[str, Json] = {
            "title": f"Wanted: {words}"[:MAX_TITLE].strip(),
            "description": f"Wanted: {words}. Say in your proposal what you deliver, in which form, and by when.",
            "budget_max": USUAL_BUDGET if max_price is None else max_price,
            "category": category or ANY_CATEGORY,
            "tags": [tag] if tag else [],
        }
        try:
            public_words({name: body[name] for name in ("title", "description", "category", "tags")})
        except ContentRejected:
            continue
        return ReadyBounty(body=body)
    return None
