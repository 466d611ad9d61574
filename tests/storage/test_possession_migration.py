"""Revision 0033: the root keys that count as proven, and the notices about the others."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.migrate import upgrade
from tests.requirements import covers
from tests.support.earlier_revisions import at_revision

AGENTS = ("agt_rotated", "agt_signed", "agt_recovered", "agt_rebound", "agt_buyer", "agt_silent", "agt_gone")
UNPROVEN = {"agt_silent", "agt_gone"}


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for agent in AGENTS:
        yield "agents", {
            "id": agent, "version": 1, "handle": agent, "name": "Wallet 0x1" if agent == "agt_buyer" else "N",
            "capabilities": "[]", "tags": "[]", "endpoints": "{}", "public_key": f"{agent}-key", "trust_tier": 0,
            "first_party": False, "evaluator": False, "status": "deleted" if agent == "agt_gone" else "active",
            "auth_epoch": 1, "created_at": 1,
        }  # fmt: skip
    yield "former_keys", {"public_key": "old", "agent_id": "agt_rotated", "retired_at": 1}
    yield "signature_uses", {"agent_id": "agt_signed", "version": 1, "use": "u", "used_at": 1}
    said = {"agent.keys_recovered": "agt_recovered", "agent.wallet_address_changed": "agt_rebound"}
    for kind, agent in said.items():
        data = json.dumps({"previous": "0x1"}, separators=(",", ":"))
        yield "events", {"agent_id": agent, "env": "test", "kind": kind, "data": data, "created_at": 1}
    first = json.dumps({"previous": None}, separators=(",", ":"))
    kind = "agent.wallet_address_changed"
    yield "events", {"agent_id": "agt_silent", "env": "test", "kind": kind, "data": first, "created_at": 1}
    yield "purchases", {
        "id": "p", "version": 1, "env": "test", "payer": "0x1", "nonce": "0x2", "status": "paid", "listing_id": "l",
        "fingerprint": "f", "agent_id": "agt_buyer", "job_id": "j", "amount": 1, "pay_to": "0x3", "valid_before": 1,
        "scanned_to": 1, "settle_body": "{}", "created_at": 1, "updated_at": 1,
    }  # fmt: skip


@covers("second.possession.migration", "event.kind.agent.key_unproven")
def test_keys_that_signed_are_proven_and_others_are_told(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with at_revision("0032", rows(), database, tmp_path, request) as earlier:
        upgrade(earlier)
        with earlier.engine.connect() as connection:
            unproven = connection.execute(text("SELECT id FROM agents WHERE NOT key_proven")).scalars().all()
            told = connection.execute(text("SELECT * FROM events WHERE kind = 'agent.key_unproven'")).mappings().all()
    assert set(unproven) == UNPROVEN
    assert sorted((one["agent_id"], one["env"]) for one in told) == [("agt_silent", "live"), ("agt_silent", "test")]
    assert json.loads(told[0]["data"])["public_key"] == "agt_silent-key"
