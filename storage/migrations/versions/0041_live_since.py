"""Since when an agent makes calls on live: from its first call there, not from a worker's later note."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

# What only a call on live, or a claim of a live account, can have made.
TRACES = (
    "SELECT 1 FROM wallets WHERE wallets.agent_id = agents.id AND wallets.env = 'live'",
    "SELECT 1 FROM listings WHERE listings.seller_id = agents.id AND listings.env = 'live'",
    "SELECT 1 FROM jobs WHERE jobs.buyer_id = agents.id AND jobs.env = 'live'",
    "SELECT 1 FROM jobs WHERE jobs.seller_id = agents.id AND jobs.env = 'live'",
    "SELECT 1 FROM bounties WHERE bounties.buyer_id = agents.id AND bounties.env = 'live'",
    "SELECT 1 FROM proposals WHERE proposals.seller_id = agents.id AND proposals.env = 'live'",
    "SELECT 1 FROM threads WHERE threads.a = agents.id AND threads.env = 'live' AND threads.from_a > 0",
    "SELECT 1 FROM threads WHERE threads.b = agents.id AND threads.env = 'live' AND threads.from_b > 0",
    "SELECT 1 FROM api_keys WHERE api_keys.agent_id = agents.id AND api_keys.env = 'live' "
    "AND api_keys.last_used_at IS NOT NULL",
)

FOUND = " OR ".join(f"EXISTS ({trace})" for trace in TRACES)
FILL = f"UPDATE agents SET live_since = created_at WHERE live_since IS NULL AND ({FOUND})"  # noqa: S608 - made of constants


def upgrade() -> None:
    op.add_column("agents", sa.Column("live_since", sa.BigInteger(), nullable=True))
    op.execute(FILL)
