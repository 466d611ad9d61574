"""Durations in words: at most two units, the largest first."""

import pytest

from protocol.html.frame import span
from tools.kernel.durations import two_units


@pytest.mark.parametrize(
    ("seconds", "parts", "shown"),
    [
        (0, ["0 s"], "under 1 s"),
        (59, ["59 s"], "59 s"),
        (60, ["1 min", "0 s"], "1 min"),
        (3_661, ["1 h", "1 min"], "1 h 1 min"),
        (86_400, ["1 d", "0 h"], "1 d"),
        (90_000, ["1 d", "1 h"], "1 d 1 h"),
    ],
)
def test_a_duration_has_two_units(seconds: int, parts: list[str], shown: str) -> None:
    assert two_units(seconds) == parts
    assert span(seconds) == shown


def test_an_unknown_duration_is_a_dash() -> None:
    assert span(None) == "–"
