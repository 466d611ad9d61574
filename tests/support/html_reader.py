"""A strict reader of HTML pages for tests. It finds unclosed tags, ids, links, headings and words."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}
HEADING = re.compile(r"h[1-6]")


@dataclass
class Heard:
    """The content of a page. `words` are those of <main> without the picture."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)  # by the innermost tag of PARTS
    faults: list[str] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        return words(" ".join(self.texts.get("main", ())))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


class Reader(HTMLParser):
    """Parses a page strictly. A tag that is not closed correctly is a fault."""

    PARTS = ("title", "style", "header", "nav", "main", "svg", "summary", "footer", "body", "head")

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.heard, self.open = Heard(), list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if len(told) != len(attrs):
            self.heard.faults.append(f"an attribute twice: {attrs}")
        self.heard.tags.append((tag, told))
        self.heard.ids += [told["id"]] if "id" in told else []
        if tag == "a":
            self.heard.links.append(told["href"])
            if "a" in self.open:
                self.heard.faults.append(f"a link in a link: {told}")
        if HEADING.fullmatch(tag):
            self.heard.headings.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.heard.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.heard.faults.append(f"</{tag}> closes nothing at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        part = next((one for one in reversed(self.open) if one in self.PARTS), "")
        self.heard.texts.setdefault(part, []).append(data)


def read_html(text: str) -> Heard:
    reader = Reader()
    reader.feed(text)
    reader.close()
    if reader.open:
        reader.heard.faults.append(f"never closed: {reader.open}")
    return reader.heard
