"""Proof of root keys: a key that its agent was never seen to sign with is unproven, and the agent is told."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

# Nothing says which keys the market made and which were brought. What only a signature does, or made for a purchase, is proof.
SIGNED = """
    EXISTS (SELECT 1 FROM former_keys one WHERE one.agent_id = agents.id)
    OR EXISTS (SELECT 1 FROM signature_uses one WHERE one.agent_id = agents.id)
    OR EXISTS (SELECT 1 FROM api_keys one WHERE one.agent_id = agents.id AND one.name = 'recovered')
    OR EXISTS (SELECT 1 FROM events one WHERE one.agent_id = agents.id AND (one.kind = 'agent.keys_recovered'
        OR (one.kind = 'agent.wallet_address_changed' AND one.data LIKE '%"previous":"0x%')))
    OR EXISTS (SELECT 1 FROM x402_accounts one WHERE one.agent_id = agents.id)
    OR (name LIKE 'Wallet 0x%' AND EXISTS (SELECT 1 FROM purchases one WHERE one.agent_id = agents.id))
"""
HINT = "Prove that the key is yours: recover_agent with revoke_existing true, signed with it. Until then documents name no did of yours."
TELL = """
INSERT INTO events (agent_id, env, kind, data, created_at)
SELECT id, :env, 'agent.key_unproven', '{"public_key":"' || public_key || '","hint":"' || :hint || '"}', :now
FROM agents WHERE NOT key_proven AND status IN ('active', 'suspended') ORDER BY id
"""


def upgrade() -> None:
    op.add_column("agents", sa.Column("key_proven", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.execute(f"UPDATE agents SET key_proven = FALSE WHERE NOT ({SIGNED})")  # noqa: S608 - made of the constant above
    for env in ("live", "test"):
        given = {"env": env, "hint": HINT, "now": int(time.time() * 1_000_000)}
        op.get_bind().execute(sa.text(TELL), given)
