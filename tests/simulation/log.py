"""The event log of a run: one line for each thing that happens, and the hash of all lines."""

from collections import deque
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import Any, TextIO

import orjson

KEPT = 200_000  # lines for the story of a failure


class EventLog:
    """Lines of a time, a kind and details, as JSON; the last ones are kept."""

    def __init__(self, now: Callable[[], datetime], file: TextIO | None = None) -> None:
        self.now, self.file = now, file
        self.hash = sha256()
        self.last = deque[bytes](maxlen=KEPT)

    def write(self, kind: str, **details: Any) -> None:
        line = orjson.dumps({"at": self.now().isoformat(), "kind": kind, **details}, default=str)
        self.hash.update(line + b"\n")
        self.last.append(line)
        if self.file is not None:
            self.file.write(line.decode() + "\n")

    @property
    def digest(self) -> str:
        return self.hash.hexdigest()
