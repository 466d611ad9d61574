"""URLs agents give for the market to call: refused where they are said, as far as the text shows; judged again when called."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from tools.errors import InvalidRequest
from tools.house import House
from tools.rules.outgoing import BadTarget, judge_target

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def callable_url(house: House, url: str, param: str) -> str:
    """The URL, if the market may call it; InvalidRequest that names the field."""
    try:
        judge_target(url, house.allow_private_networks, own_places(house))
    except BadTarget as bad:
        message = f"{param}: {bad}"
        raise InvalidRequest(message, param=param, violations=[{"param": param, "message": str(bad)}]) from None
    return url


def callable_endpoints(house: House, endpoints: Mapping[str, str | None]) -> None:
    """Refuse a profile whose webhook_url the market may not call. The other endpoints are for others to call."""
    url = endpoints.get("webhook_url")
    if url is not None:
        callable_url(house, url, "endpoints.webhook_url")


def own_places(house: House) -> frozenset[tuple[str, int]]:
    """The hosts and ports this market answers at: what it posts must not come back to it."""
    parts = urlsplit(house.base_url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    return frozenset((name, port) for name in (LOOPBACK if host in LOOPBACK else (host,)))
