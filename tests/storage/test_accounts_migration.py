"""Revision 0030: agents that a purchase created lose their API keys, and other agents keep theirs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.migrate import upgrade
from storage.postgres import Postgres
from storage.sqlite import SQLite
from tests.requirements import covers
from tests.support.earlier_revisions import at_revision

MADE, LATER = 1_795_000_000_000_000, 1_795_000_100_000_000  # microseconds
# For agents with a purchase: their other rows, and whether they have signed.
AGENTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "plain": [],
    "told": [("former_keys", {"public_key": "a" * 64, "retired_at": MADE})],
    "suspended": [],
    "registered": [],
    "rebound": [("wallets_held", {"address": "0xOther", "held_at": LATER})],
    "both": [("wallets", {"env": "live", "address": "0xLive", "bound_at": LATER})],
    "rotated": [
        ("former_keys", {"public_key": "b" * 64, "retired_at": MADE}),
        ("former_keys", {"public_key": "c" * 64, "retired_at": LATER}),
    ],
    "recovered": [("events", {"env": "test", "kind": "agent.keys_recovered", "data": "{}", "created_at": LATER})],
    "signed": [("signature_uses", {"use": "nonce", "used_at": LATER})],
    "seller": [],
    "deleted": [],
}
UNCLAIMED = {"plain": "unclaimed", "told": "unclaimed", "suspended": "suspended"}


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for number, (name, beside) in enumerate(AGENTS.items()):
        agent, address = f"agt_{name}", f"0xAb{number}"
        bound_at = LATER if name == "registered" else MADE
        yield "agents", {
            "id": agent, "version": 1, "handle": name, "name": "N", "capabilities": "[]", "tags": "[]",
            "endpoints": '{"webhook_url": "https://thief.example"}', "public_key": name, "trust_tier": 2,
            "first_party": False, "evaluator": True, "verified_domain": "thief.example", "known_as": "[]",
            "status": name if name in ("suspended", "deleted") else "active", "auth_epoch": 1, "created_at": MADE,
        }  # fmt: skip
        yield "agent_search", {"seq": number + 1, "agent_id": agent, "newest": 1000 - number, "tokens": f"a w{name}"}
        yield "api_keys", {
            "id": f"key_{name}", "version": 1, "agent_id": agent, "env": "test", "hash": name, "prefix": "as_test_",
            "scopes": "[]", "status": "active", "created_at": MADE,
        }  # fmt: skip
        held = {"agent_id": agent, "address": address}
        yield "wallets", {**held, "env": "test", "version": 1, "bound_at": bound_at}
        yield "wallets_held", {**held, "held_at": bound_at}
        yield "domains_held", {"domain": "thief.example", "agent_id": agent, "held_at": MADE}
        yield "webhooks", {
            "id": f"whk_{name}", "version": 1, "agent_id": agent, "env": "test", "source": "registered",
            "url": "https://thief.example", "event_types": "[]", "status": "active", "failures": 0, "since": 0,
            "created_at": MADE, "updated_at": MADE,
        }  # fmt: skip
        yield "purchases", {
            "id": f"pur_{name}", "version": 1, "env": "test", "payer": address.lower(), "nonce": f"0x{number}",
            "status": "paid", "listing_id": "lst_1", "fingerprint": "", "agent_id": agent, "job_id": f"job_{name}",
            "amount": 1, "pay_to": "0x1", "valid_before": 1, "scanned_to": 1, "settle_body": "{}", "created_at": MADE,
            "updated_at": MADE,
        }  # fmt: skip
        for table, row in beside:
            version = {} if table in ("former_keys", "wallets_held", "events") else {"version": 1}
            yield table, {"agent_id": agent, **version, **row}
    yield "listings", listing("agt_seller")


def listing(seller: str) -> dict[str, Any]:
    return {
        "id": "lst_1", "version": 1, "env": "test", "seller_id": seller, "title": "T", "description": "D",
        "category": "text", "tags": "[]", "pricing_model": "fixed", "price": 5, "payment": "on_delivery",
        "turnaround_seconds": 60, "accept_timeout_seconds": 60, "max_open_jobs": 1, "content_warnings": "[]",
        "status": "active", "graduated": False, "first_party": False, "stats": "{}", "rating_sum": 0, "timed_jobs": 0, "created_at": MADE, "updated_at": MADE,
    }  # fmt: skip


@covers("second.account.migration")
def test_agents_that_never_signed_become_unclaimed(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with at_revision("0029", rows(), database, tmp_path, request) as earlier:
        remember(earlier)
        upgrade(earlier)
        agents = {row.handle: row for row in read(earlier, "SELECT * FROM agents")}
        accounts = read(earlier, "SELECT * FROM x402_accounts ORDER BY agent_id")
        left = {
            table: {row.agent_id.removeprefix("agt_") for row in read(earlier, f"SELECT agent_id FROM {table} {which}")}
            for table, which in (
                ("api_keys", "WHERE status = 'active'"), ("wallets", ""), ("wallets_held", ""), ("domains_held", ""), ("webhooks", ""),
                ("agent_search", "WHERE tokens IS NOT NULL"),
            )
        }  # fmt: skip
        if isinstance(earlier, SQLite):
            found = read(earlier, "SELECT rowid FROM search_agents WHERE search_agents MATCH 'a'")
            assert {1000 - row.rowid for row in found} == {
                number for number, name in enumerate(AGENTS) if name not in UNCLAIMED
            }
    others = AGENTS.keys() - UNCLAIMED.keys()
    assert left == dict.fromkeys(left, others)
    assert [(one.agent_id, one.env, one.address, one.made_at, one.claimed_at) for one in accounts] == [
        (f"agt_{name}", "test", f"0xAb{[*AGENTS].index(name)}", MADE, None) for name in sorted(UNCLAIMED)
    ]
    assert {name: agents[name].status for name in UNCLAIMED} == UNCLAIMED
    assert {(agents[one].endpoints, agents[one].verified_domain, agents[one].trust_tier) for one in UNCLAIMED} == {
        ("{}", None, 1)
    }
    assert all(agents[one].auth_epoch == 2 and not agents[one].evaluator for one in UNCLAIMED)
    assert all(agents[one].auth_epoch == 1 and agents[one].evaluator for one in others)


def remember(database: SQLite | Postgres) -> None:
    """Fill SQLite's table for full-text search."""
    if isinstance(database, SQLite):
        with database.engine.begin() as connection:
            connection.execute(
                text("INSERT INTO search_agents (rowid, tokens) SELECT newest, tokens FROM agent_search")
            )


def read(database: SQLite | Postgres, sql: str) -> list[Any]:
    with database.engine.connect() as connection:
        return list(connection.execute(text(sql)))
