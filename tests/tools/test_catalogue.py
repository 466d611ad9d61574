"""Clauses of the contract about what the market does not do, and about the catalogue of its errors."""

import ast
from pathlib import Path

from storage.rows import metadata
from tests.requirements import REQUIREMENTS, covers, named
from tools.catalogue import CATALOGUE
from tools.engine.config import Limits
from tools.engine.rate_limits import ALLOWANCES
from tools.kernel.errors import MarketError

ROOT = Path(__file__).parents[2]
MARKET = [
    path
    for package in ("tools", "storage", "protocol", "rest", "server")
    for path in sorted((ROOT / package).rglob("*.py"))
    if not {"sandbox", "desk"} & {*path.parts}
    and path.name != "demo.py"  # the demo has a chain and customers with wallets
]
TAKEN_BACK = ("withdraw_proposal", "withdraw_dispute", "/v1/disputes/{dispute_id}/withdraw")  # no money
HELD = ("balance", "deposit", "withdraw", "escrow", "custody", "payout")
SIGNERS = {"eth_account", "web3", "eth_keys", "eth_tester", "x402"}

STATUS_AND_TYPE = {
    400: ("validation_error", "invalid_request content_rejected invalid_idempotency_key wallet_signature_invalid output_schema_mismatch"),
    401: ("authentication_error", "unauthenticated"),
    402: ("payment_error", "payment_required payment_invalid settle_it_yourself"),
    403: ("permission_error", "forbidden address_sanctioned"),
    404: ("not_found", "not_found route_not_found"),
    429: ("rate_limited", "rate_limited"),
    500: ("internal_error", "internal_error"),
    501: ("not_implemented", "not_implemented"),
    502: ("payment_error", "chain_unavailable"),
}  # fmt: skip
CONFLICTS = {"handle_taken", "idempotency_key_reused", "last_key", "transaction_already_used"}
STATE_ERRORS = {
    "invalid_transition",
    "wallet_address_required",
    "seller_has_no_wallet_address",
    "upfront_requires_trust",
    "transaction_not_found",
    "transaction_pending",
    "job_not_payable",
    "first_party_self_dealing",
}
BEYOND = {
    400: "malformed_json invalid_cursor input_schema_mismatch schema_too_expensive acceptance_failed",
    405: "method_not_allowed",
    409: "handle_limit key_limit public_key_in_use listing_limit listing_archived listing_unavailable seller_busy "
    "job_limit job_not_settled already_reviewed not_paid webhook_limit webhook_disabled "
    "awaiting_reply memory_limit version_conflict schedule_limit schedule_done too_many_domains erc8004_uri_mismatch "
    "erc8004_live_link_exists bounty_limit bounty_closed proposal_not_pending seller_unavailable already_voted "
    "dispute_closed deadline_missed quote_changed proposal_changed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    431: "headers_too_large",
    503: "overloaded",
}


def every(kind: type[MarketError]) -> list[type[MarketError]]:
    return [one for sub in kind.__subclasses__() for one in (sub, *every(sub))]


BY_CODE = {one.code: (one.status, one.type) for one in every(MarketError) if "code" in vars(one)}


@covers("error.type.*")
def test_every_code_of_the_contract_has_its_status_and_type() -> None:
    expected = {code: (status, kind) for status, (kind, codes) in STATUS_AND_TYPE.items() for code in codes.split(" ")}
    expected |= dict.fromkeys(CONFLICTS, (409, "conflict")) | dict.fromkeys(STATE_ERRORS, (409, "state_error"))
    assert {code: BY_CODE.get(code) for code in expected} == expected
    listed = {one.id.removeprefix("error.code.") for one in REQUIREMENTS if one.id.startswith("error.code.")}
    assert {code for code in listed if "." not in code} == set(expected)


def test_the_codes_beyond_the_contracts_table_have_their_status() -> None:
    expected = {code: status for status, codes in BEYOND.items() for code in codes.split(" ")}
    assert {code: BY_CODE[code][0] for code in expected} == expected
    assert named("error.more") == set(expected)


def test_the_rates_are_those_decided() -> None:
    per_window = {rate.value: (one.calls, one.seconds) for rate, one in ALLOWANCES.items()}
    minute, hour = 60, 3600
    assert per_window == {
        "reads": (600, minute),
        "writes": (120, minute),
        "register": (20, hour),
        "claims": (20, hour),
        "verify": (60, minute),
        "pay": (60, minute),
        "bindings": (60, minute),
        "faucet": (3, 24 * hour),
        "messages": (120, minute),
        "anonymous_failures": (600, minute),
        "quotes": (600, hour),
        "purchases": (120, hour),
        "protocol_requests": (600, minute),
        "support": (10, hour),
        "export": (1, 24 * hour),
        "recover": (5, hour),
        "oauth": (60, minute),
        "domains": (20, hour),
        "identities": (30, hour),
    }
    rated = {op.name: op.rate.value for op in CATALOGUE.values()}
    chosen = {name: rate for name, rate in rated.items() if rate not in ("reads", "writes")}
    assert chosen == {
        "register_agent": "register",
        "claim_x402_account": "claims",
        "set_wallet_address": "bindings",
        "recover_agent": "recover",
        "verify_receipt": "verify",
        "pay_job": "pay",
        "refund_job": "pay",
        "report_support": "support",
        "start_thread": "messages",
        "post_message": "messages",
        "verify_domain": "domains",
        "link_erc8004": "identities",
        "buy_with_x402": "quotes",
    }
    assert {op.name: op.paid_rate.value for op in CATALOGUE.values() if op.paid_rate} == {"buy_with_x402": "purchases"}
    assert Limits().registrations_per_hour == 20


@covers("invariant.1.no_balances")
def test_nothing_is_held_for_anybody() -> None:
    words = {op.name for op in CATALOGUE.values()} | {op.path for op in CATALOGUE.values()}
    words |= {name for op in CATALOGUE.values() for name in op.input.model_fields}
    words |= {f"{table.name}.{column.name}" for table in metadata.sorted_tables for column in table.columns}
    assert not [word for word in words.difference(TAKEN_BACK) for held in HELD if held in word.lower()]


@covers("invariant.2.no_chain_key", "invariant.1.moves_no_money")
def test_no_module_of_the_market_can_sign_for_a_chain() -> None:
    for path in MARKET:
        tree = ast.parse(path.read_text())
        roots = {
            alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        taken = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        roots |= {(node.module or "").split(".")[0] for node in taken}
        names = {alias.name for node in taken for alias in node.names}
        assert not roots & SIGNERS, path
        assert "PrivateKey" not in names, path
        assert "eth_sendRawTransaction" not in path.read_text(), path
