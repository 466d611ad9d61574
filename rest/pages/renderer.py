"""Render the pages for people from the JSON of their reads. Equal sources give equal pages, so pages are cached."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

import orjson
from markupsafe import Markup

from protocol.accept import JSON
from protocol.html.frame import Frame, opening, query
from rest.arguments import arguments_of
from rest.pages.plots import bars, newest
from rest.pages.table import PageSpec, Record
from tools.engine.config import MarketConfig
from tools.engine.errors import InvalidRequest
from tools.engine.registry import CATALOGUE, Operation
from tools.kernel.errors import Json

PAGING = ("cursor", "limit")  # they do not make another page
MAX_PAGES, MAX_BYTES = 64, 196_608  # cached pages, and the bytes of each with its sources
MAX_ROWS = 1_000  # cached entries of lists, of about 3 KB with their sources
TEMPLATES = Path(__file__).with_name("templates")


class Place(NamedTuple):
    """A page with the argument in its path."""

    page: PageSpec
    name: str = ""

    @property
    def path(self) -> dict[str, str]:
        """The arguments in the path: one or none."""
        return {self.page.parameter: self.name} if self.page.parameter else {}

    @property
    def json(self) -> str:
        """The path of the JSON that the page shows."""
        return self._filled(self.page.json or CATALOGUE[self.page.operation].path)

    @property
    def address(self) -> str:
        """The path of the page."""
        return self._filled(self.page.path)

    def of_record(self, record: Record) -> "Place":
        """Put the record's id into the address, and its words into the head of the page.

        A description that looks like an attack stays out of the head.
        """
        text = "" if record.get("content_warnings") else record["description"]
        about = opening(text) if text else self.page.about
        named = replace(self.page, title=record.get("title") or record["handle"], about=about)
        return Place(named, str(record["id"]))

    def _filled(self, path: str) -> str:
        return path.format(**{name: quote(value, safe="") for name, value in self.path.items()})


def arguments_of_page(place: Place, query: bytes) -> dict[str, Json]:
    """Return the arguments of a page's operation.

    A field that was left empty does not count, and neither does an unknown parameter. Raises InvalidRequest.
    """
    op, path = CATALOGUE[place.page.operation], place.path
    try:
        pairs = parse_qsl(query.decode("ascii"), errors="strict", max_num_fields=50)
    except ValueError:
        raise InvalidRequest("the query string is not valid percent-encoded UTF-8", param="query") from None
    known = [(name, value) for name, value in pairs if name in op.input.model_fields and name not in path]
    return arguments_of(op, path, urlencode(known).encode(), b"")


class PageSource(NamedTuple):
    """Everything that a page is made from."""

    place: Place
    given: bytes  # the arguments of the page's operation, as JSON
    env: str
    answers: tuple[bytes, ...]  # the JSON of the page's reads, the main one first


class Row(NamedTuple):
    """The fields of a listing that its entry in a list shows."""

    id: str
    title: str
    price: str
    category: str
    seller_id: str
    seller_handle: str
    first_party: bool
    rating_avg: float | None
    rating_count: int
    graduated: bool
    content_warnings: tuple[str, ...]
    description: str


class Renderer:
    """Renders the pages of one market.

    Links stay in the environment of their page if it is not the usual one.
    """

    def __init__(self, config: MarketConfig, usual_env: str) -> None:
        self.config, self.usual_env = config, usual_env
        self.frame = Frame(config, TEMPLATES)
        self.root = self.frame.environment.globals["root"]
        self.frame.environment.globals |= {"bars": bars, "newest": newest, "categories_of": _categories_of}
        self.frame.environment.globals |= {"listing_rows": self._listing_rows, "usual_env": usual_env}
        self.pages: OrderedDict[PageSource, bytes] = OrderedDict()
        self._row = lru_cache(MAX_ROWS)(self._rendered_row)

    def cached_page(self, source: PageSource) -> bytes:
        """Return the page of a source. It is cached unless it is large."""
        shown = self.pages.get(source)
        if shown is None:
            shown = self._page_of(source)
            if len(shown) + sum(map(len, source.answers)) > MAX_BYTES:
                return shown
            self.pages[source] = shown
            if len(self.pages) > MAX_PAGES:
                self.pages.popitem(last=False)
        self.pages.move_to_end(source)
        return shown

    def page(self, place: Place, values: Mapping[str, Any]) -> bytes:
        """Return a page with the values of its template."""
        page = place.page
        common = {
            "title": f"{page.title} · {self.config.title}" if page.title else self.config.title,
            "about": page.about,
            "other": f"{self.root}{place.json}",
            "other_kind": JSON,
            "section": page.section,
            "path": place.address,
            "env": self.usual_env,
        }
        return self.frame.render(page.template, {**common, **values})

    def env_values(self, env: Json) -> dict[str, Json]:
        """Return the environment of a page, and the query of links that stay in it."""
        return {"env": env, "suffix": "" if env == self.usual_env else f"?env={env}"}

    def _page_of(self, source: PageSource) -> bytes:
        place, env, given = source.place, source.env, orjson.loads(source.given)
        record, *others = map(orjson.loads, source.answers)
        reads = place.page.more(record) if place.page.more else ()
        more = {one.name: other for one, other in zip(reads, others, strict=True)}
        if place.name:
            place = place.of_record(record)
        values = {
            "record": record,
            "given": given,
            "other": self._other(place, given, env),
            **self.env_values(env),
            **more,
        }
        return self.page(place, {**values, "canonical": self._canonical(place, given, env)})

    def _listing_rows(self, listings: Iterable[Record], suffix: str) -> Markup:
        """Return the entries of listings in a list.

        They are cached, because lists show the same listings again and again.
        """
        rows = (self._row(_row_of(one), suffix) for one in listings)
        return Markup("".join(rows))  # noqa: S704 - their template has escaped them

    def _rendered_row(self, listing: Row, suffix: str) -> str:
        return self.frame.render("listing_row.html", {"one": listing, "suffix": suffix}).decode()

    def _other(self, place: Place, given: Mapping[str, Json], env: Json) -> str:
        """Return the address of the JSON that the page shows, in the same environment."""
        op, path = CATALOGUE[place.page.operation], place.path
        asked = {name: value for name, value in with_env(op, given, env).items() if name not in path}
        return _with_query(f"{self.root}{place.json}", asked)

    def _canonical(self, place: Place, given: Mapping[str, Json], env: Json) -> str:
        """Return the one URL of a page.

        It has no paging, no defaults and no unknown parameters, and `env` only if it is not the usual one.
        """
        fields = CATALOGUE[place.page.operation].input.model_fields
        kept = {
            name: given[name]
            for name in sorted(given.keys() - {"env", *PAGING, *place.path})
            if given[name] != fields[name].default
        }
        if env != self.usual_env:
            kept["env"] = env
        return _with_query(self.config.base_url + place.address, kept)


def with_env(op: Operation, arguments: Mapping[str, Json], env: Json) -> dict[str, Json]:
    """Return the arguments in an environment, if the operation takes one."""
    return {"env": env, **arguments} if "env" in op.input.model_fields else {**arguments}


def _row_of(listing: Record) -> Row:
    seller, stats = listing["seller"], listing["stats"]
    return Row(
        id=listing["id"],
        title=listing["title"],
        price=listing["pricing"]["display"],
        category=listing["category"],
        seller_id=seller["id"],
        seller_handle=seller["handle"],
        first_party=listing["first_party"],
        rating_avg=stats["rating_avg"],
        rating_count=stats["rating_count"],
        graduated=listing["graduated"],
        content_warnings=tuple(listing["content_warnings"]),
        description=listing["description"],
    )


def _categories_of(found: Iterable[Record]) -> list[str]:
    """Return the categories of some records, each once."""
    return sorted({one["category"] for one in found})


def _with_query(url: str, arguments: Mapping[str, Json]) -> str:
    return f"{url}?{query(arguments)}" if arguments else url
