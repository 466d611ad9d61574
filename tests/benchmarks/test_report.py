"""The report shows figures with both marks, names what failed, and is valid JSON."""

import json

from benchmarks.goals import Goal
from benchmarks.report import line, record, summary
from benchmarks.rounds import Row, absolute, broken

COST = Goal("C", "one call", 1_000, 700, "µs", least=False)
ROWS = [
    absolute(COST, 1_200),
    absolute(Goal("D", "another call", 1_000, 700, "µs", least=False), 900),
    broken(Goal("E", "a third call"), RuntimeError("3 wrong answers")),
    Row(Goal("F", "a fourth call", 1, 2), 1.1, "noisy", spread=0.5),
    absolute(Goal("H", "a fifth call"), 7),
]


def test_a_line_has_the_figure_both_marks_and_the_verdict() -> None:
    row = Row(Goal("G1", "GET a listing", 0.55, 0.75), 0.6, "must", "100 µs", "60 µs", 0.07, "quiet", unlimited=0.7)
    words = line(row).split()
    assert words == [
        "G1",
        "GET",
        "a",
        "listing",
        "0.6",
        "0.7",
        "100",
        "µs",
        "60",
        "µs",
        "7%",
        "≥",
        "0.55",
        "≥",
        "0.75",
        "must",
        "(quiet)",
    ]


def test_the_end_of_the_report_names_what_failed_and_what_misses_its_aim() -> None:
    assert summary(ROWS) == [
        "failed (2): C, E",
        "too noisy to say (1): F",
        "as fast as they must be, slower than their aim (1): D",
    ]
    assert summary(ROWS[4:]) == []


def test_the_record_is_json_without_numbers_that_json_does_not_have() -> None:
    rows = json.loads(json.dumps(record(ROWS), allow_nan=False))["rows"]
    assert [row["figure"] for row in rows] == [1_200, 900, None, 1.1, 7]
    assert (rows[0]["must"], rows[0]["aim"], rows[0]["verdict"]) == (1_000, 700, "fail")
