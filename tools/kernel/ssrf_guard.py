"""Outgoing requests to URLs from agents: which URLs are accepted, and which addresses may be dialled.

Python's `is_global` lets multicast, 6to4, NAT64, IPv4-compatible and other addresses through (seen on 3.11). So this
module lists the ranges of the IANA special-purpose registries that lead inside or nowhere.
"""

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass

MAX_URL_CHARACTERS = 2048
HTTPS_PORT = 443

_HOST = r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+"
_REST = r"[/?][A-Za-z0-9\-._~:/?@!$&'()*+,;=%\[\]]*"
URL_PATTERN = rf"(https?)://({_HOST})(?::([0-9]{{1,5}}))?({_REST})?"
_URL = re.compile(URL_PATTERN)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
        "2001::/32", "2002::/16", "3fff::/20",
    )
)  # fmt: skip
_UNICAST6 = ipaddress.ip_network("2000::/3")  # the only allocated part of IPv6; the rest translates or is reserved
_PRIVATE = tuple(
    ipaddress.ip_network(text)
    for text in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
)
_LOOPBACK = tuple(ipaddress.ip_network(text) for text in ("127.0.0.0/8", "::1/128"))


class BadTarget(ValueError):
    """A URL to which no outgoing request may go; the message says why."""


class UrlUnreachable(Exception):
    """An outgoing request that got no answer.

    `reason` is one word that agents may read. It reveals nothing about internal networks.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotAttempted(Exception):
    """An outgoing request that was not begun, because too many are under way here.

    It says nothing about the receiver.
    """


@dataclass(frozen=True, slots=True)
class Target:
    """The destination of a URL: host in lower case, an IPv6 address without its brackets."""

    scheme: str
    host: str
    port: int


def parse_target(url: str) -> Target:
    """Parse a URL into its destination; raises BadTarget.

    The only accepted form is http or https with an ASCII host, without user and fragment.
    """
    found = _URL.fullmatch(url)
    if found is None or len(url) > MAX_URL_CHARACTERS:
        raise BadTarget(f"an https URL of at most {MAX_URL_CHARACTERS} ASCII characters, without user and fragment")
    scheme, host, port = found[1], found[2].lower().removesuffix("."), int(found[3] or 0)
    host = host.removeprefix("[").removesuffix("]")
    if address_in(host) is None and not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise BadTarget("the host is neither a name nor an address")
    if len(host) > 253 or port > 65_535 or found[3] == "0":
        raise BadTarget("there is no such host or port")
    return Target(scheme, host, port or (HTTPS_PORT if scheme == "https" else 80))


def judge_target(url: str, allow_private: bool, own: Collection[tuple[str, int]] = ()) -> Target:
    """Return the destination of a URL if a request may go there; raises BadTarget.

    This judges only what the URL shows, not what its host resolves to. `own` has the market's own hosts and ports,
    which it must not call. With `allow_private`, loopback and private networks are accepted too, and http for loopback
    only.
    """
    target = parse_target(url)
    address, local = address_in(target.host), _is_localhost(target.host)
    if target.scheme == "http" and not (allow_private and (local or _within(address, _LOOPBACK))):
        raise BadTarget("https is needed")
    if address is not None and not is_allowed_address(target.host, target.port, allow_private):
        raise BadTarget("a public address and port 443 are needed")
    if address is None and not allow_private and (target.port != HTTPS_PORT or local or "." not in target.host):
        raise BadTarget("a public host name and port 443 are needed")
    if (target.host, target.port) in own:
        raise BadTarget("this is the market itself")
    return target


def is_allowed_address(address: str, port: int, allow_private: bool) -> bool:
    """Check whether a connection to this address may be made.

    Public addresses need port 443. Private ones need `allow_private`.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])  # a resolver appends an interface to a local address
    except ValueError:
        return False
    return (is_public(found) and port == HTTPS_PORT) or (allow_private and _within(found, _PRIVATE))


def is_public(address: Address) -> bool:
    """Check whether an address is public; an IPv4-mapped IPv6 address is judged as IPv4."""
    seen = _unmapped(address)
    given_out = seen.version == 4 or seen in _UNICAST6
    return given_out and seen.is_global and not _within(seen, _NOT_PUBLIC)


def address_in(host: str) -> Address | None:
    """Return the address that a host is, or None for a name.

    Raises BadTarget for a number in another form (127.1, 0x7f.1).
    """
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        if ":" in host or _NUMBER.fullmatch(host.rpartition(".")[2]):
            raise BadTarget("an address in its usual spelling is needed") from None
        return None


def _is_localhost(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _within(address: Address | None, networks: Collection[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    if address is None:
        return False
    seen = _unmapped(address)
    return any(seen in network for network in networks if network.version == seen.version)


def _unmapped(address: Address) -> Address:
    mapped = getattr(address, "ipv4_mapped", None)
    return address if mapped is None else mapped
