"""The commands: what they refuse, what they print of a failed run, and how they end."""

import subprocess
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation import __main__ as command
from tests.simulation import planted, sums
from tests.simulation import run as runs
from tests.simulation.available import CALLS, PLACES, lines
from tests.simulation.commands import end_quietly
from tests.simulation.log import EventLog
from tests.simulation.loop import BEGIN
from tests.simulation.model import Violation
from tests.simulation.model.observe import at
from tests.simulation.model.story import Story
from tests.simulation.records import Result
from tests.simulation.run import Failure, Plan, smallest
from tests.simulation.story import LINES
from tests.simulation.story import story as told_story

FOUND = Failure(Plan(1, 10_000), 399, "it broke", "first", ("a story",), 205)


def fail_at(last: int, made: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let runs of at least `last` operations fail after `made`; return the sizes of all runs."""
    sizes = []

    def made_run(plan: Plan) -> Result | Failure:
        sizes.append(plan.operations)
        failed = replace(FOUND, plan=plan, operations=min(plan.operations, made))
        return failed if plan.operations >= last else Result(plan.seed, plan.operations, "", 1.0)

    monkeypatch.setattr(runs, "run", made_run)
    return sizes


@pytest.mark.parametrize("last", [206, 300, 399, 400])
def test_the_smallest_run_has_no_more_operations_than_fail(last: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = fail_at(last, 399, monkeypatch)
    assert smallest(FOUND).plan.operations == last
    assert min(sizes) > FOUND.set_up
    assert max(sizes) <= FOUND.operations + 1


def test_a_run_that_fails_at_its_last_operation_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = fail_at(400, 400, monkeypatch)
    found = replace(FOUND, plan=Plan(1, 400), operations=400)
    assert smallest(found) == found
    assert max(sizes) == 399


@pytest.mark.parametrize("digest, stories", [("first", 1), ("second", 2)])
def test_a_failure_is_told_before_shorter_runs_are_made(
    digest: str, stories: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = []

    def least(failure: Failure) -> Failure:
        before.append(capsys.readouterr().out)
        return replace(failure, plan=Plan(1, 300), digest=digest)

    monkeypatch.setattr(runs, "smallest", least)
    assert command.explain(FOUND, Namespace(as_it_is=False)) == 1
    assert "a story\n\nit broke" in before[0]
    assert "shorter runs are tried" in before[0]
    after = capsys.readouterr().out
    assert (before[0] + after).count("a story") == stories
    assert "The shortest run that fails (after 399 operations): python" in after
    assert "tests.simulation --seed 1 --operations 300" in after


def test_a_failed_run_says_that_it_writes_no_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(runs, "run", lambda _: FOUND)
    given = Namespace(
        seed=1, operations=10_000, scenario=None, database=None, log=None, counts=None, matrix=False, as_it_is=True,
        report=tmp_path / "page.html",
    )  # fmt: skip
    assert command.one_run(given) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("seed 1 failed after 399 operations: it broke\n")
    assert f"{given.report} is not written, because the run failed" in shown


def test_a_file_that_can_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("kept")
    assert command.unwritable(old) is command.unwritable(new) is None
    assert (old.read_text(), new.exists()) == ("kept", False)
    for wrong in (tmp_path, old / "below", tmp_path / ("n" * 300), Path("/proc/page.html")):
        assert command.unwritable(wrong)


@pytest.mark.parametrize(
    "main, options, code, shown",
    [
        (planted.main, "--only zzz", 2, "no fault is named zzz; known: a settlement written twice, "),
        (sums.main, "", 2, "required: FILE"),
        (sums.main, "/nowhere.json", 2, "/nowhere.json is no file"),
        (sums.main, "--help", 0, "Print the sums of files"),
    ],
)
def test_a_command_says_what_is_wrong(
    main: Callable[[], int],
    options: str,
    code: int,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["command", *options.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert shown in "".join(capsys.readouterr())


def test_a_command_whose_reader_has_left_ends_without_a_traceback() -> None:
    program = f"import sys; from {end_quietly.__module__} import end_quietly; sys.exit(end_quietly(lambda: print('x' * 99_999)))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 1


def test_ctrl_c_ends_a_command_without_a_traceback() -> None:
    def stopped() -> int:
        raise KeyboardInterrupt

    assert end_quietly(stopped) == 130


def test_places_without_a_check_are_named() -> None:
    tried = Counter({(place, action): 1 for place in PLACES[1:] for action in CALLS})
    state, role = PLACES[0]
    assert [*lines(tried, enough=1)][1] == f"never checked: {state} by the {role}"


def test_a_story_has_the_call_that_made_a_thing_however_many_follow() -> None:
    agents = [f"agt_{number:026}" for number in range(2)]
    job, log = f"job_{1:026}", EventLog(lambda: BEGIN)
    for number in range(200):
        made = {"operation": "create_job", "given": {"title": "a poem"}}
        read = {"operation": "get_job", "given": {"job_id": job}}
        log.write("call", number=number, agent=agents[number % 2], wire="door", **(read if number else made))
        log.write("answer", number=number, status=200, code=None, state="open", id=job)
    told = [*told_story([*log.last], f"it broke [{job}]", dict(zip(agents, ("Ada", "Bob"), strict=True)))]
    assert "virtual time" in told[0]
    assert told[2].endswith("""#0 Ada calls create_job over door with {"title":"a poem"}.""")
    assert "#0 Ada's create_job is answered" in told[3]
    assert len(told) < 2 * LINES
    assert not any("agt_" in line for line in told)


def test_a_refusal_of_a_busy_seller_names_the_orders_of_the_listing(story: Story) -> None:
    with pytest.raises(Violation, match="seller_busy without cause: 10 places, of which a buyer may fill 5") as found:
        story.replayed(story.refused("ask again", "seller_busy"))
    job = story.named["ask"].body
    assert f"; {job['id']} of {job['buyer']['id']} was " in str(found.value)
    assert f"until {at(job['deadlines']['accept_by'])}, then " in str(found.value)
