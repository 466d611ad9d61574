"""`emporion draw`: repeat the draws of dispute panels, from the database or from the record of a closed case."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from server.findings import Findings
from server.settings import Settings
from storage.disputes import dispute_ids
from storage.open import open_store
from storage.transaction import StorageError, Tx
from tools.jobs.disputes.draw_rules import draw_seats, drawn_again, hash_of, list_text, pairs_text
from tools.jobs.disputes.draws import faults_of_draws

PAGE = 100
PATIENCE_SECONDS = 600.0

Finding = tuple[bool, str]


async def examine_draws(settings: Settings, dispute_id: str | None) -> int:
    """Check each draw of the database, or of one dispute; return 1 if one is wrong."""
    if settings.database_file is not None and not settings.database_file.exists():
        raise StorageError(f"{settings.database_file} is not there; `emporion serve` makes it")
    said, seen, after = Findings(), 0, ""
    with closing(open_store(settings.session_database, scan_seconds=PATIENCE_SECONDS)) as store:
        while True:
            page = await store.scan(lambda tx: _page(tx, dispute_id, after))  # noqa: B023
            found = await store.scan(lambda tx: [line for one in page for line in findings(tx, one)])  # noqa: B023
            seen += len(found)
            for finding in found:
                said.add(*finding)
            if dispute_id is not None or len(page) < PAGE:
                break
            after = page[-1]
    if dispute_id is not None and not seen:
        said.add(False, f"{dispute_id}: there is no such dispute")
        return said.exit_code
    print(f"{seen} draws were made again.")
    return said.exit_code


def findings(tx: Tx, dispute_id: str) -> list[Finding]:
    """Repeat the draws of one case and list the differences from the stored results."""
    return [
        (not wrong, "; ".join([f"{dispute_id} round {draw.round}: {draw.seats} seats", *wrong]))
        for draw, wrong in faults_of_draws(tx, dispute_id)
    ]


def examine_record(record: Path, ids: Path, pairs: Path | None = None) -> int:
    """Check one draw of a closed case; `pairs` is needed since version 2."""
    said = Findings()
    for finding in _of_record(_json(record), _json(ids), [] if pairs is None else _json(pairs)):
        said.add(*finding)
    return said.exit_code


def _of_record(shown: Mapping[str, Any], ids: Any, pairs: Any) -> Iterator[Finding]:
    seed, draws = shown.get("panel_seed"), shown.get("draws")
    if not isinstance(seed, str) or not isinstance(draws, list):
        yield False, "the record shows no panel_seed and draws: they are shown once the case is closed"
        return
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        yield False, "the list of ids is a JSON array of agent ids"
        return
    if not _are_pairs(pairs):
        yield False, "the related pairs are a JSON array of arrays of two agent ids"
        return
    try:
        secret = bytes.fromhex(seed)
    except ValueError:
        yield False, "panel_seed is not hex"
        return
    kept = hash_of(secret) == shown.get("panel_seed_hash")
    which = "the one" if kept else "not the one"
    yield kept, f"the seed is {which} whose hash stood on the job from its creation"
    hashed = hash_of(list_text(ids))
    matching = [draw for draw in draws if draw.get("eligible_hash") == hashed]
    if not matching:
        yield False, f"none of the {len(draws)} draws was made from these {len(set(ids))} ids"
    for draw in matching:
        yield _of_draw(secret, draw, ids, pairs)


def _of_draw(secret: bytes, draw: Mapping[str, Any], ids: list[str], pairs: list[list[str]]) -> Finding:
    number, wanted = draw["round"], draw.get("wanted") or draw["seats"]
    if draw.get("version", 1) == 1:
        seated = draw_seats(secret, number, ids, draw["seats"])
    elif hash_of(pairs_text(pairs)) != draw["related_hash"]:
        return False, f"round {number} was drawn from these ids, but the pairs are not those it met: give --pairs"
    else:
        seated = drawn_again(secret, number, ids, pairs, wanted)
    # On live a first panel that could not be filled has no seats at all.
    if len(seated) != draw["seats"] and (draw["seats"] or len(seated) >= wanted):
        return False, f"round {number} was drawn from these ids; the seed seats {seated}, not {draw['seats']}"
    return True, f"round {number} was drawn from these ids; the seed seats {seated[: draw['seats']]}"


def _are_pairs(pairs: Any) -> bool:
    return isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair) for pair in pairs
    )


def _json(path: Path) -> Any:
    try:
        return orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        raise OSError(f"{path} holds no JSON") from None


def _page(tx: Tx, dispute_id: str | None, after: str) -> list[str]:
    return [dispute_id] if dispute_id is not None else tx.all(dispute_ids, after=after, limit=PAGE)
