"""A call produces every error that an operation declares: tests/support/refusals has one scenario for each pair."""

import pytest

from tests.requirements import covers
from tests.support.refusals import scenarios
from tests.support.trade import Trade
from tools.catalogue import CATALOGUE

SCENARIOS = scenarios()
DECLARED = sorted((op.name, error.code) for op in CATALOGUE.values() for error in op.errors)


def test_every_declared_error_has_its_scenario_and_no_other() -> None:
    assert sorted(SCENARIOS) == DECLARED


@pytest.mark.parametrize("pair", DECLARED, ids=lambda pair: f"{pair[0]}-{pair[1]}")
@covers("error.code.handle_taken", "error.code.first_party_self_dealing", "invariant.8.self_dealing")
@covers("error.code.content_rejected", "error.code.upfront_requires_trust")
@covers("error.more.invalid_cursor", "error.more.input_schema_mismatch", "error.more.public_key_in_use")
@covers("error.more.listing_limit", "error.more.listing_archived", "error.more.listing_unavailable")
@covers("error.more.seller_busy", "error.more.job_limit", "error.more.job_not_settled", "error.more.already_reviewed")
@covers("error.more.overloaded", "error.more.webhook_limit", "error.more.webhook_disabled")
@covers("error.more.overloaded", "error.code.last_key", "error.more.handle_limit", "error.more.key_limit")
@covers("error.more.awaiting_reply", "error.more.memory_limit", "error.more.version_conflict")
@covers("error.code.not_implemented")
@covers("error.more.schedule_limit", "error.more.schedule_done", "error.more.not_paid")
async def test_a_declared_error_is_answered(trade: Trade, pair: tuple[str, str]) -> None:
    error = await SCENARIOS[pair](trade)
    assert error["code"] == pair[1]
    assert error["message"]
    assert error["hint"]
