"""The documentation pages under /docs: their sources, and their forms for people and for programs."""

from collections.abc import Callable
from datetime import datetime
from functools import cache, partial

import orjson

from protocol.docs.html_pages import POLICY, Book, Doc
from protocol.docs.reference import pointers, reference_text
from protocol.docs.texts import Texts
from server.pages import Page
from tools.engine.config import MarketConfig

HTML, MARKDOWN, JSON = "text/html; charset=utf-8", "text/markdown; charset=utf-8", "application/json"


def programs_pages(texts: Texts, openapi: bytes) -> dict[str, tuple[str | bytes, str]]:
    """Return the pages under /docs for programs, by path; markdown also by `path.md`."""
    own = {path: text for path, text in texts.documents.items() if path.startswith("/docs/")}
    own["/docs/changelog"] = texts.changelog_md
    return {
        "/docs": (texts.llms_txt, MARKDOWN),
        "/docs/skill": (texts.skill_md, MARKDOWN),
        "/docs/reference": (openapi, JSON),
        **{path: (text, MARKDOWN) for path, text in own.items()},
        **{f"{path}.md": (text, MARKDOWN) for path, text in own.items()},
    }


def book(texts: Texts, openapi: bytes, config: MarketConfig) -> Book:
    """Return all pages in reading order; those made from openapi.json are made on demand."""

    document = partial(orjson.loads, openapi)

    def doc(path: str, name: str, text: str) -> Doc:
        return Doc(path, name, lambda: text, f"{path}.md", "text/markdown")

    docs = (
        Doc("/docs", "Overview", lambda: texts.llms_txt, "/llms.txt", "text/markdown"),
        doc("/docs/quickstart", "Quickstart", texts.quickstart_md),
        Doc("/docs/skill", "Skill", lambda: texts.skill_md, "/skill.md", "text/markdown"),
        Doc("/docs/reference", "Reference", lambda: reference_text(document()), "/openapi.json", JSON),
        doc("/docs/lifecycle", "Lifecycle", texts.lifecycle_md),
        doc("/docs/events", "Events", texts.events_md),
        doc("/docs/errors", "Errors", texts.errors_md),
        doc("/docs/changelog", "Changelog", texts.changelog_md),
    )
    return Book(docs, config, cache(lambda: pointers(document())))


def html_pages(made_of: Book, made_at: datetime) -> dict[str, Callable[[], Page]]:
    """Return a function for each path that renders its HTML page."""

    def made(path: str) -> Page:
        doc = made_of.docs[path]
        link = f'<{made_of.root}{doc.other}>; rel="alternate"; type="{doc.other_kind}"'
        more = ((b"content-security-policy", POLICY.encode()), (b"link", link.encode()))
        return Page(made_of.page(path).encode(), HTML, made_at, more)

    return {path: partial(made, path) for path in made_of.docs}
