"""The documents as HTML pages: complete, safe, linked, and only for clients that prefer HTML."""

import asyncio
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import httpx
import orjson
import pytest

from protocol.accept import MAX_RANGES, prefers_html
from protocol.docs.html_markdown import Markdown
from protocol.docs.html_pages import Book, Doc
from protocol.docs.lifecycle import condition, usual_steps
from protocol.html.frame import NAVIGATION
from server.pages import LatePage, Page, Pages
from storage.store import Store
from storage.vocabulary import JobStatus
from tests.support.documented_names import HOUSE, METHODS, OPENAPI, OPERATIONS
from tests.support.fixed_market import NOON
from tests.support.html_reader import Heard, read_html, words
from tests.support.market import TestMarket
from tests.support.protocols import served
from tools.catalogue import every_error
from tools.discovery.changelog import CHANGELOG
from tools.events.payloads import PAYLOADS
from tools.jobs.lifecycle import MOVES, OPENINGS

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8"
PROGRAMS = (
    "*/*",
    "text/markdown",
    "text/markdown, text/html, */*",
    "application/json, text/html;q=0.9",
    "text/html;q=0, */*",
)
MARKDOWN, JSON = "text/markdown; charset=utf-8", "application/json"
KINDS = {
    "/docs": MARKDOWN,
    "/docs/quickstart": MARKDOWN,
    "/docs/skill": MARKDOWN,
    "/docs/reference": JSON,
    "/docs/lifecycle": MARKDOWN,
    "/docs/events": MARKDOWN,
    "/docs/errors": MARKDOWN,
    "/docs/llms": MARKDOWN,
    "/docs/changelog": MARKDOWN,
}
SAME = {"/docs/llms": "/llms.txt", "/docs/skill": "/skill.md", "/docs/reference": "/openapi.json"}
LABELS = words(  # words of the reference that are not in openapi.json
    "Reference Version Credentials Refusals of every call none or and Schemas Webhooks as they are sent field body header "
    "parameter in type may be absent any JSON list"
)
PLACE = re.compile(r"\]\([^)\s]*\)|^ *```\w*$|^\d+\. |^---\n.*?\n---\n", re.MULTILINE | re.DOTALL)


@pytest.fixture
async def http(opening: Any, sqlite_url: str) -> AsyncIterator[httpx.AsyncClient]:
    store: Store = opening(sqlite_url)
    async with (
        served(TestMarket(store), named=True) as url,
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client,
    ):
        yield client


async def page(http: httpx.AsyncClient, path: str) -> httpx.Response:
    answer = await http.get(path, headers={"Accept": BROWSER})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
    return answer


async def read(http: httpx.AsyncClient, path: str) -> Heard:
    return read_html((await page(http, path)).text)


async def test_a_browser_is_answered_html_that_can_do_nothing(http: httpx.AsyncClient) -> None:
    for path, kind in KINDS.items():
        answer = await page(http, path)
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
        assert policy["connect-src"] == "'self'"  # tools that audit the page fetch llms.txt from it
        style = "".join(read_html(answer.text).texts["style"]).encode()
        assert policy["style-src"] == f"'sha256-{b64encode(sha256(style).digest()).decode()}'"
        assert not re.search(rb"url\(|@import|</", style)
        assert (answer.headers["vary"], answer.headers["x-content-type-options"]) == (
            "Accept, Accept-Encoding",
            "nosniff",
        )
        again = await http.get(path, headers={"Accept": BROWSER, "If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content, again.headers["vary"]) == (304, b"", "Accept, Accept-Encoding")
        headed = await http.head(path, headers={"Accept": BROWSER})
        assert (headed.content, headed.headers["content-length"]) == (b"", answer.headers["content-length"])
        link = re.fullmatch(r'<(.*)>; rel="alternate"; type="(.*)"', answer.headers["link"])
        assert link
        place, alternate = link.groups()
        other = await http.get(place, headers={"Accept": BROWSER})
        assert other.headers["content-type"] == kind
        assert kind.startswith(alternate)
        assert (await http.post(path, headers={"Accept": BROWSER})).status_code == 405


async def test_everybody_else_is_answered_what_programs_read(http: httpx.AsyncClient) -> None:
    for path, kind in KINDS.items():
        html = await page(http, path)
        known = await http.get(SAME.get(path, f"{path}.md"))
        for accept in PROGRAMS:
            answer = await http.get(path, headers={"Accept": accept})
            assert (answer.headers["content-type"], answer.content) == (kind, known.content), (path, accept)
            assert answer.headers["vary"] == "Accept, Accept-Encoding"
            assert answer.headers["etag"] != html.headers["etag"]
            assert "content-security-policy" not in answer.headers
    for path in ("/v1", "/skill.md", "/llms.txt", "/openapi.json"):
        answer = await http.get(path, headers={"Accept": BROWSER})
        assert answer.headers["content-type"] in (MARKDOWN, JSON)


async def test_a_page_is_whole_and_has_what_a_reader_needs(http: httpx.AsyncClient) -> None:
    titles = set()
    for path in KINDS:
        heard = await read(http, path)
        assert heard.faults == []
        assert len(heard.ids) == len(set(heard.ids))
        tags = [tag for tag, _ in heard.tags]
        assert {"script", "img", "iframe", "form", "object", "base"}.isdisjoint(tags)
        assert [tags.count(one) for one in ("h1", "main", "header", "footer", "style")] == [1] * 5
        told = dict(heard.tags)
        assert told["html"] == {"lang": "en"}
        meta = {one["name"]: one["content"] for tag, one in heard.tags if tag == "meta" and "name" in one}
        assert meta["viewport"] == "width=device-width, initial-scale=1"
        assert 20 < len(meta["description"]) < 500
        for tag, one in heard.tags:
            assert not [name for name in one if name == "style" or name.startswith("on") or name == "src"], (tag, one)
            assert tag != "link" or one["rel"] in ("alternate", "canonical", "icon", "ard ai-catalog")
        assert heard.links[0] == "#content"
        current = [one["href"] for _, one in heard.tags if one.get("aria-current") == "page"]
        assert set(current) == {path}
        levels = [int(one[1]) for one in heard.headings]
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        titles.add(heard.texts["title"][0])
        (canonical,) = [one["href"] for tag, one in heard.tags if tag == "link" and one["rel"] == "canonical"]
        assert canonical == f"{http.base_url}{path}"
    assert len(titles) == len(KINDS)


async def test_every_link_leads_somewhere(http: httpx.AsyncClient) -> None:
    """Starting at /docs, each page is reached, each path is served and each anchor exists."""
    base, seen, wanted = str(http.base_url), dict[str, Heard | None](), ["/docs"]
    anchors: list[tuple[str, str, str]] = []
    while wanted:
        path = wanted.pop()
        answer = await http.get(path, headers={"Accept": BROWSER}, follow_redirects=True)
        assert answer.status_code < 400, path
        heard = read_html(answer.text) if answer.headers["content-type"].startswith("text/html") else None
        seen[path] = heard
        for link in heard.links if heard else ():
            url = urlsplit(urljoin(base + path, link))
            if f"{url.scheme}://{url.netloc}" == base:
                anchors.append((path, url.path, unquote(url.fragment)))
                wanted += [url.path] if url.path not in {*seen, *wanted} else []
    assert set(KINDS) <= seen.keys()
    assert len(anchors) > 1000
    for at, path, fragment in anchors:
        heard = seen[path]
        assert not fragment or (heard is not None and fragment in heard.ids), (at, path, fragment)


async def test_everything_has_its_place(http: httpx.AsyncClient) -> None:
    reference = await read(http, "/docs/reference")
    assert {op.name for op in OPERATIONS if op.name in str(OPENAPI["paths"])} <= set(reference.ids)
    assert {one["operationId"] for methods in OPENAPI["paths"].values() for one in methods.values()} <= set(
        reference.ids
    )
    assert {error.code for error in every_error()} <= set((await read(http, "/docs/errors")).ids)
    assert set(PAYLOADS) <= set((await read(http, "/docs/events")).ids)
    changes = await read(http, "/docs/changelog")
    assert {word for entry in CHANGELOG for change in entry.changes for word in words(change)} <= set(changes.words)
    index = await read(http, "/docs/llms")
    offered = {op.name for op in OPERATIONS if op.auth != "admin"}
    assert {f"/docs/reference#{name}" for name in offered} <= set(index.links)


async def test_the_first_page_says_a_sentence_about_each_document(http: httpx.AsyncClient) -> None:
    source = (await http.get("/docs")).text
    said = re.findall(rf"^- \[[^\]]+\]\({http.base_url}(/[^)]*)\): .{{10,}}\.$", source, re.MULTILINE)
    assert {*KINDS} - {"/docs"} <= {*said}
    assert {*said} <= {*(await read(http, "/docs")).links}


async def test_the_diagram_shows_every_state_and_every_move(http: httpx.AsyncClient) -> None:
    lifecycle = await read(http, "/docs/lifecycle")
    shown = [text for text in lifecycle.texts["svg"] if text.strip()]
    assert {*JobStatus, "a job begins"} <= set(shown)
    assert "[*]" not in shown
    arrows = set[tuple[str, str]]()
    for move in (*OPENINGS, *MOVES):
        if move.listed:
            source, words = move.source or "a job begins", f"{move.actor} {move.action}"
            line, arrow = f"{source}: {words} → {move.target}", f"{source} → {move.target}: {words}"
            (told,) = [one for one in lifecycle.texts["title"] if re.fullmatch(rf"({line}|{arrow})( \(.*\))?", one)]
            assert condition(move) in told
            drawn = told.startswith(arrow)
            assert (words if drawn else f"{words} → {move.target}") in shown
            arrows |= {(source, move.target)} if drawn else set()
    assert "stateDiagram" in lifecycle.words
    drawings = [tag for tag, _ in lifecycle.tags if tag == "svg"]
    assert lifecycle.texts["summary"].count("The same picture as text") == len(drawings) == 2
    heads = [one for tag, one in lifecycle.tags if tag == "path" and one.get("class") == "head"]
    assert len(heads) == len(arrows) + len(usual_steps()) - 1


async def test_six_boxes_show_the_usual_way_before_every_way(http: httpx.AsyncClient) -> None:
    text = (await page(http, "/docs/lifecycle")).text
    first, second = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert re.findall(r'class="name"[^>]*>([^<]*)<', first) == [
        "buyer order", "seller accept", "seller deliver", "buyer pay", "buyer accept", "both review",
    ]  # fmt: skip
    assert first.count("<rect") == 6
    assert second.count("<rect") == len(JobStatus) + 1


async def test_the_contents_of_a_page_are_folded(http: httpx.AsyncClient) -> None:
    for path in KINDS:
        heard = await read(http, path)
        assert [one for tag, one in heard.tags if tag == "details" and "open" in one] == []
        assert "On this page" in heard.texts["summary"]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/readonly", "/mcp/oauth", "/a2a"])
async def test_a_browser_that_opens_a_surface_is_led_to_a_page(http: httpx.AsyncClient, path: str) -> None:
    led = await http.get(path, headers={"Accept": BROWSER})
    assert (led.status_code, led.headers["location"]) == (303, f"{http.base_url}/docs/quickstart")
    assert led.headers["vary"] == "Accept"
    for accept in (*PROGRAMS[:2], "application/json, text/event-stream", "text/event-stream"):
        assert (await http.get(path, headers={"Accept": accept})).status_code in (401, 405)
    assert (await http.post(path, headers={"Accept": BROWSER}, content=b"{}")).status_code != 303


async def test_no_page_says_what_its_source_does_not(http: httpx.AsyncClient) -> None:
    for path, kind in KINDS.items():
        source = (await http.get(path)).text
        heard = await read(http, path)
        if kind == MARKDOWN:
            assert heard.words == words(PLACE.sub(" ", source)), path
        else:
            assert set(heard.words) - set(_words_in(orjson.loads(source))) - set(LABELS) - set(METHODS) == set()
        assert set(words(" ".join(heard.texts.get("svg", ())))) <= set(words(source)), path


async def test_the_reference_leaves_out_no_description(http: httpx.AsyncClient) -> None:
    told = " ".join((await read(http, "/docs/reference")).words)
    for methods in OPENAPI["paths"].values():
        for one in methods.values():
            assert " ".join(words(one["description"])) in told
            for part in one.get("parameters", ()):
                assert " ".join(words(part.get("description", ""))) in told
    for name, schema in OPENAPI["components"]["schemas"].items():
        for field, one in schema.get("properties", {}).items():
            assert " ".join(words(field)) in told, (name, field)
            assert " ".join(words(one.get("description", ""))) in told, (name, field)


def _words_in(part: Any) -> list[str]:
    """Return every word of a document, including its names.

    The page shows examples as JSON, in which a line of a text ends with an escape.
    """
    written = orjson.dumps(part).decode().replace("~1", "/")
    return words(written) + words(written.replace("\\n", " "))


@pytest.mark.parametrize(
    "accept, html",
    [
        (BROWSER, True),
        ("text/html", True),
        ("TEXT/HTML ; Q=0.9 , */*;q=0.8", True),
        ("text/html, */*", True),
        ("text/html;q=0.5, text/*;q=0.4", True),
        ("", False),
        ("*/*", False),
        ("text/*", False),
        ("text/markdown", False),
        ("text/html, text/markdown", False),
        ("text/html;q=0.9, application/json", False),
        ("text/html, application/json;q=0.9, */*", True),
        ("text/html;q=0.9, text/markdown;q=0.8, */*", True),
        ("text/html;q=0.5, */*", False),
        ("text/html;q=0.9, text/*", False),
        ("text/html;q=0", False),
        ("text/html;q=2", False),
        ("text/html;q=", False),
        ("text/html;q=0.1234", False),
        ("text/html;q=nan", False),
        ("text/htmlx", False),
        ("\xfftext/html", False),
        (";,;,,q=1;;", False),
    ],
)
def test_html_is_for_those_who_prefer_it(accept: str, html: bool) -> None:
    assert prefers_html(accept.encode("latin-1"), "text/markdown") is html


async def test_a_hostile_accept_is_read_no_further_than_a_browsers(http: httpx.AsyncClient) -> None:
    assert not prefers_html(b"a/b," * MAX_RANGES + b"text/html", "text/markdown")
    assert prefers_html(b"a/b," * (MAX_RANGES - 1) + b"text/html", "text/markdown")
    for accept in ("," * 60_000, "a/b;q=0." + "1" * 59_000, ";" * 60_000, "text/html;" + "q=1;" * 10_000, '"' * 50_000):
        answer = await http.get("/docs/quickstart", headers={"Accept": accept})
        assert answer.status_code == 200


async def test_a_page_is_made_once_however_many_ask() -> None:
    made: list[str] = []

    def make() -> Page:
        made.append("made")
        return Page(b"<p>", "text/html", NOON)

    pages = Pages({"/docs": Page(b"#", MARKDOWN, NOON)}, {}, {"/docs": LatePage("text/html", make)})
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    scope = {"method": "GET", "path": "/docs", "headers": [(b"accept", b"image/png"), (b"accept", BROWSER.encode())]}
    await asyncio.gather(*(pages(scope, send) for _ in range(5)))
    assert (made, [one["body"] for one in said if "body" in one]) == (["made"], [b"<p>"] * 5)


def test_html_in_a_text_stays_text() -> None:
    hostile = '# <b>\n\n<script>alert(1)</script> [x](javascript:alert(1)) ![y](z)\n\n<div onclick="x">\n\n```"><script>\n</code>\n```\n'
    written = Markdown(hostile.replace("![y](z)", ""), re.compile("never"), lambda url: url)
    assert "<script" not in written.html
    assert "<div" not in written.html
    assert "&lt;div onclick" in written.html
    assert [tag for tag, _ in read_html(written.html).tags] == ["h1", "a", "p", "p", "pre", "code"]
    assert 'href="javascript' not in written.html


def test_a_cell_knows_its_head_and_a_table_too_wide_for_a_phone_scrolls() -> None:
    small = "| | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
    heard = read_html(Markdown(small, re.compile("never"), lambda url: url).html)
    cells = [one for one in heard.tags if one[0] in ("th", "td")]
    named, bare = ("td", {"data-head": "b"}), ("td", {})
    assert cells == [bare, ("th", {"scope": "col"}), bare, named, bare, named]
    assert "div" not in [tag for tag, _ in heard.tags]
    large = "| a | b | c | d | e |\n|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 |\n"
    heard = read_html(Markdown(large, re.compile("never"), lambda url: url).html)
    assert (heard.faults, heard.tags[0][0], heard.tags[0][1]["tabindex"]) == ([], "div", "0")


def test_alike_headings_get_different_anchors() -> None:
    written = Markdown("# A b\n\n## A b\n\n## job.paid\n\n## ---!\n", re.compile("never"), lambda url: url)
    assert [one.id for one in written.headings] == ["A-b", "A-b-2", "job.paid", "section"]


def test_addresses_are_told_below_the_path_the_market_is_published_under() -> None:
    house = replace(HOUSE, base_url="https://market.example/at")
    text = "# T\n\nSee https://market.example/at/skill.md, https://market.example/atlas and [e](/docs/e#x).\n"
    docs = [
        Doc("/docs", "D", lambda: text, "/llms.txt", "text/markdown"),
        Doc("/docs/e", "E", lambda: "# E", "/e", "x/y"),
    ]
    links = read_html(Book(docs, house, dict).page("/docs")).links
    assert [link for link in links if not link.startswith("#")] == [
        "/at/", *(f"/at{path}" for path in NAVIGATION),
        "/at/docs", "/at/docs/e", "/at/docs/skill", "/at/docs/e#x", "/at/llms.txt", "/at/docs/quickstart",
    ]  # fmt: skip
