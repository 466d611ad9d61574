"""The score decides the command's exit status, and an interrupted run continues from its stored results."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import __main__ as command
from tests.mutants.changes import Change, Source, found_in
from tests.mutants.excuses import Excuse
from tests.mutants.runner import Ended

STATS = "tools.listings.stats_rules"


def changes(number: int) -> list[Change]:
    """Return the changes of a module with one constant in each line."""
    return list(found_in(STATS, "".join(f"A{n} = True\n" for n in range(number))).changes)


@pytest.mark.parametrize(
    ("missed", "excused", "status"), [(0, 0, 0), (10, 0, 0), (11, 0, 1), (3, 3, 0), (4, 4, 1), (10, 3, 0), (11, 3, 1)]
)
def test_ninety_of_a_hundred_must_be_noticed_and_three_may_be_excused(
    missed: int, excused: int, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = changes(100)
    reasons = [Excuse(STATS, "", one.text, "For the sake of this test.") for one in drawn[:excused]]
    monkeypatch.setattr(command, "EXCUSES", reasons)
    noticed = {one.name: place >= missed for place, one in enumerate(drawn)}
    assert command.reported(drawn, noticed) == status
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"{100 - missed} of 100 noticed: {100 - missed}.0% (at least 90%); {excused}.0% excused"
    assert said[: missed - excused] == [
        f"tools/listings/stats_rules.py:{n + 1} boolean in the module: A{n} = True -> A{n} = False"
        for n in range(excused, missed)
    ]


def test_what_was_tried_is_not_tried_again_until_a_rule_or_its_test_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def run(wanted: Iterable[tuple[Source, Change]], *_: Any, workers: int) -> Iterator[tuple[Change, Ended]]:
        for _, change in wanted:
            tried.append(change.text)
            yield change, Ended(1 if len(tried) % 2 else 0, 0.1)
            if len(tried) == 3:
                raise KeyboardInterrupt

    drawn = changes(5)
    sources = {STATS: Source(STATS, Path(), found_in(STATS, "").tree, tuple(drawn))}
    monkeypatch.setattr(command, "KEPT", tmp_path / "kept" / "results.jsonl")
    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(command, "prepare", lambda paths: None)
    monkeypatch.setattr(command, "limit_of", lambda source, paths: 5)

    def judged(keep: bool = True) -> dict[str, bool]:
        return command.judged(sources, drawn, workers=1, keep=keep)

    with pytest.raises(KeyboardInterrupt):
        judged()
    texts = [one.text for one in drawn]
    assert tried == texts[:3]
    assert list(judged().values()) == [True, False, True, False, True]
    assert tried == texts, "it went on at the fourth"
    judged()
    assert tried == texts
    judged(keep=False)
    assert tried == [*texts, *texts]
    monkeypatch.setattr(command, "fingerprint", lambda module: "a test has changed")
    judged()
    assert tried == texts * 3


def test_a_fingerprint_is_that_of_all_rules_and_the_modules_tests() -> None:
    prints = {name: command.fingerprint(name) for name in (STATS, "tools.jobs.panel_rules")}
    assert len(set(prints.values())) == 2
    assert command.fingerprint(STATS) == prints[STATS]
