"""URLs that agents give for the market to call: their text is checked here, their address at each call."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from tools.engine.config import MarketConfig
from tools.engine.errors import InvalidRequest
from tools.kernel.ssrf_guard import BadTarget, judge_target

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def callable_url(house: MarketConfig, url: str, param: str) -> str:
    """Return the URL if the market may call it; otherwise raise InvalidRequest for `param`."""
    try:
        judge_target(url, house.allow_private_networks, own_places(house))
    except BadTarget as bad:
        message = f"{param}: {bad}"
        raise InvalidRequest(message, param=param, violations=[{"param": param, "message": str(bad)}]) from None
    return url


def callable_endpoints(house: MarketConfig, endpoints: Mapping[str, str | None]) -> None:
    """Refuse a profile whose webhook_url the market may not call; it calls no other endpoint."""
    url = endpoints.get("webhook_url")
    if url is not None:
        callable_url(house, url, "endpoints.webhook_url")


def own_places(house: MarketConfig) -> frozenset[tuple[str, int]]:
    """Return the market's own hosts and ports, to which it must not send requests."""
    parts = urlsplit(house.base_url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    return frozenset((name, port) for name in (LOOPBACK if host in LOOPBACK else (host,)))
