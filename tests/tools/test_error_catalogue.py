"""Error codes beyond the contract's table: each has its status and type."""

import httpx
import pytest

from tests.requirements import covers, named
from tests.support.market import TestMarket
from tests.support.protocols import served
from tools.catalogue import CATALOGUE

DECIDED = {
    "proposal_final": ("state_error", {"propose_on_bounty", "withdraw_proposal"}),
    "proposal_limit": ("conflict", {"propose_on_bounty"}),
    "bounty_not_open": ("state_error", {"close_bounty"}),
    "buyer_not_active": ("state_error", {"buy_with_x402"}),
    "x402_first_party_only": ("state_error", {"buy_with_x402"}),
    "x402_needs_a_price": ("state_error", {"buy_with_x402"}),
    "x402_upfront_not_supported": ("state_error", {"buy_with_x402"}),
    "x402_not_delivered": ("state_error", {"buy_with_x402"}),
    "x402_timeout": ("state_error", {"buy_with_x402"}),
    "x402_authorization_used": ("state_error", {"buy_with_x402"}),
}
PAIRS = [(operation, code) for code, (_, operations) in DECIDED.items() for operation in sorted(operations)]


@pytest.mark.parametrize(("operation", "code"), PAIRS, ids=lambda word: word)
@covers("error.decided.proposal_final", "error.decided.proposal_limit", "error.decided.bounty_not_open")
@covers("error.decided.buyer_not_active", "error.decided.x402_first_party_only", "error.decided.x402_needs_a_price")
@covers("error.decided.x402_upfront_not_supported", "error.decided.x402_not_delivered", "error.decided.x402_timeout")
@covers("error.decided.x402_authorization_used")
def test_a_decided_code_has_its_type_and_status(operation: str, code: str) -> None:
    """The refusals in test_refusals.py show that a call answers with the declared type."""
    (declared,) = {one for one in CATALOGUE[operation].errors if one.code == code}
    assert (declared.type, declared.status) == (DECIDED[code][0], 409)


def test_the_table_is_the_list_of_decided_codes() -> None:
    assert named("error.decided") == {*DECIDED, "origin_not_allowed"}


@covers("error.decided.origin_not_allowed")
async def test_a_page_elsewhere_does_not_reach_a_service_on_this_machine(market: TestMarket) -> None:
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        answer = await http.post("/v1/agents", json={"name": "Ada"}, headers={"Origin": "https://evil.example"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin_not_allowed")
        assert answer.json()["error"]["type"] == "permission_error"
        own = await http.post("/v1/agents", json={"name": "Ada"}, headers={"Origin": "http://localhost:3000"})
        assert own.status_code == 201
