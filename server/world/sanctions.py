"""Sanctions lists from files: JSON arrays or one address a line; a damaged file keeps the list that was loaded before."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import structlog

from tools.ports import Screening

log = structlog.get_logger("emporion.sanctions")
ADDRESS = re.compile(r"0x[0-9a-f]{40}")


class SanctionsFiles:
    """The union of several files, read again when one changes."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        """ValueError with a sentence where one of them cannot be read: what was never loaded would screen nothing."""
        self.paths = paths
        self.lists: dict[Path, frozenset[str]] = {}
        self.read_at: dict[Path, int] = {}  # modification time of what was read, good or not
        self.reload()
        unread = [str(path) for path in paths if path not in self.lists]
        if unread:
            raise ValueError(f"no list of addresses could be read from {', '.join(unread)}")

    def names(self, address: str) -> bool:
        wanted = address.lower()
        return any(wanted in listed for listed in self.lists.values())

    def state(self) -> Screening | None:
        if not self.lists:
            return None
        newest = max(self.read_at[path] for path in self.lists)
        return Screening(len(frozenset().union(*self.lists.values())), datetime.fromtimestamp(newest / 1e9, UTC))

    def reload(self) -> None:
        """Read what changed since. Called at start and by the workers."""
        for path in self.paths:
            try:
                changed = path.stat().st_mtime_ns
                if self.read_at.get(path) == changed:
                    continue
                self.read_at[path] = changed
                self.lists[path] = _addresses(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                log.error("sanctions list not read, the last good one is kept", path=str(path), error=str(error))


def _addresses(text: str) -> frozenset[str]:
    """The EVM addresses of a list; ValueError where it is neither a JSON array of strings nor lines of text."""
    if text.lstrip().startswith(("[", "{")):
        items = json.loads(text)
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise ValueError("a JSON list of addresses was expected")
    else:
        items = [line.split("#")[0].strip() for line in text.splitlines()]
    found = frozenset(item.lower() for item in items if ADDRESS.fullmatch(item.lower()))
    if not found and any(items):
        raise ValueError("no EVM address was found")
    return found
