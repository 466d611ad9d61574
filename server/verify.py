"""`emporion verify`: check the signed documents and revealed outputs of a file offline."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from server.archive_checks import checked_archive
from tools.jobs.signed_documents import Checked, all_checked

MAX_BYTES = 1024 * 1024 * 1024
SIGNER = "/.well-known/agent-registration.json"  # names the market's did


class Unreadable(Exception):
    """The file contains nothing to check; the message says why."""


def verify(path: Path, now: datetime, trusted: str | None = None, retired: Path | None = None) -> int:
    """Print one line for each signed document and revealed output; return 0 if all are valid.

    `path` - is standard input, and a folder is an archive. `retired` is the market's retired-keys.json: signatures by these keys are invalid.
    """
    replaced = _keys_of(retired) if retired else {}
    checks = checked_archive(path, now, trusted, replaced) if path.is_dir() else None
    found = list(checks or all_checked(_read(path), now, trusted, replaced))
    if not found:
        raise Unreadable(f"{path}: holds no signed receipt or attestation, and no job with its output_salt")
    for one in found:
        print(_line(one))
    signers = sorted({one.did for one in found if one.fault is None and one.did})
    for did in signers if trusted is None else ():
        print(f"signed by {did}: compare it with extension.did of {SIGNER} at the market's own address, or pass --did")
    return 1 if any(one.fault for one in found) else 0


def _keys_of(path: Path) -> dict[str, str]:
    """Return the keys of a retired-keys.json by DID, with the times of their retirement."""
    told = _read(path)
    try:
        return {str(key["did"]): str(key["retired_at"]) for key in told["keys"]}
    except (KeyError, TypeError):
        raise Unreadable(f"{path}: not the retired-keys.json of a market") from None


def _line(one: Checked) -> str:
    return f"{'VALID  ' if one.fault is None else 'INVALID'} {one.kind} {_shown(one.about)}" + (
        f": {_shown(one.fault)}" if one.fault else ""
    )


def _shown(text: str) -> str:
    """Escape a text of the file, so that it cannot send control sequences to the terminal."""
    return text.encode("unicode_escape").decode()


def _read(path: Path) -> Any:
    try:
        with sys.stdin.buffer if str(path) == "-" else path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise Unreadable(f"{path}: more than {MAX_BYTES} bytes")
        orjson.loads(raw)  # limits the nesting, so that the reader below cannot overflow the stack
        return json.loads(raw, object_pairs_hook=_members)
    except (ValueError, RecursionError) as bad:
        raise Unreadable(f"{path}: not JSON that means one thing: {_shown(str(bad))}") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, and refuse duplicate names: JSON readers disagree about which one counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice in one object")
    return found
