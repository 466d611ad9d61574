"""Render pages for people with templates: one frame, one stylesheet, no scripts, nothing from elsewhere."""

import re
import shlex
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from tools.engine.config import MarketConfig
from tools.kernel.durations import two_units
from tools.kernel.money import display

HERE = Path(__file__).parent
STYLE = (HERE / "site.css").read_text(encoding="utf-8")
POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
NAVIGATION = {  # the header of every page, in this order
    "/listings": "Listings",
    "/bounties": "Bounties",
    "/leaderboard": "Leaderboard",
    "/feed": "Feed",
    "/stats": "Figures",
    "/disputes": "Disputes",
    "/x402": "x402",
    "/verify": "Verify",
    "/docs": "Docs",
}
# control characters and those that change the direction or the look of a text; joiners stay, because scripts need them
DISGUISES = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
REPLACEMENT = "\ufffd"
MAX_ABOUT = 200  # characters of the description of a page


class _Templates(Environment):
    """Read a field of a record for a dot, before jinja2 tries the attributes of dict."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        return obj[attribute] if type(obj) is dict and attribute in obj else super().getattr(obj, attribute)


class Frame:
    """Render the templates of some folders. Texts are always escaped."""

    def __init__(self, config: MarketConfig, *folders: Path) -> None:
        root = urlsplit(config.base_url).path.rstrip("/")
        self.environment = _Templates(
            loader=FileSystemLoader([HERE / "templates", *folders]),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=shown,
        )
        self.environment.globals |= {
            "brand": config.title,
            "version": config.version,
            "base": config.base_url,
            "root": root,
            "navigation": NAVIGATION,
            "suffix": "",  # of links that stay in the environment of the page
            "style": Markup(STYLE),  # noqa: S704 - a file of ours
        }
        self.environment.filters |= {"usdc": display, "when": when, "span": span, "json": pretty, "rating": rating}
        self.environment.filters |= {"query": query, "shell": as_word}

    def template(self, name: str) -> Template:
        """Return a template; it is compiled at the first use."""
        return self.environment.get_template(name)

    def render(self, name: str, values: Mapping[str, Any]) -> bytes:
        """Return a page as UTF-8."""
        return self.template(name).render(values).encode()


def shown(value: Any) -> Any:
    """Replace control, direction and invisible characters of a text by U+FFFD."""
    if type(value) is not str or (value.isascii() and value.isprintable()):
        return "–" if value is None else value
    return DISGUISES.sub(REPLACEMENT, value)


def opening(text: str) -> str:
    """Return the start of a text on one line: at most MAX_ABOUT characters, cut between words."""
    line = " ".join(text.split())
    if len(line) <= MAX_ABOUT:
        return line
    start = line[:MAX_ABOUT]
    return f"{start.rpartition(' ')[0] or start} …"


def query(arguments: Mapping[str, Any]) -> str:
    """Return arguments as a query string, with booleans as the market reads them."""
    return urlencode(
        {name: str(value).lower() if isinstance(value, bool) else value for name, value in arguments.items()}
    )


def as_word(value: Any) -> str:
    """Return JSON as one word of a POSIX shell, whatever its texts contain."""
    return shlex.quote(orjson.dumps(value).decode())


def when(stamp: str) -> Markup:
    """Return a moment (2026-11-27T05:04:33.547Z) as a <time> element, to the minute."""
    moment = datetime.fromisoformat(stamp)
    return Markup('<time datetime="{}">{:%-d %b %Y, %H:%M} UTC</time>').format(stamp, moment)


def span(seconds: float | None) -> str:
    """Return a duration in its two largest units, such as `2 h 5 min`; a dash for None."""
    if seconds is None:
        return "–"
    parts = [part for part in two_units(round(seconds)) if not part.startswith("0 ")]
    return " ".join(parts) or "under 1 s"


def rating(value: float | None, count: int | None = None) -> str:
    """Return the mean of some reviews in words, with their number if it is given."""
    if value is None:
        return "no rating yet"
    reviews = "" if count is None else f" ({count} {'review' if count == 1 else 'reviews'})"
    return f"{value:.2f} of 5{reviews}"


def pretty(value: Any) -> str:
    """Return JSON with two spaces of indentation."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
