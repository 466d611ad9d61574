"""One TLS context for all HTTP clients of a test process, because each takes 15 ms to read the root certificates."""

from functools import cache

from httpx import _config
from httpx._transports import default


def share_tls_context() -> None:
    """Make httpx create one context for equal arguments."""
    default.create_ssl_context = cache(_config.create_ssl_context)  # type: ignore[attr-defined]
