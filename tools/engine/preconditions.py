"""Further errors of a refused call: its other checks run too, so that one answer lists all failures."""

from collections.abc import Callable, Iterable

import structlog

from storage.store import Store
from storage.transaction import StorageError, Tx
from tools.kernel.errors import ErrorCollector, MarketError

log = structlog.get_logger("emporion.hurdles")
Checks = Callable[[Tx], Iterable[Callable[[], object]]]


async def collect_failures(store: Store, checks: Checks, error: MarketError) -> None:
    """Add the errors of the other checks to a refusal, without duplicates."""
    try:
        found = await store.read(lambda tx: _failing(checks(tx)))
    except MarketError:  # the caller may not see what the call is about
        return
    except StorageError as outage:
        log.warning("storage", error=type(outage).__name__)
        return
    known = {(one.code, one.message) for one in (error, *error.other_failures)}
    error.other_failures += tuple(one for one in found if (one.code, one.message) not in known)


def _failing(checks: Iterable[Callable[[], object]]) -> list[MarketError]:
    faults = ErrorCollector()
    for check in checks:
        with faults.catch():
            check()
    return faults.found
