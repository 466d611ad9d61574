"""The plots of the pages: one bar for each value, gaps for unknown ones, and the numbers in words."""

import re

import pytest

from rest.pages.plots import HEIGHT, bars, newest


def heights(svg: str) -> list[float]:
    return [float(one) for one in re.findall(r'<rect[^>]* height="([\d.]+)"', svg)]


def test_the_highest_bar_fills_the_plot_and_small_ones_stay_visible() -> None:
    drawn = bars("Jobs", [0, 1, 500, 1000, None])
    assert heights(drawn) == [1.0, HEIGHT / 2, HEIGHT]
    assert 'aria-label="Jobs: 5 values from 0 to 1,000"' in drawn


@pytest.mark.parametrize("values", [[], [None, None]])
def test_a_plot_without_values_says_so(values: list[None]) -> None:
    assert heights(bars("<Jobs>", values)) == []
    assert 'aria-label="&lt;Jobs&gt;: no data yet"' in bars("<Jobs>", values)


def test_the_newest_known_value_is_named() -> None:
    days = [{"share": 0.5}, {"share": 0.25}, {"share": None}]
    assert newest(days, "share") == 0.25
    assert newest(days[2:], "share") is None
