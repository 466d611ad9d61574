"""Ids sort by creation time and event ids by number; any other text is rejected."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.kernel.ids import BadId, Prefix, event_id, event_number, is_id, new_id

NOW = datetime(2026, 11, 21, 3, 51, 7, 123456, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 2**48 // 1000).map(lambda milliseconds: EPOCH + timedelta(milliseconds=milliseconds))


def test_an_id_is_its_prefix_and_a_ulid() -> None:
    published = EPOCH + timedelta(milliseconds=1469918176385)  # the example of the first library that implemented ULIDs
    assert new_id(Prefix.AGENT, published, bytes.fromhex("d6764c61efb99302bd5b")) == "agt_01ARYZ6S41TSV4RRFFQ69G5FAV"
    assert new_id(Prefix.JOB, EPOCH, b"\xff" * 10) == "job_0000000000ZZZZZZZZZZZZZZZZ"
    assert new_id(Prefix.JOB, NOW.astimezone(timezone(timedelta(hours=5))), bytes(10)) == new_id("job_", NOW, bytes(10))


def test_the_prefixes_are_the_ones_published() -> None:
    assert {prefix.value for prefix in Prefix} == {
        "agt_", "lst_", "job_", "stl_", "msg_", "evt_", "whk_", "bty_", "key_", "thr_", "dsp_", "rev_", "prp_", "sch_", "rpt_", "dlv_",
        "req_", "arc_",
    }  # fmt: skip


@settings(deadline=None)
@given(MOMENTS, MOMENTS, st.binary(min_size=10, max_size=10), st.binary(min_size=10, max_size=10))
def test_ids_sort_by_creation_and_differ_by_entropy(a: datetime, b: datetime, x: bytes, y: bytes) -> None:
    first, second = new_id("lst_", a, x), new_id("lst_", b, y)
    assert (first < second) == ((a, x) < (b, y))
    assert is_id("lst_", first)
    assert len(first) == 30


@pytest.mark.parametrize("entropy", [b"", bytes(9), bytes(11)])
def test_entropy_of_another_length_is_refused(entropy: bytes) -> None:
    with pytest.raises(ValueError, match="10 bytes"):
        new_id("job_", NOW, entropy)


def test_a_time_before_1970_is_refused() -> None:
    with pytest.raises(ValueError, match="between 1970"):
        new_id("job_", datetime(1969, 12, 31, tzinfo=UTC), bytes(10))


@settings(deadline=None)
@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_event_ids_sort_as_their_numbers_and_give_them_back(a: int, b: int) -> None:
    assert (event_id(a) < event_id(b)) == (a < b)
    assert event_number(event_id(a)) == a


def test_event_ids_are_padded() -> None:
    assert event_id(0) == "evt_00000000000000000000000000"
    assert event_id(33) == "evt_00000000000000000000000011"
    assert event_id(2**63 - 1) == "evt_00000000000007ZZZZZZZZZZZZ"


@pytest.mark.parametrize("number", [-1, 2**63])
def test_an_event_number_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="event's number"):
        event_id(number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "evt_",
        "evt_0",
        "evt_000000000000000000000000011",
        "evt_0000000000000000000000001",
        "evt_0000000000000000000000001I",
        "evt_0000000000000000000000001a",
        "evt_00000000000000000000000001\n",
        " evt_00000000000000000000000001",
        "job_00000000000000000000000001",
        "evt_80000000000000000000000000",
        "evt_00000000000008000000000000",
        "evt_7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "evt_٠0000000000000000000000001",
        "evt_" + "0" * 100_000,
    ],
)
def test_what_is_no_event_id_has_no_number(text: str) -> None:
    with pytest.raises(BadId):
        event_number(text)


def test_an_id_of_another_kind_is_not_one() -> None:
    job = new_id(Prefix.JOB, NOW, bytes(10))
    assert [is_id(prefix, job) for prefix in ("job_", "agt_", "")] == [True, False, False]
    assert not is_id("job_", job + "\n")
    assert not is_id("job_", job.lower())
