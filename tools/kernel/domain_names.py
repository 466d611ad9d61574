"""Domains an agent may prove: their normalised form, and what proves them."""

import re

import idna

from tools.kernel.ssrf_guard import BadTarget, address_in

MAX_CHARACTERS = 253
MAX_DOMAINS = 5
RESERVED = frozenset(
    {"localhost", "local", "internal", "arpa", "test", "example", "invalid", "onion", "home", "lan", "corp"}
)

# A bare host, or an http(s) URL without user, port, query and fragment. No two neighbouring parts match the same
# characters, so the time is linear.
_GIVEN = re.compile(r"(?:https?://)?([^\s/?#@:\\%\[\]]{1,253})(?:/[A-Za-z0-9._~/-]*)?", re.IGNORECASE)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class BadDomain(ValueError):
    """Text that names no domain that can be proven; the message says why."""


def domain_of(text: str) -> str:
    """Return the domain that a URL or bare host names; raises BadDomain.

    It is in lower-case ASCII (IDNA 2008 with UTS 46), without a final dot.
    """
    given = _GIVEN.fullmatch(text) if len(text) <= MAX_CHARACTERS else None
    if given is None:
        raise BadDomain("a domain name, such as agent.example.com; no port, user, query or fragment")
    try:
        domain = idna.encode(given[1], uts46=True, std3_rules=True).decode().removesuffix(".")
    except (idna.IDNAError, UnicodeError):
        raise BadDomain("not a name that IDNA 2008 allows") from None
    _judge(domain)
    return domain


def claim_text(brand: str, agent_id: str) -> str:
    """Return the text that the agent publishes."""
    return f"{brand}={agent_id}"


def dns_name(brand: str, domain: str) -> str:
    return f"_{brand}.{domain}"


def https_url(brand: str, domain: str) -> str:
    return f"https://{domain}/.well-known/{brand}.txt"


def in_records(records: list[bytes], wanted: str) -> bool:
    """Check whether a TXT record, with its strings joined, contains exactly this word."""
    return any(wanted.encode() in record.split() for record in records)


def in_file(body: bytes, wanted: str) -> bool:
    """Check whether a line of a file equals this text, apart from white space around it."""
    lines = body.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return any(line.strip() == wanted.encode() for line in lines)


def _judge(domain: str) -> None:
    labels = domain.split(".")
    if len(labels) < 2 or len(domain) > MAX_CHARACTERS or not all(map(_LABEL.fullmatch, labels)):
        raise BadDomain("a domain of at least two labels is needed, such as agent.example.com")
    if _is_address(domain):
        raise BadDomain("a domain name is needed, not an address")
    if labels[-1] in RESERVED:
        raise BadDomain(f"names under .{labels[-1]} belong to nobody")


def _is_address(domain: str) -> bool:
    """Check whether a resolver could take this for an address in any form (127.1, 0x7f.1)."""
    try:
        return address_in(domain) is not None
    except BadTarget:
        return True
