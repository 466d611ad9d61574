"""A change is noticed if its tests fail or never end; excused and named changes exist in the code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.changes import ROOT, found_in, read
from tests.mutants.clauses import CLAUSES
from tests.mutants.excuses import EXCUSES
from tests.mutants.modules import TESTED_BY, paths_of
from tests.requirements.coverage import claims

# A separate process tries the changes, because a test run with threads and open databases must not be forked.
TRIED = """
import json, sys
from pathlib import Path
from tests.mutants.changes import found_in
from tests.mutants.runner import Unusable, limit_of, prepare, run
path, tests = Path(sys.argv[1]), [sys.argv[2]]
source = found_in("tools.kernel.plurals", path.read_text(encoding="utf-8"), path)
prepare([])
try:
    limits = {source.module: limit_of(source, tests)}
except Unusable:
    print(json.dumps("unusable"))
    sys.exit()
tried = run(((source, one) for one in source.changes), {source.module: tests}, limits, workers=2)
print(json.dumps(sorted((one.text, ended.noticed) for one, ended in tried)))
"""
CODE = "def counted(n):\n    while n > 0:\n        n -= 1\n    if n < 0:\n        n = n\n    return 'done'\n"
PROOF = "from tools.kernel.plurals import counted\n\ndef test_it():\n    assert counted(3) == {}\n"


def tried(folder: Path, expected: str) -> object:
    """Return the results of all changes of a small module, named tools.kernel.plurals."""
    (folder / "counted.py").write_text(CODE, encoding="utf-8")
    proof = folder / "test_proof.py"
    proof.write_text(PROOF.format(expected), encoding="utf-8")
    command = [sys.executable, "-c", TRIED, str(folder / "counted.py"), str(proof)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.verify
def test_what_the_tests_miss_is_told_from_what_they_notice_and_from_what_never_ends(tmp_path: Path) -> None:
    assert tried(tmp_path, "'done'") == [
        ["if n < 0: -> (removed)", False],
        ["n -= 1 -> (removed)", True],
        ["n -= 1 -> n += 1", True],
        ["n -= 1 -> n -= 0", True],
        ["n -= 1 -> n -= 2", False],
        ["n < 0 -> n < -1", False],
        ["n < 0 -> n < 1", False],
        ["n < 0 -> n <= 0", False],
        ["n < 0 -> n >= 0", False],
        ["n > 0 -> n <= 0", False],
        ["n > 0 -> n > -1", False],
        ["n > 0 -> n > 1", False],
        ["n > 0 -> n >= 0", False],
        ["return 'done' -> return None", True],
    ]


def test_tests_that_fail_while_nothing_is_changed_are_refused(tmp_path: Path) -> None:
    assert tried(tmp_path, "'never'") == "unusable"


@pytest.mark.parametrize("module", TESTED_BY)
def test_every_module_has_its_fast_tests(module: str) -> None:
    assert [path for path in paths_of(module) if not (ROOT / path).is_file()] == []


def test_every_excuse_is_one_change_that_can_be_made_and_has_a_reason() -> None:
    names = [one.name for name in TESTED_BY for one in read(name).changes]
    assert [one.name for one in EXCUSES if names.count(one.name) != 1 or len(one.reason) < 20] == []
    assert len({one.name for one in EXCUSES}) == len(EXCUSES)


@pytest.mark.parametrize("one", CLAUSES, ids=lambda one: one.clause)
def test_every_named_change_can_be_made_and_its_test_claims_the_clause(one: object) -> None:
    assert isinstance(one, type(CLAUSES[0]))
    found_in(one.module, one.changed())
    test = one.test.removeprefix("tests/")
    assert one.clause in {claim.id for claim in claims() if claim.test == test}
