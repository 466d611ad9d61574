"""A payment is not a login: agents that a purchase made have no keys and no wallet until their wallet claims them."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

UNCLAIMED = sa.text("claimed_at IS NULL")

# Until now a purchase made the agent and bound the wallet in one unit of work, at one time. A wallet that was bound by a
# signature is bound later than its agent was made. A root key that signed has left a trace: another key after the one
# that the purchase showed, a recovered API key, a use of its signature, or an event.
MADE = """
SELECT agents.id, agents.created_at, wallets_held.address, min(purchases.env) AS env
FROM agents
JOIN wallets_held ON wallets_held.agent_id = agents.id AND wallets_held.held_at = agents.created_at
JOIN purchases ON purchases.agent_id = agents.id AND purchases.payer = lower(wallets_held.address)
WHERE agents.status <> 'deleted'
AND NOT EXISTS (SELECT 1 FROM wallets WHERE wallets.agent_id = agents.id AND wallets.bound_at <> agents.created_at)
AND NOT EXISTS (SELECT 1 FROM wallets_held AS later
    WHERE later.agent_id = agents.id AND later.held_at <> agents.created_at)
AND NOT EXISTS (SELECT 1 FROM listings WHERE listings.seller_id = agents.id)
AND NOT EXISTS (SELECT 1 FROM api_keys WHERE api_keys.agent_id = agents.id AND api_keys.name = 'recovered')
AND NOT EXISTS (SELECT 1 FROM signature_uses WHERE signature_uses.agent_id = agents.id)
AND NOT EXISTS (SELECT 1 FROM events
    WHERE events.agent_id = agents.id AND events.kind IN ('agent.key_rotated', 'agent.keys_recovered'))
AND (SELECT count(*) FROM former_keys WHERE former_keys.agent_id = agents.id) <= 1
GROUP BY agents.id, agents.created_at, wallets_held.address
ORDER BY agents.id
"""
ACCOUNT = """
INSERT INTO x402_accounts (agent_id, version, env, address, made_at)
VALUES (:id, 1, :env, :address, :created_at)
"""
# Whoever had the keys may have had events sent elsewhere, or shown a domain as the agent's: none of it is the wallet's.
TAKEN_BACK = (
    "UPDATE agents SET status = CASE status WHEN 'active' THEN 'unclaimed' ELSE status END, "
    "auth_epoch = auth_epoch + 1, version = version + 1, endpoints = '{}', evaluator = :no, verified_domain = NULL, "
    "erc8004 = NULL, trust_tier = CASE WHEN trust_tier > 1 THEN 1 ELSE trust_tier END WHERE id = :id",
    "UPDATE api_keys SET status = 'revoked', version = version + 1 WHERE agent_id = :id",
    "DELETE FROM wallets WHERE agent_id = :id",
    "DELETE FROM wallets_held WHERE agent_id = :id",
    "DELETE FROM webhooks WHERE agent_id = :id",
    "DELETE FROM agent_domains WHERE agent_id = :id",
    "DELETE FROM domains_held WHERE agent_id = :id",
    "DELETE FROM identities WHERE agent_id = :id",
)
FOUND = "SELECT newest, tokens FROM agent_search WHERE agent_id = :id AND tokens IS NOT NULL"
FORGOTTEN = "INSERT INTO search_agents (search_agents, rowid, tokens) VALUES ('delete', :newest, :tokens)"
HIDDEN = "UPDATE agent_search SET newest = NULL, tokens = NULL WHERE agent_id = :id"


def upgrade() -> None:
    op.create_table(
        "x402_accounts",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("claimed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_x402_accounts")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_x402_accounts_unclaimed"),
        "x402_accounts",
        ["env", "address"],
        unique=True,
        sqlite_where=UNCLAIMED,
        postgresql_where=UNCLAIMED,
    )
    connection = op.get_bind()
    known = set[tuple[str, str]]()
    for made in connection.execute(sa.text(MADE)).mappings().all():
        place = made["env"], made["address"]
        if place not in known:
            known.add(place)
            connection.execute(sa.text(ACCOUNT), dict(made))
        _take_back(connection, made["id"])


def _take_back(connection: sa.Connection, agent_id: str) -> None:
    """End the agent's keys and what they could have set, and hide it from search."""
    given: dict[str, Any] = {"id": agent_id, "no": False}
    for statement in TAKEN_BACK:
        connection.execute(sa.text(statement), given if ":no" in statement else {"id": agent_id})
    found = connection.execute(sa.text(FOUND), {"id": agent_id}).mappings().first()
    if found is not None and connection.dialect.name == "sqlite":
        connection.execute(sa.text(FORGOTTEN), dict(found))
    connection.execute(sa.text(HIDDEN), {"id": agent_id})
