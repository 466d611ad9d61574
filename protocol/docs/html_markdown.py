"""Render our markdown as HTML: headings with anchors, tables that fit a phone, diagrams as SVG. Raw HTML is escaped."""

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from protocol.docs.lifecycle import diagram_svg, usual_way_svg
from protocol.html.frame import opening

MAX_COLUMNS = 4  # in a table that fits a phone
WIDE = '<div class="wide" role="group" aria-label="{}" tabindex="0">\n'


class Heading(NamedTuple):
    level: int
    id: str
    text: str


class Markdown:
    """A parsed and rendered markdown text.

    Matches of `address` in the text become links. `leads` returns the target of a link, or "" for no link.
    """

    def __init__(self, text: str, address: re.Pattern[str], leads: Callable[[str], str]) -> None:
        self.address, self.leads = address, leads
        reader = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")
        tokens = reader.parse(text)
        for token in tokens:
            if token.type == "inline" and token.children:
                token.children = list(self._linked(token.children))
        self.opening = opening(_first_paragraph(tokens))
        self.headings = list(_headings(tokens))
        self.html: str = reader.renderer.render(list(_tables(tokens)), reader.options, {})

    def _linked(self, tokens: Sequence[Token]) -> Iterator[Token]:
        inside, href = 0, ""
        for token in tokens:
            if token.type == "link_open":
                href = self.leads(str(token.attrGet("href")))
                token.attrSet("href", href)
            inside += token.nesting if token.type.startswith("link_") else 0
            if token.type == "text" and not inside:
                yield from self._with_links(token.content)
            elif href or not token.type.startswith("link_"):
                yield token

    def _with_links(self, text: str) -> Iterator[Token]:
        at = 0
        for found in self.address.finditer(text):
            yield _text(text[at : found.start()])
            yield from (_link(self.leads(found[0])), _text(found[0]), Token("link_close", "a", -1))
            at = found.end()
        yield _text(text[at:])


class _Renderer(RendererHTML):
    """The library's renderer, with code that can be scrolled by keyboard and an SVG diagram."""

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        code = f'<pre tabindex="0"><code>{escape(tokens[idx].content)}</code></pre>\n'
        if tokens[idx].info != "mermaid":
            return code
        picture = usual_way_svg() if tokens[idx].content.startswith("flowchart") else diagram_svg()
        drawn = f"{WIDE.format('Diagram')}{picture}\n</div>\n"
        return f"{drawn}<details><summary>The same picture as text</summary>\n{code}</details>\n"

    code_block = fence


def _headings(tokens: list[Token]) -> Iterator[Heading]:
    """Yield every heading; each gets an id and becomes a link to itself."""
    taken = {"content"}
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            text = _plain(inline)
            name = re.sub(r"[^\w.]+", "-", text).strip("-") or "section"
            slug = next(one for n in range(1, len(tokens)) if (one := f"{name}-{n}" if n > 1 else name) not in taken)
            taken.add(slug)
            token.attrSet("id", slug)
            inline.children = [_link(f"#{slug}"), *(inline.children or ()), Token("link_close", "a", -1)]
            yield Heading(int(token.tag[1:]), slug, text)


def _tables(tokens: list[Token]) -> Iterator[Token]:
    """Prepare tables for accessibility and for phones.

    Column heads get a scope, and empty heads become plain cells. Each cell knows its head, because on a phone the cells
    of a row are shown one below the other. A table with many columns can be scrolled, also by keyboard.
    """
    heads, cell = list[str](), 0
    for at, token in enumerate(tokens):
        if token.type == "table_open":
            heads = _heads(tokens, at)
            if len(heads) > MAX_COLUMNS:
                yield _raw(WIDE.format("Table"))
        elif token.type == "th_open" and tokens[at + 1].content:
            token.attrSet("scope", "col")
        elif token.type == "th_open":
            token.tag = tokens[at + 2].tag = "td"
        elif token.type == "tr_open":
            cell = 0
        elif token.type == "td_open":
            if cell and heads[cell]:
                token.attrSet("data-head", heads[cell])
            cell += 1
        yield token
        if token.type == "table_close" and len(heads) > MAX_COLUMNS:
            yield _raw("</div>\n")


def _heads(tokens: list[Token], at: int) -> list[str]:
    """Return the column heads of the table that starts at a token."""
    end = next(n for n in range(at, len(tokens)) if tokens[n].type == "thead_close")
    return [_plain(tokens[n + 1]) for n in range(at, end) if tokens[n].type == "th_open"]


def _first_paragraph(tokens: list[Token]) -> str:
    """Return the first paragraph as plain text."""
    found = next((one for before, one in pairwise(tokens) if before.type == "paragraph_open"), None)
    return _plain(found) if found else ""


def _plain(inline: Token) -> str:
    return "".join("\n" if one.type == "softbreak" else one.content for one in inline.children or ())


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _link(href: str) -> Token:
    return Token("link_open", "a", 1, attrs={"href": href})


def _raw(html: str) -> Token:
    return Token("html_block", "", 0, content=html)
