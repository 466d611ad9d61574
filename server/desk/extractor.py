"""Extract the text of a page, in a process that can be killed.

It reads a line of JSON and the page, and writes JSON. The page is hostile input: the process has limits of time and memory
and opens nothing.
"""

import resource
import sys
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin

import orjson
from lxml.etree import LxmlError
from lxml.html import HtmlElement
from trafilatura import bare_extraction, load_html

CPU_SECONDS = 10
MAX_MEMORY = 1 << 30
MAX_TEXT, MAX_WORDS, MAX_LINKS, MAX_LINK = 1_000_000, 1000, 50, 2048  # characters; links of a page


def main() -> None:
    with suppress(ValueError, OSError):  # a system without these limits
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    asked = orjson.loads(sys.stdin.buffer.readline())
    found = read(sys.stdin.buffer.read(), asked["url"], asked["kind"], asked["charset"])
    sys.stdout.buffer.write(orjson.dumps({name: _sound(value) for name, value in found.items()}))


def read(body: bytes, url: str, kind: str, charset: str | None) -> dict[str, Any]:
    """Title, description, language, text and links; an empty text where there is none."""
    if kind == "text/plain":
        return _found(_decoded(body, charset or "utf-8").strip())
    tree = load_html(_decoded(body, charset) if charset else body) if body[:2] != b"\x1f\x8b" else None
    if tree is None:
        return _found("")
    lang, links = tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang"), links_of(tree, url)
    article = bare_extraction(tree, url=url, include_comments=False, with_metadata=True)
    if article is None or isinstance(article, dict):
        return _found("", lang=lang, links=links)
    text = (article.text or "").strip()
    return _found(text, links, title=article.title, description=article.description, lang=lang)


def links_of(tree: HtmlElement, url: str) -> list[dict[str, str]]:
    """Return the first absolute links to web pages, each once, with their texts."""
    links: dict[str, str] = {}
    for one in tree.iter("a"):
        if len(links) == MAX_LINKS:
            break
        with suppress(ValueError):
            place = urljoin(url, str(one.get("href") or "").strip())
            if place.startswith(("https://", "http://")) and len(place) <= MAX_LINK:
                links.setdefault(place, " ".join("".join(one.itertext()).split())[:200])
    return [{"url": place, "text": words} for place, words in links.items()]


def _found(text: str, links: Any = (), **known: str | None) -> dict[str, Any]:
    words = {"title": None, "description": None, "lang": None, **known}
    short = {name: value[:MAX_WORDS].strip() or None if value else None for name, value in words.items()}
    return {**short, "text": text[:MAX_TEXT], "links": list(links)}


def _decoded(body: bytes, charset: str) -> str:
    try:
        return body.decode(charset, "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _sound(value: Any) -> Any:
    """Remove lone surrogates, which are not text."""
    if isinstance(value, str):
        return value.encode("utf-8", "ignore").decode()
    if isinstance(value, list):
        return [{name: _sound(inner) for name, inner in one.items()} for one in value]
    return value


if __name__ == "__main__":
    try:
        main()
    except (LxmlError, MemoryError, RecursionError):
        sys.exit(1)
