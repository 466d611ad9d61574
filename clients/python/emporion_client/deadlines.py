"""A deadline for a whole call over blocking HTTP, because a timeout of httpx begins again with each byte."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

_ends = threading.local()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Let reads of this thread raise ReadTimeout once the time is over."""
    _ends.at = time.monotonic() + seconds
    try:
        yield
    finally:
        _ends.at = None


def with_deadlines(http: httpx.Client) -> httpx.Client:
    """Make a client keep the deadlines of its threads; return it."""
    for transport in (http._transport, *http._mounts.values()):  # noqa: SLF001 - httpx has no public way
        pool = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = _Backend(pool._network_backend)  # noqa: SLF001
    return http


class _Backend:
    """Opens connections whose reads keep the deadline, as httpcore's network backends do."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def connect_tcp(self, *place: Any, **options: Any) -> "_Stream":
        return _Stream(self._plain.connect_tcp(*place, **options))

    def connect_unix_socket(self, *place: Any, **options: Any) -> "_Stream":
        return _Stream(self._plain.connect_unix_socket(*place, **options))

    def sleep(self, seconds: float) -> None:
        self._plain.sleep(seconds)


class _Stream:
    """A connection whose reads keep the deadline of the thread that reads."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        end = getattr(_ends, "at", None)
        if end is not None:
            left = end - time.monotonic()
            if left <= 0:
                raise httpx.ReadTimeout("the answer does not end")
            timeout = left if timeout is None else min(timeout, left)
        return self._plain.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._plain.write(buffer, timeout)

    def close(self) -> None:
        self._plain.close()

    def start_tls(self, *given: Any, **options: Any) -> "_Stream":
        return _Stream(self._plain.start_tls(*given, **options))

    def get_extra_info(self, info: str) -> Any:
        return self._plain.get_extra_info(info)
