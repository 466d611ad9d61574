"""The documents as web pages for people, from the same markdown that programs get. No scripts, nothing external."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from protocol.docs.markdown import filled, front_matter
from tools.engine.config import MarketConfig

if TYPE_CHECKING:
    from protocol.docs.html_markdown import Heading

STYLE = Path(__file__).with_name("docs.css").read_text(encoding="utf-8")
POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
MOVED = {"/skill.md": "/docs/skill", "/llms.txt": "/docs"}  # the pages of documents that have another address


@dataclass(frozen=True, slots=True)
class Doc:
    """A page: its path, its name, its markdown, and where programs find the same."""

    path: str
    name: str
    text: Callable[[], str]
    other: str
    other_kind: str


class Book:
    """All pages. `pointers` maps pointers into openapi.json to ids of headings in the reference."""

    def __init__(self, docs: Sequence[Doc], config: MarketConfig, pointers: Callable[[], Mapping[str, str]]) -> None:
        self.docs, self.config, self.pointers = {doc.path: doc for doc in docs}, config, pointers
        self.root = urlsplit(config.base_url).path.rstrip("/")
        known = "|".join(map(re.escape, sorted({*self.docs, *MOVED, "/openapi.json"}, key=len, reverse=True)))
        self.address = re.compile(rf"{re.escape(config.base_url)}(?:{known})(?![\w/-])")

    def page(self, path: str) -> str:
        """Return the page as HTML. The time grows with the text: half a second for the reference."""
        from protocol.docs.html_markdown import Markdown  # the library is loaded when the first page is read

        doc = self.docs[path]
        meta, text = front_matter(doc.text())
        written = Markdown(text, self.address, self._at_home)
        return self._frame(doc, meta.get("description") or written.opening, written.headings, written.html)

    def _at_home(self, url: str) -> str:
        """Return a URL of this market as a link for people, relative to the root.

        Other URLs stay unchanged. A pattern of URLs returns "", which means no link.
        """
        if "%7B" in url and "/openapi.json#" not in url:
            return ""
        path = url.removeprefix(self.config.base_url)
        if not path.startswith("/"):
            return url
        bare, _, fragment = path.partition("#")
        if bare == "/openapi.json" and fragment in (told := self.pointers()):
            return f"{self.root}/docs/reference#{told[fragment]}"
        return self.root + MOVED.get(bare, bare) + (f"#{fragment}" if fragment else "")

    def _frame(self, doc: Doc, about: str, headings: "list[Heading]", body: str) -> str:
        title = next((one.text for one in headings if one.level == 1), doc.name)
        brand = self.config.title
        named = title if brand.lower() in title.lower() else f"{title} · {brand}"
        return filled(
            "page.html",
            title=escape(named),
            about=escape(about),
            other=escape(self.root + doc.other),
            other_kind=doc.other_kind,
            style=STYLE,
            entries="".join(self._entries(doc)),
            contents=_contents(headings),
            body=body,
            brand=escape(brand),
            version=escape(self.config.version),
        )

    def _entries(self, here: Doc) -> Iterator[str]:
        for doc in self.docs.values():
            current = ' aria-current="page"' if doc is here else ""
            yield f'<li><a href="{escape(self.root + doc.path)}"{current}>{escape(doc.name)}</a></li>'


def _contents(headings: "list[Heading]") -> str:
    """Return the table of contents, folded because it would fill the screen of a phone."""
    listed = [one for one in headings if one.level in (2, 3)]
    if not listed:
        return ""
    entries = "".join(
        f'<li class="h{one.level}"><a href="#{escape(one.id)}">{escape(one.text)}</a></li>' for one in listed
    )
    return (
        '<nav class="toc" aria-label="On this page"><details><summary>On this page</summary>'
        f"<ul>{entries}</ul></details></nav>"
    )
