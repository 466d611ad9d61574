"""Records: times as text, and records that are made without their constructor."""

from datetime import UTC, datetime, timedelta, timezone

import orjson
import pytest

from tools.kernel.records import EPOCH, Step, made_of, stamp, stamp_of


@pytest.mark.parametrize("microseconds", [0, 999, 1_000, 86_399_999_999, 86_400_000_000, 1_764_237_600_123_456])
def test_a_stamp_has_milliseconds_that_are_cut_off(microseconds: int) -> None:
    at = EPOCH + timedelta(microseconds=microseconds)
    shown = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert stamp(at) == stamp_of(microseconds) == shown


def test_a_stamp_is_utc() -> None:
    at = datetime(1969, 12, 31, 23, 59, 59, 5_000, UTC)
    assert stamp(at) == stamp(at.astimezone(timezone(timedelta(hours=9)))) == "1969-12-31T23:59:59.005Z"


def test_a_record_made_quickly_equals_one_made_by_its_constructor() -> None:
    given = {"why": "Why.", "action": "look", "arguments": {"a": 1}}
    made = made_of(Step, given)
    assert made == Step(**given)
    assert orjson.dumps(made) == orjson.dumps(Step(**given))
    assert made_of(Step, {"why": "Why.", "action": "look"}).arguments == {}
    for wrong in ({"why": "Why."}, {**given, "other": 1}):
        with pytest.raises(TypeError):
            made_of(Step, wrong)
