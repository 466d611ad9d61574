"""Content negotiation: the weights of Accept, and whether a client prefers a web page (RFC 9110, 12.5)."""

import re
from typing import Final

from starlette.types import Scope

HTML: Final = "text/html"
JSON: Final = "application/json"
PROGRAMS = ("text/markdown", JSON)  # HTML must weigh more than each of these
MAX_RANGES = 64  # further ranges are ignored: no browser sends this many
WEIGHT = re.compile(rb"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


def is_visit(scope: Scope) -> bool:
    """Return True if a browser reads, so that a page helps more than an answer for programs."""
    return scope["method"] in ("GET", "HEAD") and prefers_html(all_of(scope, b"accept"), JSON)


def prefers_html(accept: bytes, other: str) -> bool:
    """Return True if the client prefers HTML over `other` and over every type for programs.

    HTML must be named in the header (wildcards do not count) with a weight above that of each type in PROGRAMS. If
    `other` is not named, its weight is that of the wildcard that covers it, and HTML must weigh at least as much.
    """
    weights = _weights(accept)
    html = weights.get(HTML, 0.0)
    wild = weights.get(f"{other.partition('/')[0]}/*", weights.get("*/*", 0.0))
    return html > max(weights.get(kind, 0.0) for kind in PROGRAMS) and (other in weights or html >= wild)


def takes_gzip(accept_encoding: bytes) -> bool:
    """Return True if Accept-Encoding allows gzip (RFC 9110, 12.5.3); False without the header."""
    weights = _weights(accept_encoding)
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0))) > 0


def all_of(scope: Scope, header: bytes) -> bytes:
    """Return all values of a request header, joined with commas."""
    return b",".join(value for name, value in scope["headers"] if name == header)


def _weights(accept: bytes) -> dict[str, float]:
    """Return the weight of each media range; the first of two equal ranges counts.

    A range whose weight is not a valid q-value is left out.
    """
    found: dict[str, float] = {}
    for part in accept.split(b",", MAX_RANGES)[:MAX_RANGES]:
        name, *parameters = (one.strip().lower() for one in part.split(b";", 8))
        weight = next((one for one in parameters if one.startswith(b"q=")), b"q=1")
        read = WEIGHT.fullmatch(weight)
        if read:
            found.setdefault(name.decode("latin-1"), float(read[1]))
    return found
