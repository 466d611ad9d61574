"""URLs that agents give for the market to call: their text is checked here, their address at each call."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from tools.engine.config import MarketConfig
from tools.engine.errors import InvalidRequest
from tools.kernel.ssrf_guard import BadTarget, judge_target

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def callable_url(config: MarketConfig, url: str, param: str) -> str:
    """Return the URL if the market may call it; otherwise raise InvalidRequest for `param`."""
    try:
        judge_target(url, config.allow_private_networks, own_places(config))
    except BadTarget as bad:
        message = f"{param}: {bad}"
        raise InvalidRequest(message, param=param, violations=[{"param": param, "message": str(bad)}]) from None
    return url


def callable_endpoints(config: MarketConfig, endpoints: Mapping[str, str | None]) -> None:
    """Refuse a profile whose webhook_url the market may not call; it calls no other endpoint."""
    url = endpoints.get("webhook_url")
    if url is not None:
        callable_url(config, url, "endpoints.webhook_url")


def own_places(config: MarketConfig) -> frozenset[tuple[str, int]]:
    """Return the market's own hosts and ports, to which it must not send requests."""
    parts = urlsplit(config.base_url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    return frozenset((name, port) for name in (LOOPBACK if host in LOOPBACK else (host,)))
