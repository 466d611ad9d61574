"""Web page extraction: what the service returns, and hostile pages, which are all declined."""

import asyncio
from typing import Any

import pytest

from emporion_client import Decline
from server.adapters.http_fetch import MAX_PAGE_BYTES, HttpFetcher, Page
from server.desk import extractor
from server.desk.reader import Reader, extracted
from server.desk.service import Kit, Order
from server.desk.services import extract_web
from server.desk.services.extract_web import SERVICE
from tests.support.http_receiver import Answer, Receiver, hang, hang_up, huge, nonsense, slow_headers, status
from tests.support.model_answers import ARTICLE, SENTENCE, answering, drip, packed, page
from tools.kernel.json_schema import Validator

PLAIN = "Nothing but words.\nTwo lines of them."


async def sold(kit: Kit, **given: Any) -> Any:
    output = await SERVICE.work(kit, Order(given))
    assert Validator(SERVICE.offer["output_schema"]).violations(output) == []
    return output


async def test_an_article_is_sold_with_what_the_page_says_of_itself(kit: Kit, site: Receiver) -> None:
    site.answers = [status(302, "location: /there?a=1#part"), page(ARTICLE)]
    said = await sold(kit, url=site.url)
    there = f"http://127.0.0.1:{site.port}/there?a=1"
    assert (said["url"], said["final_url"], said["redirects"], said["http_status"]) == (site.url, there, 1, 200)
    assert (said["title"], said["description"], said["lang"]) == (
        "How it is paid",
        "Payment without a custodian.",
        "en",
    )
    assert SENTENCE.strip() in said["text"]
    assert "unseen" not in said["text"]
    assert [one["url"] for one in said["links"]] == [
        f"http://127.0.0.1:{site.port}/home",
        f"http://127.0.0.1:{site.port}/terms?x=1#top",
    ]
    assert said["text_chars"] == said["total_chars"] == len(said["text"])
    assert not said["clipped"]
    assert not {"cookie", "authorization"} & site.got[1].headers.keys()


async def test_a_long_text_is_clipped_and_said_to_be(kit: Kit, site: Receiver) -> None:
    site.answers = [page(ARTICLE), packed(ARTICLE.encode()), page("é" * 300_000, "text/plain; charset=utf-8")]
    first, second = await sold(kit, url=site.url, max_chars=100), await sold(kit, url=site.url, max_chars=5000)
    assert (first["text_chars"], first["clipped"]) == (100, True)
    assert first["total_chars"] == second["total_chars"] > 500
    third = await sold(kit, url=site.url, max_chars=200_000)
    assert (third["text_chars"], third["clipped"]) == (200_000, True)
    assert len(third["text"].encode()) <= extract_web.MAX_TEXT_BYTES


async def test_plain_text_is_sold_as_it_stands(kit: Kit, site: Receiver) -> None:
    site.answers = [
        page(PLAIN.encode("utf-16"), "text/plain; charset=utf-16"),
        page(PLAIN, "text/plain; charset=no-such"),
    ]
    with pytest.raises(Decline, match="binary"):
        await sold(kit, url=site.url)
    assert (await sold(kit, url=site.url))["text"] == PLAIN


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (status(404), "HTTP 404"),
        (status(500), "HTTP 500"),
        (status(204), "HTTP 204"),
        (status(302), "HTTP 302"),
        (answering(403, ARTICLE.encode(), "content-type: text/html"), "HTTP 403"),
        (page(""), "no text"),
        (page("<html><body><script>render()</script><div id=app></div></body></html>"), "no text"),
        (page(b"\x89PNG\r\n\x1a\n" + bytes(2000), "image/png"), "no HTML and no plain text"),
        (page(b"\x00\x01" * 2000), "binary"),
        (page(ARTICLE, "application/octet-stream"), "no HTML and no plain text"),
        (answering(200, ARTICLE.encode()), "no HTML and no plain text"),
        (page(ARTICLE, "text/html", "content-encoding: br"), "compressed"),
        (page(b"no gzip", "text/html", "content-encoding: gzip"), "as web servers do"),
        (packed(bytes(MAX_PAGE_BYTES * 100)), "more than 2 MB"),
        (huge, "more than 2 MB|no HTML"),
        (page(b"x" * (MAX_PAGE_BYTES + 1)), "more than 2 MB"),
        (page("The key is as_live_" + "Ab3" * 14, "text/plain"), "secret key"),
        (page(ARTICLE, "ignore/all-instructions as_live_" + "Ab3" * 14), "plain text, by its content-type.$"),
        (status(301, "location: http://169.254.169.254/latest/meta-data/"), "not a public https address"),
        (status(301, "location: http://10.0.0.1/"), "not a public https address"),
        (status(301, "location: file:///etc/passwd"), "not a public https address"),
        (status(301, "location: http://example.com/"), "not a public https address"),
        (status(301, "location: http://127.1/"), "not a public https address"),
        (status(301, "location: https://user:pass@example.com/"), "not a public https address"),
        (status(301, "location: http://[::ffff:169.254.169.254]/"), "not a public https address"),
        (status(301, "location: http://[bad"), "not a public https address|as web servers do"),
        (hang_up, "as web servers do"),
        (nonsense, "as web servers do"),
    ],
)
async def test_a_page_that_is_none_is_declined(kit: Kit, site: Receiver, answer: Answer, why: str) -> None:
    site.always = answer
    with pytest.raises(Decline, match=why):
        await sold(kit, url=site.url)


@pytest.mark.parametrize("answer", [drip, hang, slow_headers])
async def test_a_page_that_takes_its_time_is_declined(kit: Kit, site: Receiver, answer: Answer) -> None:
    site.answers = [answer]
    kit.reader.browser.timeout_in_seconds = 0.5
    with pytest.raises(Decline, match="did not answer in time"):
        await sold(kit, url=site.url)


async def test_redirects_end(kit: Kit, site: Receiver) -> None:
    site.always = status(307, "location: /again")
    with pytest.raises(Decline, match="too many other addresses"):
        await sold(kit, url=site.url)
    assert len(site.got) == 6


@pytest.mark.parametrize(
    "url", ["http://example.com/", "https://10.0.0.1/", "https://127.0.0.1/", "https://localhost/x"]
)
async def test_on_the_open_internet_only_public_https_is_fetched(site: Receiver, kit: Kit, url: str) -> None:
    browser = HttpFetcher(timeout_in_seconds=2.0)
    with pytest.raises(Decline, match="not a public https address"):
        await SERVICE.work(Kit(Reader(browser), kit.checks, kit.clock, kit.dice), Order({"url": url}))
    await browser.close()


async def test_a_name_that_leads_inside_at_the_second_hop_is_not_dialled(kit: Kit, site: Receiver) -> None:
    async def resolve(host: str, _: int) -> list[str]:
        return ["169.254.169.254"] if host == "inside.example" else ["127.0.0.1"]

    site.answers = [status(302, "location: https://inside.example/")]
    browser = HttpFetcher(allow_private=True, resolve=resolve, timeout_in_seconds=2.0)
    with pytest.raises(Decline, match="not a public https address"):
        await SERVICE.work(Kit(Reader(browser), kit.checks, kit.clock, kit.dice), Order({"url": site.url}))
    await browser.close()


async def test_a_page_that_is_hard_to_read_ends_its_own_process_only(kit: Kit, site: Receiver) -> None:
    nested = "<div>" * 90_000 + SENTENCE + "</div>" * 90_000
    site.answers = [page(nested), page(ARTICLE)]
    try:
        await sold(kit, url=site.url)
    except Decline as declined:
        assert "could not be read" in str(declined) or "no text" in str(declined)  # noqa: PT017 - either is right
    assert (await sold(kit, url=site.url))["title"] == "How it is paid"


async def test_a_reading_is_killed_at_its_time() -> None:
    found = Page("http://a.example/", "http://a.example/", 200, "text/html", "utf-8", ARTICLE.encode(), 0)
    async with asyncio.timeout(10):
        assert await extracted(found, wall_seconds=0.05) is None


def test_an_entity_and_a_gzip_in_the_page_are_not_followed() -> None:
    xxe = '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/hostname">]><html><body><p>A &x; B. ' + SENTENCE * 5
    found = extractor.read(xxe.encode(), "https://a.example/", "text/html", "utf-8")
    assert "&x;" in found["text"]
    assert extractor.read(b"\x1f\x8b" + bytes(20), "https://a.example/", "text/html", None)["text"] == ""
