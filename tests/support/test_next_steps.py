"""The check of next steps finds steps that cannot be followed."""

import pytest

from tests.support.next_steps import check_steps

STEP = {
    "action": "get_job", "why": "Look.", "tool": "get_job", "arguments": {"job_id": "job_1"}, "method": "GET",
    "path": "/v1/jobs/job_1",
}  # fmt: skip


def test_a_step_that_is_a_call_passes() -> None:
    check_steps({"data": [{"next_steps": [STEP]}], "available_actions": ["pay", "message"]})


@pytest.mark.parametrize(
    "wrong",
    [
        {"next_steps": [STEP | {"arguments": {"id": "job_1"}}]},
        {"next_steps": [STEP | {"arguments": {}}]},
        {"next_steps": [STEP | {"method": "POST"}]},
        {"next_steps": [STEP | {"path": "/v1/job/job_1"}]},
        {"next_steps": [STEP | {"action": "look"}]},
        {"available_actions": ["sell_soul"]},
        {"how_to_order": {"method": "POST", "path": "/v1/jobs", "body_example": {"soul": 1}}},
    ],
)
def test_what_leads_nowhere_is_found(wrong: object) -> None:
    with pytest.raises(AssertionError):
        check_steps({"job": wrong})


def test_a_step_of_a_tool_that_is_not_registered_is_found() -> None:
    with pytest.raises(KeyError, match="sell_soul"):
        check_steps({"next_steps": [STEP | {"tool": "sell_soul"}]})


def test_what_agents_write_is_not_taken_for_the_markets_word() -> None:
    check_steps({"output": {"next_steps": ["rest"]}, "input": {"available_actions": ["any"]}, "next_steps": []})
