"""Each clause of the contract is tested or deferred, each claim of a test exists, and the command reports both."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS, named
from tests.requirements.__main__ import faults, printed
from tests.requirements.coverage import Claim, UnreadableClaim, claims, compare
from tests.requirements.model import NAMED, Later, Requirement, table

ROOT = Path(__file__).parents[2]
ID = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)+")
DONE = Requirement("job.field.id", "Job", "table", "The id.")
OPEN = Requirement("job.field.title", "Job", "table", "The title.")
LATE = Requirement("bounty.field.id", "Bounty", "table", "The id.", 3)


def test_every_clause_is_tested_or_deferred_and_never_both() -> None:
    assert faults(compare(claims())) == []


def test_every_clause_has_one_id_a_place_and_a_sentence() -> None:
    assert [name for name, times in Counter(one.id for one in REQUIREMENTS).items() if times > 1] == []
    for one in REQUIREMENTS:
        assert ID.fullmatch(one.id), one.id
        assert one.sentence.endswith("."), one.id
        assert one.heading, one.id
        assert one.source, one.id
        assert one.deferred is None or one.deferred in NAMED, one.id


def test_a_table_gives_each_row_its_id_and_its_issue() -> None:
    rows = {"id": "The id.", "quote": Later("The quote.", 2)}
    assert table("Job", "table", "job", rows) == (
        Requirement("job.id", "Job", "table", "The id."),
        Requirement("job.quote", "Job", "table", "The quote.", 2),
    )
    assert [one.deferred for one in table("Job", "table", "job", rows, 5)] == [5, 2]


def test_names_are_those_directly_under_a_prefix_that_stand() -> None:
    assert named("payments.x402") == named("nothing.at.all") == frozenset()
    assert named("me.field") == {"metadata", "referred_by", "wallet_address", "env"}
    basis = {"unit_basis", "unit_basis_note"}
    assert named("listing.pricing") == {"model", "price", "unit_name", "currency", "display"} | basis


def test_a_family_covers_what_is_directly_under_it() -> None:
    deep = Requirement("job.field.id.deep", "Job", "table", "Deep.")
    other = Requirement("job.fields.id", "Job", "table", "Another.")
    assert compare([Claim("a", "job.field.*")], [DONE, deep, other]).missing == (deep, other)


def test_the_report_says_what_is_missing_unknown_or_too_early() -> None:
    found = [Claim("a", "job.field.id"), Claim("b", "job.field.nothing"), Claim("c", "bounty.field.*")]
    report = compare(found, [DONE, OPEN, LATE])
    assert (report.unknown, report.too_early, report.missing) == ((found[1],), (found[2],), (OPEN,))
    assert (report.tested, report.whole) == ({"job.field.id", "bounty.field.id"}, False)
    assert faults(report) == [
        "missing: job.field.title (Job, table): The title.",
        "unknown: b covers job.field.nothing, which is no clause",
        "deferred: c covers bounty.field.*, so it is not to be deferred",
    ]
    whole = compare([Claim("a", "job.field.*")], [DONE, OPEN, LATE])
    assert (whole.whole, faults(whole)) == (True, [])


def test_the_table_counts_each_heading_and_the_sum() -> None:
    lines = printed(compare([Claim("a", "job.field.id")], [DONE, OPEN, LATE]), [DONE, OPEN, LATE]).split("\n")
    assert [line.split() for line in lines if line[:1] != "-"] == [
        ["clauses", "tested", "to", "3", "of", "5", "missing"],
        ["Job", "2", "1", "0", "1"],
        ["Bounty", "1", "0", "1", "0"],
        ["All", "3", "1", "1", "1"],
        ["to", "3", "of", "5:", "the", "whole", "market"],
    ]


def test_claims_are_read_from_functions_and_classes_of_tests(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "test_a.py").write_text(
        '@covers("x.a")\n@covers("x.b", "x.c")\nasync def test_it(): ...\n@covers("x.d")\nclass TestAll: ...\n'
    )
    test = "deep/test_a.py::test_it"
    assert claims(tmp_path) == [
        Claim(test, "x.a"), Claim(test, "x.b"), Claim(test, "x.c"), Claim("deep/test_a.py::TestAll", "x.d"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        '@covers("x.a")\ndef helper(): ...',
        "@covers()\ndef test_it(): ...",
        "@covers(*IDS)\ndef test_it(): ...",
        '@covers(f"x.{name}")\ndef test_it(): ...',
        '@covers(id="x.a")\ndef test_it(): ...',
    ],
)
def test_a_claim_that_nobody_can_check_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "test_a.py").write_text(text)
    with pytest.raises(UnreadableClaim):
        claims(tmp_path)


def test_the_command_prints_every_heading_and_ends_well() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.requirements"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert all(heading in done.stdout for heading in {one.heading for one in REQUIREMENTS})
    total = next(line.split() for line in done.stdout.split("\n") if line.startswith("All"))
    assert (total[1], total[-1]) == (str(len(REQUIREMENTS)), "0")
