"""Which of two forms of a document a client would rather read, by its Accept header (RFC 9110, 12.5.1)."""

import re

HTML = "text/html"
PROGRAMS = ("text/markdown", "application/json")  # who names one of these at least as high reads as a program
MOST_RANGES = 64  # more are not looked at: no browser sends as many
WEIGHT = re.compile(rb"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


def prefers_html(accept: bytes, other: str) -> bool:
    """Whether HTML is asked for by name, above what programs read, and not below what a wildcard says of `other`."""
    weights = _weights(accept)
    html = weights.get(HTML, 0.0)
    wild = weights.get(f"{other.partition('/')[0]}/*", weights.get("*/*", 0.0))
    return html > max(weights.get(kind, 0.0) for kind in PROGRAMS) and (other in weights or html >= wild)


def _weights(accept: bytes) -> dict[str, float]:
    """Each media range and its weight; the first counts where one comes twice, a weight that is none counts nothing."""
    found: dict[str, float] = {}
    for part in accept.split(b",", MOST_RANGES)[:MOST_RANGES]:
        name, *parameters = (one.strip().lower() for one in part.split(b";", 8))
        weight = next((one for one in parameters if one.startswith(b"q=")), b"q=1")
        read = WEIGHT.fullmatch(weight)
        if read:
            found.setdefault(name.decode("latin-1"), float(read[1]))
    return found
