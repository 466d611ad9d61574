"""Revision 0019: the names of agents that disputes stored are moved to the agents."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.migrate import upgrade
from tests.support.earlier_revisions import at_revision
from tools.agents.aliases import KnownAs, read_known

BEGAN = datetime(2026, 11, 1, 12, 30, 15, 250_000, tzinfo=UTC)
CASES = {
    "a": {"buyer": {"marks": ["agt_b"], "words": ["bo", "bo.example"], "names": ["Bo"]}, "seller": {"names": ["Sela"]}},
    "b": {"seller": {"marks": [], "words": [], "names": ["太郎"]}},
}


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    began = int(BEGAN.timestamp() * 1_000_000)
    for agent in ("agt_b", "agt_s", "agt_other"):
        yield "agents", {
            "id": agent, "version": 1, "handle": agent, "name": "N", "capabilities": "[]", "tags": "[]", "endpoints": "{}",
            "public_key": agent, "trust_tier": 0, "first_party": False, "evaluator": False, "status": "active",
            "auth_epoch": 1, "created_at": began,
        }  # fmt: skip
    for case, names in CASES.items():
        yield "disputes", {
            "id": case, "version": 1, "env": "test", "job_id": case, "buyer_id": "agt_b", "seller_id": "agt_s",
            "status": "panel", "round": 1, "seats": 3, "title": "", "category": "", "reason": "", "created_at": began,
            "names": json.dumps(names),
        }  # fmt: skip


def test_what_cases_kept_of_names_stands_with_the_agents(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with at_revision("0018", rows(), database, tmp_path, request) as earlier:
        upgrade(earlier)
        with earlier.engine.connect() as connection:
            found = {row.id: row.known_as for row in connection.execute(text("SELECT id, known_as FROM agents"))}
    assert {agent: read_known(known) for agent, known in found.items()} == {
        "agt_b": [KnownAs("Bo", False, BEGAN), KnownAs("bo.example", True, BEGAN)],
        "agt_s": [KnownAs("Sela", False, BEGAN), KnownAs("太郎", False, BEGAN)],
        "agt_other": [],
    }
