"""The `object` of each operation's record and the display field of each amount, written by hand, not read from code."""

from collections.abc import Iterator
from typing import Any

ALONE = {
    "health": "get_health",
    "changelog": "get_changelog",
    "x402_index": "list_x402_services",
    "payments": "get_payments_info",
    "faucet": "get_faucet",
    "faucet_claim": "claim_test_funds",
    "agent.created": "register_agent claim_x402_account",
    "agent": "get_me get_agent update_me set_wallet_address link_erc8004 unlink_erc8004",
    "agent.deleted": "delete_me",
    "api_key": "create_api_key revoke_api_key",
    "domain": "add_domain verify_domain",
    "domain.deleted": "remove_domain",
    "domain_claim": "get_domain_claim",
    "reputation": "get_reputation",
    "signed_attestation": "get_attestation",
    "counterparty_check": "check_counterparty",
    "leaderboard": "get_leaderboard",
    "listing": "create_listing update_listing get_listing archive_listing",
    "job": "create_job get_job accept_job decline_job quote_job accept_quote deliver_job request_revision dispute_job cancel_job "
    "pay_job refund_job",
    "hire": "hire",
    "delivery": "get_delivery",
    "payment_terms": "pay_job",
    "review": "review_job",
    "signed_receipt": "get_receipt",
    "verification": "verify_receipt",
    "bounty": "create_bounty get_bounty close_bounty",
    "bounty.awarded": "award_bounty",
    "bounty_alerts": "get_bounty_alerts set_bounty_alerts",
    "proposal": "propose_on_bounty withdraw_proposal",
    "thread_started": "start_thread",
    "thread": "get_thread",
    "thread_read": "mark_thread_read",
    "message": "post_message",
    "inbox": "get_inbox",
    "memory": "put_memory get_memory delete_memory",
    "schedule": "create_schedule get_schedule update_schedule delete_schedule",
    "webhook": "create_webhook get_webhook update_webhook delete_webhook",
    "webhook_test": "test_webhook",
    "webhook_delivery": "redeliver_webhook",
    "evaluator": "get_evaluator set_evaluator",
    "dispute": "get_dispute submit_verdict withdraw_dispute",
    "support_report": "report_support",
    "stats": "get_stats",
    "daily_stats": "get_daily_stats",
    "dispute_stats": "get_dispute_stats",
    "opportunities": "get_opportunities",
    "demand": "get_demand",
}
LISTED = {
    "agent": "search_agents",
    "api_key": "list_api_keys",
    "domain": "list_domains",
    "review": "list_reviews",
    "listing": "search_listings list_my_listings",
    "job": "list_jobs",
    "job_event": "list_job_events",
    "settlement": "list_settlements",
    "bounty": "search_bounties list_my_bounties",
    "proposal": "list_proposals",
    "thread": "list_threads",
    "message": "list_messages",
    "event": "list_events",
    "memory": "list_memory",
    "schedule": "list_schedules",
    "webhook": "list_webhooks",
    "webhook_delivery": "list_webhook_deliveries",
    "dispute": "list_disputes",
    "tool": "find_tools",
    "feed_item": "get_feed",
    "foreign_entry": "search_elsewhere",
}
KINDS = {(operation, kind) for kind, operations in ALONE.items() for operation in operations.split()}
KINDS |= {(operation, "list") for operations in LISTED.values() for operation in operations.split()}
ITEMS = {(operation, kind) for kind, operations in LISTED.items() for operation in operations.split()}
AMOUNTS = {
    "price", "quoted_price", "amount", "expected_amount", "already_paid", "remaining", "refund_expected", "job_value",
    "budget_max", "budget_total", "volume_usdc", "third_party_volume_usdc", "volume_usdc_completed",
    "first_party_volume_usdc",
}  # fmt: skip
# Not records of ours: data that a caller sends or should send, members of a standard, and documents.
NO_RECORDS = {
    "arguments", "body", "body_example", "input", "output", "example_input", "example_output", "input_schema",
    "output_schema", "x402", "gasless", "acceptance", "post_a_bounty",
}  # fmt: skip


def said_of(operation: str, record: Any) -> tuple[set[tuple[str, Any]], set[tuple[str, Any]]]:
    """Return the `object` of an answer, and of the records in a list."""
    items = record["data"] if record.get("object") == "list" else []
    return {(operation, record.get("object"))}, {(operation, one.get("object")) for one in items}


def unspoken(value: Any, path: str) -> Iterator[str]:
    """Yield the places of amounts without a display field, or with a wrong one."""
    if isinstance(value, list):
        for one in value:
            yield from unspoken(one, path)
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if name in AMOUNTS and isinstance(inner, int) and not _is_spoken(value, name):
            yield f"{path}.{name}"
        if name not in NO_RECORDS:
            yield from unspoken(inner, f"{path}.{name}")


def _is_spoken(record: dict[str, Any], name: str) -> bool:
    """Check whether the first display field that is present shows the amount."""
    whole, rest = divmod(record[name], 1_000_000)
    words = f"{whole}.{rest:06d} USDC"
    for shown in (f"{name}_display", f"{name.partition('_')[0]}_display", "display"):
        if shown in record:
            said = record[shown] or ""
            return said == words or said.startswith(f"{words} per ") or (record[name] == 0 and said == "free")
    return False
