"""Named changes, each of which the test of one clause must notice: `python -m tests.mutants --clauses`.

An outside tester made each of them by hand, and no test that claimed the clause failed. Each is a text in a file and
its replacement. The claiming test runs twice in forked processes, with fixtures and on SQLite: it passes while nothing
is changed, and fails with the change.
"""

import os
import sys
from dataclasses import dataclass

import pytest

from tests.mutants.changes import ROOT
from tests.mutants.runner import ARGUMENTS, FAILED, INTERNAL, PASSED, Replaced, plugins, silent

ON_SQLITE = "not postgres"


@dataclass(frozen=True, slots=True)
class ClauseChange:
    """One change: its description, the text and its replacement, and the test of the clause."""

    clause: str
    words: str
    path: str
    before: str
    after: str
    test: str

    @property
    def module(self) -> str:
        """Return the module of the changed file."""
        return self.path.removesuffix(".py").replace("/", ".")

    def changed(self) -> str:
        """Return the changed file; raise ValueError unless the text occurs exactly once."""
        text = (ROOT / self.path).read_text(encoding="utf-8")
        if text.count(self.before) != 1:
            raise ValueError(f"{self.path} does not hold {self.before!r} exactly once")
        return text.replace(self.before, self.after)


CLAUSES = (
    ClauseChange(
        "listing.stats.median_turnaround_seconds",
        "the value is doubled",
        "tools/listings/stats.py",
        "median_turnaround_seconds=median_seconds,",
        "median_turnaround_seconds=2 * (median_seconds or 0),",
        "tests/tools/jobs/test_trade.py::test_the_listing_shows_what_its_jobs_came_to",
    ),
    ClauseChange(
        "reputation.name.rating_weighted",
        "every review counts as a vote, not every counterparty",
        "tools/reputation/rules.py",
        "weight = round(MICRO * weight_of(weighed_minor)) if dealings.rating_count else 0",
        "weight = round(MICRO * weight_of(weighed_minor)) * dealings.rating_count",
        "tests/tools/reputation/test_operations.py::test_a_counterparty_is_one_vote_however_often_it_reviews",
    ),
    ClauseChange(
        "reputation.name.third_party_counterparties",
        "the operator's wallets are counted too",
        "tools/reputation/views.py",
        "third_party_counterparties=tally.third_party_wallets",
        "third_party_counterparties=tally.wallets",
        "tests/tools/reputation/test_operations.py::test_the_operators_agents_are_no_third_party",
    ),
    ClauseChange(
        "reputation.name.as_evaluator.agreement_rate",
        "agreement is counted where the vote was not the outcome",
        "tools/evaluators/logic.py",
        "agreed += seats if outcome == vote else 0",
        "agreed += seats if outcome != vote else 0",
        "tests/tools/reputation/test_operations.py::test_what_an_evaluator_did_stands_in_its_reputation",
    ),
    ClauseChange(
        "route.disputes.panel.random",
        "the draw is alphabetical",
        "tools/jobs/disputes/draw_rules.py",
        'return digest(seed, f"emporion:draw:v1:{number}:{one}".encode(), "sha256")',
        "return one.encode()",
        "tests/tools/jobs/disputes/test_operations.py::test_the_seed_alone_decides_who_of_the_eligible_sits",
    ),
    ClauseChange(
        "listing.field.graduated",
        "one buyer is enough instead of three",
        "tools/listings/stats_rules.py",
        "GRADUATION_JOBS, GRADUATION_BUYERS, GRADUATION_RATING = 5, 3, 3.5",
        "GRADUATION_JOBS, GRADUATION_BUYERS, GRADUATION_RATING = 5, 1, 3.5",
        "tests/tools/listings/test_search_operations.py::test_a_listing_graduates_with_five_paid_jobs_of_three_buyers",
    ),
    ClauseChange(
        "event.webhook.retries",
        "the first wait is 50 seconds instead of 5",
        "tools/events/webhooks/rules.py",
        "WAITS_IN_SECONDS = (5, 300,",
        "WAITS_IN_SECONDS = (50, 300,",
        "tests/tools/events/webhooks/test_deliveries.py::test_a_failing_receiver_is_tried_ten_times_as_promised",
    ),
)


def main() -> int:
    """Try each named change; return 0 only if each test passes without it and fails with it."""
    plugins()
    faults = [fault for one in CLAUSES if (fault := fault_of(one)) is not None]
    for fault in faults:
        print(fault)
    print(
        f"{len(CLAUSES) - len(faults)} of {len(CLAUSES)} named changes are noticed by the test that claims the clause"
    )
    return 1 if faults else 0


def fault_of(one: ClauseChange) -> str | None:
    """Describe the fault of a claim; None if its test passes, and fails with the change."""
    plain, changed = _status(one, None), _status(one, one.changed())
    print(f"{one.clause}: {one.words}: {'noticed' if changed == FAILED else 'not noticed'}", flush=True)
    if plain != PASSED:
        return f"{one.clause}: {one.test} ends with {plain} while nothing is changed"
    return None if changed == FAILED else f"{one.clause}: {one.test} ends with {changed} although {one.words}"


def _status(one: ClauseChange, text: str | None) -> int:
    """Run a test in a forked process with the changed file; return pytest's status."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = INTERNAL
        try:
            silent()
            if text is not None:
                path = ROOT / one.path
                sys.meta_path.insert(0, Replaced(one.module, path, compile(text, str(path), "exec")))
            status = int(pytest.main([*ARGUMENTS, "-k", ON_SQLITE, str(ROOT / one.test)]))
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
