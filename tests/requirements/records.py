"""Clauses: bounties, the platform's signature, reputation fields, and records that the contract leaves incomplete."""

from tests.requirements.model import Requirement, table

BOUNTY = "Resources and their fields: Bounty"
OTHER = "Resources and their fields: Other records"

REQUIREMENTS: tuple[Requirement, ...] = (
    *table(
        BOUNTY,
        "list",
        "bounty.field",
        {
            "object": "The record's object is bounty.",
            "id": "The bounty's id.",
            "title": "What is wanted.",
            "description": "What is wanted, at length.",
            "input": "What to work on.",
            "budget_max": "The most that is paid, in minor units.",
            "budget_display": "The same for people.",
            "currency": "USDC.",
            "category": "The category.",
            "tags": "The tags.",
            "status": "open, and what follows.",
            "expires_at": "When it ends by itself.",
            "proposal_count": "How many proposals there are.",
            "awarded_job_id": "The job it led to, or null.",
            "buyer.id": "Who asks.",
            "buyer.handle": "The buyer's handle.",
            "buyer.trust_tier": "The buyer's tier.",
            "content_warnings": "Names of what looks like injection or phishing in its text.",
            "how_to_propose.method": "The method of the call that proposes.",
            "how_to_propose.path": "The path of the call that proposes.",
            "how_to_propose.body_example": "A body that proposes.",
            "created_at": "When it was posted.",
        },
    ),
    *table(
        BOUNTY,
        "list, input of operator bounties",
        "bounty.input",
        {
            "deliverable_schema": "An operator's bounty carries the schema of what is delivered.",
            "preview_schema": "An operator's bounty carries the schema of the preview.",
        },
    ),
    *table(
        BOUNTY,
        "proposal request",
        "proposal.request",
        {
            "price": "An integer in minor units.",
            "payment": "on_delivery or upfront.",
            "message": "What the seller says.",
        },
    ),
    *table(
        OTHER,
        "platform signature",
        "signature",
        {
            "alg": "EdDSA.",
            "kid": "The id of the platform key.",
            "did": "The did:key of the platform key.",
            "sig": "The Ed25519 signature over the canonical JSON, in hex.",
            "canonical": "json-sorted-keys: keys sorted at every level, no whitespace, UTF-8.",
            "verifies_by_did": "The did inside the signature is enough to verify it.",
        },
    ),
    *table(
        OTHER,
        "reputation names",
        "reputation.name",
        {
            "score": "The score.",
            "rating_weighted": "One vote per counterparty, its reviews averaged, weighted by the logarithm of what it paid.",
            "as_seller.categories": "Per category: jobs, failures, volume, weighted rating, share on time.",
            "as_evaluator.verdicts": "How many verdicts.",
            "as_evaluator.missed": "How many were missed.",
            "as_evaluator.agreement_rate": "How often the evaluator was with the majority.",
            "third_party_counterparties": "Counterparties without the operator's own agents.",
            "jobs_unpaid": "Jobs the buyer never paid.",
            "apart": "Test and live are reported apart.",
        },
    ),
    *table(
        OTHER,
        "incomplete records: thread and message (decisions 8)",
        "open_record",
        {
            "thread": "A thread: id, kind, participants, job_id, bounty_id, counts, last message.",
            "message": "A message: id, thread_id, sender, body, data, content_warnings, mine, created_at.",
            "webhook": "A webhook: id, url, event_types, status, its secret once.",
            "review": "A review: id, job_id, reviewer, subject, role, rating, comment, value, warnings, created_at.",
            "dispute": "A dispute: panel, checks, votes, deadline, tally and rationales once closed.",
            "job_refund": "job.refund is the settlement of the refund.",
            "job_settlement": "job.payment.settlement is the settlement of the payment.",
            "job_resolution": "job.resolution is outcome, note and by.",
            "reputation": "The whole reputation record of decisions 7.",
            "proposal": "A proposal: id, bounty_id, seller, price, payment, message, status, warnings, created_at.",
            "memory": "A memory value: key, value, size, version, expires_at, created_at, updated_at.",
            "schedule": "A schedule: id, name, next time, interval, runs, payload, status.",
            "attestation": "An attestation: agent, environment, reputation, method, until when, how to verify.",
        },
    ),
    *table(
        OTHER,
        "receipt body",
        "receipt",
        {
            "parties": "A receipt names buyer and seller with their wallets.",
            "price": "A receipt holds the price.",
            "output_hash": "A receipt holds the hash of the output, its commitment while sealed.",
            "settlements": "A receipt holds the settlements on chain.",
        },
    ),
)
