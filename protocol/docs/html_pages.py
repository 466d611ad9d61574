"""The documents as web pages for people, from the same markdown that programs get. No scripts, nothing external."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from markupsafe import Markup

from protocol.docs.markdown import front_matter
from protocol.html.frame import Frame
from tools.engine.config import MarketConfig

if TYPE_CHECKING:
    from protocol.docs.html_markdown import Heading

MOVED = {"/skill.md": "/docs/skill", "/llms.txt": "/docs/llms"}  # the pages of documents that have another address


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
        self.template = Frame(config).template("doc.html")
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
        return self.template.render(
            title=title if brand.lower() in title.lower() else f"{title} · {brand}",
            about=about,
            canonical=self.config.base_url + doc.path,
            other=self.root + doc.other,
            other_kind=doc.other_kind,
            section="/docs",
            docs=self.docs.values(),
            path=doc.path,
            headings=[one for one in headings if one.level in (2, 3)],
            body=Markup(body),  # noqa: S704 - the renderer escapes
        )
