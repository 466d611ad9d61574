"""Draws of dispute panels, made again: from the database they were written to, or from the record of a closed case."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from server.settings import Settings
from storage.disputes import dispute_ids, draws_of_dispute
from storage.open import open_store
from storage.tables import DisputeRow, JobRow
from storage.unit import StorageError, Tx
from tools.rules.draw import drawn, faults, hash_of, list_text
from tools.steps.seats import panel_of

PAGE = 100
PATIENCE_SECONDS = 600.0

Finding = tuple[bool, str]


async def examine_draws(settings: Settings, dispute_id: str | None) -> int:
    """Print a line for each draw of the database, or of one dispute; 0 when all hold, else 1."""
    if settings.database_file is not None and not settings.database_file.exists():
        raise StorageError(f"{settings.database_file} is not there; `emporion serve` makes it")
    store = open_store(settings.database, scan_seconds=PATIENCE_SECONDS)
    worst, seen, after = 0, 0, ""
    try:
        while True:
            page = await store.scan(lambda tx: _page(tx, dispute_id, after))  # noqa: B023
            found = await store.scan(lambda tx: [line for one in page for line in findings(tx, one)])  # noqa: B023
            worst, seen = max(worst, _print(found)), seen + len(found)
            if dispute_id is not None or len(page) < PAGE:
                break
            after = page[-1]
    finally:
        store.close()
    if dispute_id is not None and not seen:
        print(f"WRONG {dispute_id}: there is no such dispute")
        return 1
    print(f"{seen} draws were made again.")
    return worst


def findings(tx: Tx, dispute_id: str) -> list[Finding]:
    """What the draws of one case come to when they are made again."""
    case = tx.get(DisputeRow, dispute_id)
    job = None if case is None else tx.get(JobRow, case.job_id)
    if case is None or job is None:
        return []
    seats = panel_of(tx, case).seats
    found = []
    for draw in tx.all(draws_of_dispute, dispute_id=dispute_id):
        sitting = [seat.agent_id for seat in seats if seat.round == draw.round]
        wrong = faults(job.panel_seed, draw.round, draw.eligible, draw.eligible_hash, draw.seats, sitting)
        twice = {seat.agent_id for seat in seats if seat.round < draw.round} & set(orjson.loads(draw.eligible))
        wrong += [f"{len(twice)} who had been drawn before were drawn from again"] if twice else []
        what = f"{dispute_id} round {draw.round}: {draw.seats} seats"
        found.append((not wrong, "; ".join([what, *wrong])))
    return found


def examine_record(record: Path, ids: Path) -> int:
    """The same for one closed case, from its record and a list of ids: which draw the list belongs to, and whom it seats."""
    return _print(list(_of_record(_json(record), _json(ids))))


def _of_record(shown: Mapping[str, Any], ids: Any) -> Iterator[Finding]:
    seed, draws = shown.get("panel_seed"), shown.get("draws")
    if not isinstance(seed, str) or not isinstance(draws, list):
        yield False, "the record shows no panel_seed and draws: they are shown once the case is closed"
        return
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        yield False, "the list of ids is a JSON array of agent ids"
        return
    try:
        secret = bytes.fromhex(seed)
    except ValueError:
        yield False, "panel_seed is not hex"
        return
    kept = hash_of(secret) == shown.get("panel_seed_hash")
    yield (
        kept,
        "the seed is " + ("the one" if kept else "not the one") + " whose hash stood on the job from its creation",
    )
    hashed = hash_of(list_text(ids))
    matching = [draw for draw in draws if draw.get("eligible_hash") == hashed]
    if not matching:
        yield False, f"none of the {len(draws)} draws was made from these {len(set(ids))} ids"
    for draw in matching:
        yield (
            True,
            f"round {draw['round']} was drawn from these ids; the seed seats {drawn(secret, draw['round'], ids, draw['seats'])}",
        )


def _json(path: Path) -> Any:
    try:
        return orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        raise OSError(f"{path} holds no JSON") from None


def _page(tx: Tx, dispute_id: str | None, after: str) -> list[str]:
    return [dispute_id] if dispute_id is not None else tx.all(dispute_ids, after=after, limit=PAGE)


def _print(found: list[Finding]) -> int:
    for well, sentence in found:
        print(("ok    " if well else "WRONG ") + sentence)
    return int(not all(well for well, _ in found))
