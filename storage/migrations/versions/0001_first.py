"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('agents',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('version', sa.BigInteger(), nullable=False),
    sa.Column('handle', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('description', sa.Text(), nullable=True),
    sa.Column('capabilities', sa.Text(), nullable=False),
    sa.Column('tags', sa.Text(), nullable=False),
    sa.Column('public_key', sa.Text(), nullable=False),
    sa.Column('endpoints', sa.Text(), nullable=False),
    sa.Column('framework', sa.Text(), nullable=True),
    sa.Column('metadata_json', sa.Text(), nullable=True),
    sa.Column('referred_by', sa.Text(), nullable=True),
    sa.Column('trust_tier', sa.BigInteger(), nullable=False),
    sa.Column('first_party', sa.Boolean(), nullable=False),
    sa.Column('evaluator', sa.Boolean(), nullable=False),
    sa.Column('verified_domain', sa.Text(), nullable=True),
    sa.Column('status', sa.Text(), nullable=False),
    sa.Column('auth_epoch', sa.BigInteger(), nullable=False),
    sa.Column('created_at', sa.BigInteger(), nullable=False),
    sa.Column('last_seen_at', sa.BigInteger(), nullable=True),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_agents')),
    sa.UniqueConstraint('handle', name=op.f('uq_agents_handle')),
    sa.UniqueConstraint('public_key', name=op.f('uq_agents_public_key')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_table('answers',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('env', sa.Text(), nullable=False),
    sa.Column('key_hash', sa.Text(), nullable=False),
    sa.Column('operation', sa.Text(), nullable=False),
    sa.Column('fingerprint', sa.Text(), nullable=False),
    sa.Column('status', sa.BigInteger(), nullable=False),
    sa.Column('sealed', sa.Boolean(), nullable=False),
    sa.Column('body', sa.LargeBinary(), nullable=False),
    sa.Column('created_at', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('owner', 'env', 'key_hash', name=op.f('pk_answers')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_answers_created_at'), 'answers', ['created_at'], unique=False)
    op.create_table('api_keys',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('version', sa.BigInteger(), nullable=False),
    sa.Column('agent_id', sa.Text(), nullable=False),
    sa.Column('env', sa.Text(), nullable=False),
    sa.Column('hash', sa.Text(), nullable=False),
    sa.Column('prefix', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), nullable=True),
    sa.Column('scopes', sa.Text(), nullable=False),
    sa.Column('status', sa.Text(), nullable=False),
    sa.Column('last_used_at', sa.BigInteger(), nullable=True),
    sa.Column('expires_at', sa.BigInteger(), nullable=True),
    sa.Column('created_at', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_api_keys')),
    sa.UniqueConstraint('hash', name=op.f('uq_api_keys_hash')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_api_keys_agent_id_id'), 'api_keys', ['agent_id', 'id'], unique=False)
    op.create_table('documents',
    sa.Column('hash', sa.Text(), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.PrimaryKeyConstraint('hash', name=op.f('pk_documents')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_table('events',
    sa.Column('id', sa.BigInteger(), nullable=False),
    sa.Column('agent_id', sa.Text(), nullable=False),
    sa.Column('env', sa.Text(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False),
    sa.Column('data', sa.Text(), nullable=False),
    sa.Column('created_at', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_events')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_events_agent_id_env_id'), 'events', ['agent_id', 'env', 'id'], unique=False)
    op.create_index(op.f('ix_events_created_at'), 'events', ['created_at'], unique=False)
    op.create_table('house',
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('value', sa.Text(), nullable=False),
    sa.PrimaryKeyConstraint('name', name=op.f('pk_house')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_table('job_events',
    sa.Column('id', sa.BigInteger(), nullable=False),
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('type', sa.Text(), nullable=False),
    sa.Column('actor_id', sa.Text(), nullable=True),
    sa.Column('data', sa.Text(), nullable=True),
    sa.Column('created_at', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_job_events')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_job_events_job_id_id'), 'job_events', ['job_id', 'id'], unique=False)
    op.create_table('jobs',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('version', sa.BigInteger(), nullable=False),
    sa.Column('env', sa.Text(), nullable=False),
    sa.Column('listing_id', sa.Text(), nullable=True),
    sa.Column('bounty_id', sa.Text(), nullable=True),
    sa.Column('buyer_id', sa.Text(), nullable=False),
    sa.Column('seller_id', sa.Text(), nullable=False),
    sa.Column('thread_id', sa.Text(), nullable=False),
    sa.Column('status', sa.Text(), nullable=False),
    sa.Column('closed_as', sa.Text(), nullable=True),
    sa.Column('cancel_reason', sa.Text(), nullable=True),
    sa.Column('dispute_reason', sa.Text(), nullable=True),
    sa.Column('dispute_id', sa.Text(), nullable=True),
    sa.Column('outcome', sa.Text(), nullable=True),
    sa.Column('resolved_by', sa.Text(), nullable=True),
    sa.Column('resolution_note', sa.Text(), nullable=True),
    sa.Column('title', sa.Text(), nullable=False),
    sa.Column('category', sa.Text(), nullable=False),
    sa.Column('pricing_model', sa.Text(), nullable=False),
    sa.Column('payment', sa.Text(), nullable=False),
    sa.Column('units', sa.BigInteger(), nullable=False),
    sa.Column('price', sa.BigInteger(), nullable=True),
    sa.Column('quoted_price', sa.BigInteger(), nullable=True),
    sa.Column('quote_message', sa.Text(), nullable=True),
    sa.Column('turnaround_seconds', sa.BigInteger(), nullable=False),
    sa.Column('accept_timeout_seconds', sa.BigInteger(), nullable=False),
    sa.Column('max_revisions', sa.BigInteger(), nullable=False),
    sa.Column('revision_count', sa.BigInteger(), nullable=False),
    sa.Column('first_party', sa.Boolean(), nullable=False),
    sa.Column('input', sa.Text(), nullable=False),
    sa.Column('input_schema', sa.Text(), nullable=True),
    sa.Column('output_schema', sa.Text(), nullable=True),
    sa.Column('output', sa.Text(), nullable=True),
    sa.Column('output_bytes', sa.BigInteger(), nullable=True),
    sa.Column('output_preview', sa.Text(), nullable=True),
    sa.Column('content_warnings', sa.Text(), nullable=False),
    sa.Column('panel_seed', sa.LargeBinary(), nullable=False),
    sa.Column('head_at_order', sa.BigInteger(), nullable=True),
    sa.Column('pay_to', sa.Text(), nullable=True),
    sa.Column('pay_from', sa.Text(), nullable=True),
    sa.Column('accept_by', sa.BigInteger(), nullable=True),
    sa.Column('pay_by', sa.BigInteger(), nullable=True),
    sa.Column('deliver_by', sa.BigInteger(), nullable=True),
    sa.Column('review_by', sa.BigInteger(), nullable=True),
    sa.Column('created_at', sa.BigInteger(), nullable=False),
    sa.Column('accepted_at', sa.BigInteger(), nullable=True),
    sa.Column('delivered_at', sa.BigInteger(), nullable=True),
    sa.Column('completed_at', sa.BigInteger(), nullable=True),
    sa.Column('updated_at', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_jobs')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_jobs_buyer_id_env_id'), 'jobs', ['buyer_id', 'env', 'id'], unique=False)
    op.create_index(op.f('ix_jobs_listing_id_status'), 'jobs', ['listing_id', 'status'], unique=False)
    op.create_index(op.f('ix_jobs_seller_id_env_id'), 'jobs', ['seller_id', 'env', 'id'], unique=False)
    op.create_index(op.f('ix_jobs_status_accept_by'), 'jobs', ['status', 'accept_by'], unique=False)
    op.create_index(op.f('ix_jobs_status_deliver_by'), 'jobs', ['status', 'deliver_by'], unique=False)
    op.create_index(op.f('ix_jobs_status_pay_by'), 'jobs', ['status', 'pay_by'], unique=False)
    op.create_index(op.f('ix_jobs_status_review_by'), 'jobs', ['status', 'review_by'], unique=False)
    op.create_table('listings',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('version', sa.BigInteger(), nullable=False),
    sa.Column('env', sa.Text(), nullable=False),
    sa.Column('seller_id', sa.Text(), nullable=False),
    sa.Column('title', sa.Text(), nullable=False),
    sa.Column('description', sa.Text(), nullable=False),
    sa.Column('category', sa.Text(), nullable=False),
    sa.Column('tags', sa.Text(), nullable=False),
    sa.Column('pricing_model', sa.Text(), nullable=False),
    sa.Column('price', sa.BigInteger(), nullable=True),
    sa.Column('unit_name', sa.Text(), nullable=True),
    sa.Column('payment', sa.Text(), nullable=False),
    sa.Column('input_schema', sa.Text(), nullable=True),
    sa.Column('output_schema', sa.Text(), nullable=True),
    sa.Column('example_input', sa.Text(), nullable=True),
    sa.Column('example_output', sa.Text(), nullable=True),
    sa.Column('turnaround_seconds', sa.BigInteger(), nullable=False),
    sa.Column('accept_timeout_seconds', sa.BigInteger(), nullable=False),
    sa.Column('max_open_jobs', sa.BigInteger(), nullable=False),
    sa.Column('status', sa.Text(), nullable=False),
    sa.Column('content_warnings', sa.Text(), nullable=False),
    sa.Column('first_party', sa.Boolean(), nullable=False),
    sa.Column('graduated', sa.Boolean(), nullable=False),
    sa.Column('stats', sa.Text(), nullable=False),
    sa.Column('created_at', sa.BigInteger(), nullable=False),
    sa.Column('updated_at', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_listings')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_listings_seller_id_env_status'), 'listings', ['seller_id', 'env', 'status'], unique=False)
    op.create_table('messages',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('thread_id', sa.Text(), nullable=False),
    sa.Column('sender_id', sa.Text(), nullable=True),
    sa.Column('body', sa.Text(), nullable=False),
    sa.Column('data', sa.Text(), nullable=True),
    sa.Column('content_warnings', sa.Text(), nullable=False),
    sa.Column('created_at', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_messages')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_messages_thread_id_id'), 'messages', ['thread_id', 'id'], unique=False)
    op.create_table('rate_windows',
    sa.Column('bucket', sa.Text(), nullable=False),
    sa.Column('version', sa.BigInteger(), nullable=False),
    sa.Column('began_at', sa.BigInteger(), nullable=False),
    sa.Column('count', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('bucket', name=op.f('pk_rate_windows')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_rate_windows_began_at'), 'rate_windows', ['began_at'], unique=False)
    op.create_table('reviews',
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('reviewer_id', sa.Text(), nullable=False),
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('env', sa.Text(), nullable=False),
    sa.Column('listing_id', sa.Text(), nullable=True),
    sa.Column('subject_id', sa.Text(), nullable=False),
    sa.Column('role', sa.Text(), nullable=False),
    sa.Column('rating', sa.BigInteger(), nullable=False),
    sa.Column('comment', sa.Text(), nullable=True),
    sa.Column('job_value', sa.BigInteger(), nullable=False),
    sa.Column('machine_generated', sa.Boolean(), nullable=False),
    sa.Column('content_warnings', sa.Text(), nullable=False),
    sa.Column('created_at', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('job_id', 'reviewer_id', name=op.f('pk_reviews')),
    sa.UniqueConstraint('id', name=op.f('uq_reviews_id')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_reviews_listing_id'), 'reviews', ['listing_id'], unique=False)
    op.create_index(op.f('ix_reviews_subject_id_env_id'), 'reviews', ['subject_id', 'env', 'id'], unique=False)
    op.create_table('settlements',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('version', sa.BigInteger(), nullable=False),
    sa.Column('env', sa.Text(), nullable=False),
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False),
    sa.Column('status', sa.Text(), nullable=False),
    sa.Column('payer_agent_id', sa.Text(), nullable=False),
    sa.Column('payee_agent_id', sa.Text(), nullable=False),
    sa.Column('payer_address', sa.Text(), nullable=False),
    sa.Column('pay_to', sa.Text(), nullable=False),
    sa.Column('amount', sa.BigInteger(), nullable=False),
    sa.Column('expected_amount', sa.BigInteger(), nullable=False),
    sa.Column('network', sa.Text(), nullable=False),
    sa.Column('asset', sa.Text(), nullable=False),
    sa.Column('tx_hash', sa.Text(), nullable=False),
    sa.Column('block_number', sa.BigInteger(), nullable=False),
    sa.Column('block_hash', sa.Text(), nullable=False),
    sa.Column('block_time', sa.BigInteger(), nullable=False),
    sa.Column('settled_at', sa.BigInteger(), nullable=True),
    sa.Column('created_at', sa.BigInteger(), nullable=False),
    sa.CheckConstraint('tx_hash = lower(tx_hash)', name=op.f('ck_settlements_lower_case')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_settlements')),
    sa.UniqueConstraint('network', 'tx_hash', name=op.f('uq_settlements_network_tx_hash')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_settlements_job_id'), 'settlements', ['job_id'], unique=False)
    op.create_index(op.f('ix_settlements_payee_agent_id_env_id'), 'settlements', ['payee_agent_id', 'env', 'id'], unique=False)
    op.create_index(op.f('ix_settlements_payer_agent_id_env_id'), 'settlements', ['payer_agent_id', 'env', 'id'], unique=False)
    op.create_table('threads',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('version', sa.BigInteger(), nullable=False),
    sa.Column('env', sa.Text(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False),
    sa.Column('job_id', sa.Text(), nullable=True),
    sa.Column('a', sa.Text(), nullable=False),
    sa.Column('b', sa.Text(), nullable=False),
    sa.Column('created_at', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_threads')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_threads_a'), 'threads', ['a'], unique=False)
    op.create_index(op.f('ix_threads_b'), 'threads', ['b'], unique=False)
    op.create_index(op.f('ix_threads_job_id'), 'threads', ['job_id'], unique=False)
    op.create_table('wallets',
    sa.Column('agent_id', sa.Text(), nullable=False),
    sa.Column('env', sa.Text(), nullable=False),
    sa.Column('version', sa.BigInteger(), nullable=False),
    sa.Column('address', sa.Text(), nullable=False),
    sa.Column('bound_at', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('agent_id', 'env', name=op.f('pk_wallets')),
    sqlite_autoincrement=True,
    sqlite_strict=True
    )
    op.create_index(op.f('ix_wallets_address'), 'wallets', ['address'], unique=False)
