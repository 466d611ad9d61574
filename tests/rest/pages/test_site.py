"""The pages for people: complete and linked, safe with hostile texts, and JSON for every other client."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpx
import orjson
import pytest

from protocol.html.frame import MAX_ABOUT
from protocol.untrusted_text import changed, foreign_places, record_type
from rest.pages.renderer import PageSource, Renderer
from rest.pages.site import MAX_FORM, Site
from rest.pages.table import PAGES
from tests.protocol.docs.test_html_pages import BROWSER, PROGRAMS
from tests.support.bounties import bounty
from tests.support.html_reader import Heard, read_html
from tests.support.trade import Trade
from tools.engine.config import Limits
from tools.engine.registry import CATALOGUE

HTML = "text/html; charset=utf-8"
HOSTILE = (
    "</bdi></code><script>alert(1)</script><img src=x onerror=alert(1)>\"' onclick='x javascript:alert(1) "
    "https://evil.example/ \u202egnp.exe\u2066\x07\u200b {{ 7 * 7 }} " + "W" * 200
)
FORBIDDEN = re.compile("[\x00-\x08\x0e-\x1f\u202a-\u202e\u2066-\u2069\u200b]")


@pytest.fixture
async def filled(trade: Trade) -> dict[str, str]:
    """Make a paid and reviewed job, a listing and a bounty; return a path for each page."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=4, comment="Quick and right.")
    posted = await bounty(trade, buyer)
    known = {"listing_id": job["listing_id"], "agent_id": seller.handle, "bounty_id": posted["id"]}
    return {page.path: page.path.format(**known) for page in PAGES}


async def page(http: httpx.AsyncClient, path: str, status: int = 200, **more: Any) -> Heard:
    answer = await http.get(path, headers={"Accept": BROWSER}, **more)
    assert (answer.status_code, answer.headers["content-type"]) == (status, HTML), (path, answer.text[-600:])
    return read_html(answer.text)


async def test_every_page_is_whole_and_can_do_nothing(filled: dict[str, str], http: httpx.AsyncClient) -> None:
    for path in filled.values():
        answer = await http.get(path, headers={"Accept": BROWSER})
        assert (answer.status_code, answer.headers["content-type"]) == (200, HTML), path
        assert "Accept" in answer.headers["vary"]
        heard = read_html(answer.text)
        assert heard.faults == []
        assert len(heard.ids) == len(set(heard.ids))
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        style = "".join(heard.texts["style"]).encode()
        assert policy == {
            "default-src": "'none'",
            "style-src": f"'sha256-{b64encode(sha256(style).digest()).decode()}'",
            "img-src": "'self'",
            "connect-src": "'self'",
            "form-action": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
        }
        tags = [tag for tag, _ in heard.tags]
        assert {"script", "img", "iframe", "object", "base"}.isdisjoint(tags)
        assert [tags.count(one) for one in ("h1", "main", "header", "footer", "style")] == [1] * 5
        assert not [one for _, one in heard.tags if "style" in one or [name for name in one if name.startswith("on")]]
        again = await http.get(path, headers={"Accept": BROWSER, "If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        head = await http.head(path, headers={"Accept": BROWSER})
        assert (head.content, head.headers["content-length"]) == (b"", answer.headers["content-length"])


async def test_every_other_client_gets_the_json_of_the_read(filled: dict[str, str], http: httpx.AsyncClient) -> None:
    for one in PAGES[1:]:
        path = filled[one.path]
        operation = CATALOGUE[one.operation].path
        known = await http.get(
            operation.format(**dict.fromkeys(re.findall(r"{(\w+)}", operation), path.split("/")[-1]))
        )
        for accept in (*PROGRAMS, "", "nonsense;;q=9,", "text/html;q=0", "image/png"):
            answer = await http.get(path, headers={"Accept": accept})
            assert (answer.status_code, answer.headers["content-type"]) == (known.status_code, "application/json")
            assert "Accept" in ", ".join(answer.headers.get_list("vary"))
            assert answer.json().keys() == known.json().keys(), path
        refused = await http.post(path if path != "/verify" else "/stats", headers={"Accept": BROWSER})
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
    for path in (*filled.values(), "/listings?env=live", "/stats?env=live&days=7"):
        (shown,) = [one["href"] for tag, one in (await page(http, path)).tags if one.get("type") == "application/json"]
        read = await http.get(shown, headers={"Accept": BROWSER})
        assert (read.status_code, read.headers["content-type"]) == (200, "application/json"), shown
    assert (await http.get("/")).json()["object"] == "platform"
    assert (await http.get("/v1/stats", headers={"Accept": BROWSER})).headers["content-type"] == "application/json"


async def test_a_crawler_finds_no_dead_link(filled: dict[str, str], http: httpx.AsyncClient) -> None:
    waiting, seen = ["/", *filled.values()], dict[str, list[str]]()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        answer = await http.get(path, headers={"Accept": BROWSER}, follow_redirects=True)
        assert answer.status_code == 200, path
        if answer.headers["content-type"] != HTML or path.startswith("/docs/"):
            seen[path] = []
            continue
        heard = read_html(answer.text)
        seen[path] = heard.ids
        for link in heard.links:
            place = urlsplit(urljoin(f"{http.base_url}{path}", link))
            assert place.netloc == urlsplit(str(http.base_url)).netloc, link
            waiting.append(place.path + (f"?{place.query}" if place.query else ""))
    assert {*filled.values(), "/docs/quickstart", "/openapi.json"} <= set(seen)
    assert len(seen) > 25


@pytest.mark.parametrize("spec", PAGES, ids=[one.path for one in PAGES])
async def test_hostile_texts_in_every_field_stay_texts(
    spec: Any, filled: dict[str, str], http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text that a record marks as another agent's is replaced by a hostile one."""
    before = await page(http, filled[spec.path])
    read, replaced = Site._read, list[str]()

    async def hostile(self: Site, name: str, *given: Any) -> tuple[bytes, Any]:
        body, quota = await read(self, name, *given)
        record = orjson.loads(body)
        places = foreign_places(record_type(CATALOGUE[name], record))

        def change(value: Any, named: tuple[str, ...]) -> Any:
            replaced.extend(named)
            if isinstance(value, str):
                return HOSTILE
            return [HOSTILE] * len(value) if isinstance(value, list) else {**value, HOSTILE: HOSTILE}

        return orjson.dumps(changed(record, places, change)), quota

    monkeypatch.setattr(Site, "_read", hostile)
    answer = await http.get(filled[spec.path], headers={"Accept": BROWSER})
    heard = read_html(answer.text)
    assert (answer.status_code, heard.faults) == (200, [])
    assert not FORBIDDEN.search(answer.text)
    tags = {tag for tag, _ in heard.tags}
    assert tags <= {tag for tag, _ in before.tags} | {"details", "summary", "pre", "code"}
    assert not [one for _, one in heard.tags if [name for name in one if name.startswith("on") or name == "src"]]
    assert not [link for link in heard.links if "evil" in link or link.startswith(("javascript:", "http"))]
    if spec.path not in ("/stats", "/disputes", "/verify", "/x402"):
        assert replaced
        assert "&lt;script&gt;" in answer.text


async def test_hostile_searches_are_answered(filled: dict[str, str], http: httpx.AsyncClient) -> None:
    for words in ("日本語 العربية हिन्दी", "\u202eabc\u2066", "<b>&\"'", "W" * 200, "{{ 7 * 7 }}", "\x00\x07"):
        answer = await http.get("/listings", params={"q": words}, headers={"Accept": BROWSER})
        assert answer.status_code in (200, 400), words
        assert read_html(answer.text).faults == []
        assert not FORBIDDEN.search(answer.text)
        assert "<b>&" not in answer.text
    long = await page(http, "/listings", 400, params={"q": "x" * 10_000})
    assert long.faults == []
    await page(http, "/listings?q=&category=&max_price=&utm_source=mail")
    await page(http, "/listings?q=%ff%fe", 400)
    await page(http, "/listings?max_price=much", 400)
    found = await page(http, "/listings?q=translate&sort=cheapest")
    assert any(link.startswith("/listings/lst_") for link in found.links)


async def test_pages_follow_the_cursor(trade: Trade, http: httpx.AsyncClient) -> None:
    seller = await trade.agent("Sela")
    for number in range(5):
        await trade.listing(seller, title=f"Offer {number}", external_id=None)
    first = await page(http, "/listings?limit=3&sort=newest")
    (onwards,) = [link for link in first.links if "cursor=" in link]
    second = await page(http, onwards)
    only = await page(http, "/listings?limit=3&graduated=false")
    assert [link for link in only.links if "graduated=false" in link and "cursor=" in link]
    listed = [{link for link in one.links if "/lst_" in link} for one in (first, second)]
    assert [len(one) for one in listed] == [3, 2]
    assert not listed[0] & listed[1]


async def test_a_cached_page_follows_each_change(trade: Trade, http: httpx.AsyncClient) -> None:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller, title="First words")
    for title in ("First words", "Second words", "First words"):
        await trade.market.call("update_listing", by=seller, listing_id=listing["id"], title=title)
        for path in ("/", "/listings", "/listings?env=test", f"/listings/{listing['id']}", f"/agents/{seller.id}"):
            for _ in range(2):
                shown = (await http.get(path, headers={"Accept": BROWSER})).text
                assert re.findall("(First|Second) words", shown) == [title.partition(" ")[0]] * shown.count(" words"), (
                    path
                )
    live = await http.get("/listings?env=live", headers={"Accept": BROWSER})
    assert "First words" not in live.text


async def test_a_page_is_rendered_again_only_if_it_is_large(
    trade: Trade, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered, render = list[PageSource](), Renderer._page_of
    monkeypatch.setattr(Renderer, "_page_of", lambda self, source: rendered.append(source) or render(self, source))
    for path in (
        "/listings?env=test",
        "/listings?x=1",
        "/listings/?utm=2&env=test&q=",
        "/listings?env=test&sort=newest",
    ):
        await page(http, path)
    assert len(rendered) == 3, "unknown and empty parameters make no other page"
    monkeypatch.setattr("rest.pages.renderer.MAX_BYTES", 1_000)
    monkeypatch.setattr("rest.pages.renderer.MAX_PAGES", 1)
    for limit in (1, 2, 1, 2):
        await page(http, f"/listings?limit={limit}")
    assert len(rendered) == 7


async def test_what_is_not_there_is_404_as_a_page(http: httpx.AsyncClient) -> None:
    for path in ("/listings/lst_01M8DP858B54Q0V2B2ZW79Z5DR", "/agents/unknown-agent", "/bounties/bty_1"):
        heard = await page(http, f"{path}?env=live", 404)
        assert any("not_found" in link for link in heard.links)
        assert {"/?env=live", "/listings?env=live", "/docs", f"{path}?env=test"} <= set(heard.links)


@pytest.mark.parametrize("path", ["/nosuch", "/agents", "/docs/nosuch", "/listings/a/b", "/agents/sela/nosuch.json"])
async def test_a_path_that_nothing_serves_is_a_page_for_browsers_only(http: httpx.AsyncClient, path: str) -> None:
    heard = await page(http, path, 404)
    assert heard.faults == []
    assert f"there is no path {path}" in "".join(heard.texts["main"])
    assert {"/", "/listings", "/docs", "/docs/errors#route_not_found"} <= set(heard.links)
    answer = await http.head(path, headers={"Accept": BROWSER})
    assert (answer.status_code, answer.content, answer.headers["vary"]) == (404, b"", "Accept")
    shown = await http.get("/listings", headers={"Accept": BROWSER})
    for name in ("content-security-policy", "x-content-type-options", "referrer-policy", "cache-control"):
        assert answer.headers[name] == shown.headers[name]
    for method, accept in (*(("GET", accept) for accept in (*PROGRAMS, "image/png")), ("POST", BROWSER)):
        answer = await http.request(method, path, headers={"Accept": accept})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "route_not_found")


async def test_below_the_surfaces_a_missing_path_is_json_for_browsers_too(http: httpx.AsyncClient) -> None:
    for path in ("/v1/nosuch", "/mcp/nosuch", "/a2a/nosuch", "/a2a/agents/nobody"):
        answer = await http.get(path, headers={"Accept": BROWSER})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json"), path
    served = await http.get("/.well-known/jwks.json", headers={"Accept": BROWSER})
    assert (served.status_code, served.headers["content-type"]) == (200, "application/json")


async def test_a_missing_path_is_shown_as_a_text(http: httpx.AsyncClient) -> None:
    for path in (f"/{quote(HOSTILE, safe='')}", "/%00%7f%e2%80%ae", "/%ff%fe", f"/agents/x/{'w' * 5000}"):
        answer = await http.get(path, headers={"Accept": BROWSER})
        heard = read_html(answer.text)
        assert (answer.status_code, answer.headers["content-type"], heard.faults) == (404, HTML, [])
        assert not FORBIDDEN.search(answer.text)
        assert {tag for tag, _ in heard.tags}.isdisjoint({"script", "img"})
        assert len(answer.text) < 20_000
        assert not [link for link in heard.links if "evil" in link]


async def test_a_key_changes_nothing_on_a_page(trade: Trade, filled: dict[str, str], http: httpx.AsyncClient) -> None:
    seller = await trade.agent("Archivist")
    paused = await trade.listing(seller, title="Only mine")
    await trade.market.call("archive_listing", by=seller, listing_id=paused["id"])
    key = {"Accept": BROWSER, "X-API-Key": seller.keys["test"]}
    assert (await http.get(f"/listings/{paused['id']}", headers=key)).status_code == 404
    with_key = await http.get(filled["/agents/{agent_id}"], headers=key)
    assert with_key.text == (await http.get(filled["/agents/{agent_id}"], headers={"Accept": BROWSER})).text


async def test_receipts_are_verified_on_a_page(trade: Trade, http: httpx.AsyncClient) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    receipt = await trade.market.call("get_receipt", by=buyer, job_id=job["id"])

    async def check(document: Any, status: int = 200, **headers: str) -> httpx.Response:
        text = document if isinstance(document, str) else orjson.dumps(document).decode()
        answer = await http.post("/verify", data={"document": text}, headers={"Accept": BROWSER, **headers})
        assert answer.status_code == status, answer.text[-500:]
        assert read_html(answer.text).faults == [] if answer.headers["content-type"] == HTML else True
        return answer

    valid = (await check(receipt)).text
    assert "Valid: this market signed it" in valid
    assert "play money" in valid
    assert job["id"] in valid
    forged = {**receipt, "receipt": {**receipt["receipt"], "amount": 1}}
    assert "Not valid" in (await check(forged)).text
    for bad in ("", "nonsense", "[1]", '{"receipt": 1}', '{"a": 1, "a": 2}', "[" * 5000):
        assert "Not checked" in (await check(bad, 400)).text
    await check("x" * MAX_FORM, 413)
    hostile = await check(receipt | {"object": "</textarea><script>alert(1)</script>"})
    assert "<script" not in hostile.text
    answer = await http.post("/verify", data={"document": orjson.dumps(receipt).decode()})
    assert answer.json()["valid"] is True
    sent = await http.post("/verify", json=receipt, headers={"Accept": BROWSER})
    assert sent.status_code == 415


async def test_pages_count_against_the_rate_limits(trade: Trade, http: httpx.AsyncClient) -> None:
    services = trade.market.market.services
    services.config = replace(services.config, limits=Limits())
    for _ in range(60):
        await http.post("/verify", data={"document": '{"signature": {}}'}, headers={"Accept": BROWSER})
    refused = await http.post("/verify", data={"document": '{"signature": {}}'}, headers={"Accept": BROWSER})
    assert (refused.status_code, refused.headers["content-type"]) == (429, HTML)
    assert int(refused.headers["retry-after"]) > 0
    shown = await http.get("/listings", headers={"Accept": BROWSER})
    assert int(shown.headers["ratelimit-remaining"]) < 600


async def test_every_page_has_one_address_and_says_what_it_is(filled: dict[str, str], http: httpx.AsyncClient) -> None:
    async def head(path: str) -> tuple[str, str]:
        tags = (await page(http, path)).tags
        (canonical,) = [one["href"] for tag, one in tags if tag == "link" and one["rel"] == "canonical"]
        (about,) = [one["content"] for tag, one in tags if one.get("name") == "description"]
        return canonical.removeprefix(str(http.base_url)), about

    heads = {path: await head(path) for path in filled.values()}
    assert len({about for _, about in heads.values()}) == len(heads)
    assert all(10 < len(about) <= MAX_ABOUT + 2 for _, about in heads.values())
    agents = filled["/agents/{agent_id}"]
    assert re.fullmatch(r"/agents/agt_\w+", heads[agents][0])
    assert [path for path, (canonical, _) in heads.items() if canonical != path] == [agents]
    for path, address in (
        ("/listings?utm_source=mail&q=&sort=relevance&limit=3&env=test", "/listings"),
        ("/listings?sort=newest&q=a%20%22b%3Cc%3E&utm_campaign=x", "/listings?q=a+%22b%3Cc%3E&sort=newest"),
        ("/listings?env=live&limit=1", "/listings?env=live"),
        ("/listings?graduated=true", "/listings?graduated=true"),
        ("/stats?days=30", "/stats"),
        ("/stats?env=live&days=7", "/stats?days=7&env=live"),
        (f"{agents}?env=live&fbclid=1", f"{heads[agents][0]}?env=live"),
        ("/verify?env=live", "/verify"),
    ):
        assert (await head(path))[0] == address, path
        await page(http, address)
