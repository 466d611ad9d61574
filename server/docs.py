"""The documents of a market: their sources, and their forms for people and for programs."""

from collections.abc import Callable
from datetime import datetime
from functools import cache, partial
from typing import Any

import orjson
from starlette.types import Scope

from protocol.discovery.documents import discovery_documents, links
from protocol.discovery.skills import Skill
from protocol.discovery.web_bot_auth import KIND, directory, signature
from protocol.docs.html_pages import Book, Doc
from protocol.docs.reference import pointers, reference_text
from protocol.docs.texts import Texts
from protocol.html.frame import POLICY
from rest.openapi import openapi_json
from rest.pages.table import PAGES
from server.pages import Found, LatePage, Page, Pages
from tools.catalogue import CATALOGUE
from tools.engine.config import MarketConfig
from tools.engine.dispatch import Market

SITE = tuple(page.path for page in PAGES if "{" not in page.path)
OTHERS = ("/skill.md", "/llms.txt", "/llms-full.txt")  # of the sitemap, beside the pages for people
HTML, MARKDOWN, JSON = "text/html; charset=utf-8", "text/markdown; charset=utf-8", "application/json"


def make_pages(texts: Texts, config: MarketConfig, card: bytes, made_at: datetime) -> Pages:
    """Return all documents of a market by path.

    Those for people also have HTML forms, which are made on demand.
    """
    openapi = cache(lambda: openapi_json(CATALOGUE.values(), config))  # its schemas take half a second
    own = {path: text for path, text in texts.documents.items() if path.startswith("/docs/")}
    own |= {"/docs/changelog": texts.changelog_md, "/docs": texts.docs_md}
    markdown = {
        "/llms.txt": texts.llms_txt,
        "/llms-full.txt": texts.llms_full_txt,
        "/skill.md": texts.skill_md,
        "/docs/llms": texts.llms_txt,
        "/docs/skill": texts.skill_md,
        **own,
        **{f"{path}.md": text for path, text in own.items()},
    }
    start = Page(orjson.dumps(texts.index_json), JSON, made_at, more=((b"link", links(config)),))
    pages: dict[str, Page | LatePage] = {
        path: Page(text.encode(), MARKDOWN, made_at) for path, text in markdown.items()
    }
    pages["/openapi.json"] = pages["/docs/reference"] = LatePage(JSON, lambda: Page(openapi(), JSON, made_at))
    pages["/.well-known/agent-card.json"] = Page(card, JSON, made_at)
    written = html_pages(book(texts, openapi, config), made_at)
    found = discovery_documents(Skill(texts), CATALOGUE.values(), config, [*SITE, *written, *OTHERS], made_at)
    pages |= {path: Page(one.body, one.kind, made_at, one.headers, one.max_age) for path, one in found.items()}
    pages["/"] = pages["/v1"] = start
    index = Page(texts.index_md.encode(), MARKDOWN, made_at, start.more)
    return Pages(pages, {"/": index, "/v1": index}, written)


def book(texts: Texts, openapi: Callable[[], bytes], config: MarketConfig) -> Book:
    """Return all pages in reading order; those made from openapi.json are made on demand."""

    def document() -> Any:
        return orjson.loads(openapi())

    def doc(path: str, name: str, text: str) -> Doc:
        return Doc(path, name, lambda: text, f"{path}.md", "text/markdown")

    docs = (
        doc("/docs", "Overview", texts.docs_md),
        doc("/docs/quickstart", "Quickstart", texts.quickstart_md),
        Doc("/docs/skill", "Skill", lambda: texts.skill_md, "/skill.md", "text/markdown"),
        Doc("/docs/reference", "Reference", lambda: reference_text(document()), "/openapi.json", JSON),
        doc("/docs/lifecycle", "Lifecycle", texts.lifecycle_md),
        doc("/docs/events", "Events", texts.events_md),
        doc("/docs/errors", "Errors", texts.errors_md),
        Doc("/docs/llms", "llms.txt", lambda: texts.llms_txt, "/llms.txt", "text/markdown"),
        doc("/docs/changelog", "Changelog", texts.changelog_md),
    )
    return Book(docs, config, cache(lambda: pointers(document())))


def html_pages(made_of: Book, made_at: datetime) -> dict[str, LatePage]:
    """Return the HTML pages by path."""
    return {path: LatePage(HTML, partial(_html_page, made_of, path, made_at)) for path in made_of.docs}


def _html_page(made_of: Book, path: str, made_at: datetime) -> Page:
    doc = made_of.docs[path]
    link = f'<{made_of.root}{doc.other}>; rel="alternate"; type="{doc.other_kind}"'
    more = ((b"content-security-policy", POLICY.encode()), (b"link", link.encode()))
    return Page(made_of.page(path).encode(), HTML, made_at, more)


async def signed_directory(market: Market, scope: Scope) -> Found:
    """Return the directory of Web Bot Auth, signed for this request."""
    signer, urls = market.world.signer, market.config.urls
    signed = signature(signer, urls, scope["headers"], market.world.clock.now())
    return Found(200, KIND, directory(signer), signed)
