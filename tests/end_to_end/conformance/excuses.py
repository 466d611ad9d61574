"""The complaints of the API suite that are accepted, each with its reason. All others are findings.

An excuse is for ST202, a request that the schema allows and the market refuses. It names the refusal.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools.catalogue import CATALOGUE


@dataclass(frozen=True)
class Excuse:
    """An accepted refusal in any operation: its code, and a pattern for `param: message`."""

    code: str
    said: str
    why: str

    def covers(self, code: str, said: str) -> bool:
        return code == self.code and re.search(self.said, said) is not None


OPERATORS = "no agent's key opens it; tests/tools/operator/test_operations.py calls it"
LEFT_OUT = {
    "export_me": "it answers once a day; tests/tools/account/test_export.py reads it",
    "stream_events": "its answer never ends; tests/rest/test_stream.py reads it",
    **{op.name: OPERATORS for op in CATALOGUE.values() if op.auth == "admin"},
}
PUBLIC = {
    "get_listing": "every listing is for everybody to read, but without a key the read is of live",
    "get_bounty": "and so is every bounty",
    "list_proposals": "of another's bounty an agent sees its own proposal, which may be none",
    "propose_on_bounty": "a bounty is for whoever wants to do it",
    "get_agent": "every profile is for everybody to read",
    **dict.fromkeys(
        (
            "check_counterparty",
            "get_reputation",
            "get_attestation",
            "get_registration_file",
            "get_agent_card",
            "get_did_document",
            "get_agent_keys",
            "get_client_metadata",
        ),
        "what the market says of an agent is for everybody to read",
    ),
    "list_reviews": "every review is for everybody to read, but without a key the read is of live",
}
NEVER_DONE = {  # may end a run without a 2xx
    "buy_with_x402": "only the operator sells so, for a payment signed anew each time; run_x402 buys",
    "claim_x402_account": "it takes a wallet that has bought; tests/tools/purchases/test_accounts.py claims",
    "delete_me": "it ends its caller, and with it the run",
}

EXCUSES = (
    Excuse(
        "invalid_request",
        "(must be a whole number(, not a decimal number| of minor units: .*)|send a JSON integer: .*)$",
        "to JSON Schema 5.0 is an integer; amounts are not guessed",
    ),
    Excuse("invalid_request", "should have at least . characters?$", "counted without the white space around it"),
    Excuse("invalid_request", "^address: The address has mixed case", "EIP-55 is a checksum"),
    Excuse(
        "invalid_request", "^(new_)?public_key: The (public key|did:key) ", "a point on a curve; base58 of 34 bytes"
    ),
    Excuse("invalid_request", "^public_key: proof is of the key", "fields that need another"),
    Excuse("invalid_request", "^(proof|signed_at): proof and signed_at go together", "fields that need each other"),
    Excuse("invalid_request", "^endpoints: .* must be an http or https URL", "which characters are printable"),
    Excuse("invalid_request", "^metadata: at most 16384 bytes", "a length in bytes of the whole"),
    Excuse("invalid_request", "^cursor: cursor means the same as since", "two fields of one meaning"),
    Excuse("invalid_request", "^since: since is not an event id", "sent as cursor, which is opaque everywhere"),
    Excuse("invalid_request", "there is no event type", "events are named by the error, not in every tool list"),
    Excuse("invalid_cursor", "^cursor: ", "a cursor is signed"),
    Excuse("invalid_request", "^(in_seconds|run_at): give either", "one field or the other"),
    Excuse("invalid_request", "^If-Match: another version", "two fields of one meaning"),
    Excuse("invalid_request", "^worker: is for the seller", "whose job it is is not in its id"),
    Excuse("invalid_request", "^body: gasless and transaction exclude each other", "one field or the other"),
    Excuse("invalid_request", "^run_at: ", "a time with its offset, within a year from now"),
    Excuse("invalid_request", "^max_runs: more than one run", "a field that needs another"),
    Excuse("invalid_request", "^to: this is yourself", "whose handle it is is not in the handle"),
    Excuse("invalid_request", "^receipt: send either receipt or attestation", "one field or the other"),
    Excuse("invalid_request", "^proof: the new key did not sign", "a signature by the other key"),
    Excuse("invalid_request", "^signed_at: ", "a time close to now"),
    Excuse("invalid_request", "^(name|handle): .* is reserved", "which names look like the market's own"),
    Excuse("faucet_claimed_today", "", "once a day, which is in no request"),
    Excuse("key_limit", "^: you have ", "how many keys there are is in no request"),
    Excuse("invalid_request", "^proof: changing a bound wallet", "a signature, and only when a wallet is bound"),
    Excuse(
        "invalid_request",
        r"^(input_schema|output_schema|input\.\w+_schema|(input\.)?acceptance\.\d+\.value)",
        "a schema is judged by more than its being an object",
    ),
    Excuse("invalid_request", "^example_(input|output)", "must satisfy the schema beside it"),
    Excuse("input_schema_mismatch", "^input: ", "the schema is the listing's"),
    Excuse("output_schema_mismatch", "^output: ", "the schema is the job's"),
    Excuse("malformed_json", "An integer beyond ", "no number beyond 2^53-1 in any JSON: canonical forms differ there"),
    Excuse("invalid_request", "^listing_id: this listing is your own", "who owns a listing is not in its id"),
    Excuse(
        "invalid_request", "^price: (required|a quote listing)", "a field another needs: conditions are in no tool list"
    ),
    Excuse("invalid_request", "^unit_(name|basis|basis_note): ", "only where units are sold"),
    Excuse("invalid_request", "^evidence_done: evaluators wait", "whether a thread's job is disputed is not in its id"),
    Excuse("invalid_request", "^price: the bounty pays at most", "what a bounty pays is not in its id"),
    Excuse(
        "invalid_request", "^bounty_id: (this bounty is your own|buyer and seller are bound)", "whose it is neither"
    ),
    Excuse("invalid_request", "^input.bounty_description: ", "a name among any others"),
    Excuse(
        "invalid_request",
        "^(input.)?acceptance.*(does not fit the kind|a name of its own)",
        "a value by its kind; names once",
    ),
    Excuse("invalid_request", "^units: units is 1 unless", "how a listing is priced is not in its id"),
    Excuse("invalid_request", "^listing_id: buyer and seller are bound", "whose wallet is whose is not in an id"),
    Excuse(
        "invalid_request", ": one line of text, without control", "after white space around it, control or not, is gone"
    ),
    Excuse(
        "invalid_request", ": needs a character that can be seen", "categories of Unicode, unlike from tool to tool"
    ),
    Excuse("invalid_request", "^confirm: is not your handle", "who leaves says its own name, which is in no schema"),
    Excuse("invalid_request", "^domain: ", "which names IDNA allows, and which belong to nobody"),
    Excuse("invalid_request", "^agent_id: a token's number", "2^256 stands between two numbers of 78 digits"),
    Excuse("erc8004_uri_mismatch", "^agent_id: ", "whose file a token names is on the chain"),
    Excuse("content_rejected", "", "what words mean"),
    Excuse("wallet_signature_invalid", "^signature: ", "it must be the wallet's"),
    Excuse("payment_invalid", "^transaction: this transaction does not ", "what a transaction did is on the chain"),
    Excuse("payment_required", "", "the terms of payment are the answer"),
)


def excuses_of(body: Mapping[str, Any]) -> list[Excuse]:
    """Return the excuses for all complaints of a refusal, or none if one has no excuse."""
    error = body.get("error", {})
    found = [_excuse(error.get("code", ""), said) for said in _sentences(error)]
    return [one for one in found if one] if all(found) else []


def _excuse(code: str, said: str) -> Excuse | None:
    return next((one for one in EXCUSES if one.covers(code, said)), None)


def _sentences(error: Mapping[str, Any]) -> Iterator[str]:
    """Yield every listed violation, or else the message."""
    listed = error.get("details", {}).get("violations", [])
    if error.get("code") == "invalid_request" and listed:
        yield from (f"{one['param']}: {one['message']}" for one in listed)
    else:
        yield f"{error.get('param', '')}: {error.get('message', '')}"
