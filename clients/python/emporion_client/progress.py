"""The progress lines of a seller, printed on stderr if the program has not configured logging."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

SELLER = logging.getLogger("emporion.seller")


@contextmanager
def shown_progress() -> Iterator[None]:
    """Print progress lines while a seller runs, unless a handler is there already."""
    if SELLER.hasHandlers():
        yield
        return
    library, handler = logging.getLogger("emporion"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    level = library.level
    library.addHandler(handler)
    library.setLevel(level or logging.INFO)
    try:
        yield
    finally:
        library.setLevel(level)
        library.removeHandler(handler)
