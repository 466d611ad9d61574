"""`emporion overview --watch`: what is stuck comes first, it fits 80 columns, and others' words control nothing."""

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from server.operator_client import Refused
from server.overview_watch import ROWS, age, screened, watch

NOW = "2026-11-27T05:00:00.000Z"
HOSTILE = "[bold red]hi[/] [link=https://evil.example]x[/link] \x1b[31m\x9b2J\u202egnp \r\n" + "w" * 200
EMPTY: dict[str, Any] = {
    "disputes": [],
    "purchases": [],
    "refunds_due": [],
    "orphaned_settlements": [],
    "failing_webhooks": [],
    "reports": [],
    "agents": {"active": 3},
    "jobs": [{"env": "test", "status": "open", "count": 2}],
    "generated_at": NOW,
}
STUCK = EMPTY | {
    "disputes": [
        {"id": f"dsp_{number:026}", "env": "live", "escalation_reason": "no_majority", "age_seconds": 200_000}
        for number in range(ROWS + 2)
    ],
    "purchases": [
        {"env": "test", "status": "working", "count": 1, "oldest_age_seconds": 45},
        {"env": "test", "status": "sent", "count": 2, "oldest_age_seconds": 4000},
        {"env": "test", "status": "paid", "count": 7, "oldest_age_seconds": None},
    ],
    "refunds_due": [
        {"job_id": "job_1", "env": "live", "display": "0.250000 USDC", "updated_at": "2026-11-27T04:00:00.000Z"}
    ],
    "orphaned_settlements": [{"id": "stl_1", "display": "0.250000 USDC", "created_at": "2026-11-26T05:00:00.000Z"}],
    "failing_webhooks": [{"id": "whk_1", "env": "live", "status": "active", "failures": 3}],
    "reports": [{"agent_id": None, "env": "live", "message": HOSTILE, "received_at": NOW}],
}


def console(**given: Any) -> Console:
    return Console(file=StringIO(), width=80, height=60, force_terminal=True, record=True, **given)


def shown(record: dict[str, Any], failure: str = "") -> str:
    seen = console(no_color=True)
    seen.print(screened(record, failure))
    return seen.export_text()


def test_what_is_stuck_comes_before_the_counts_with_the_oldest_first() -> None:
    text = shown(STUCK)
    order = (
        "Overview as of", f"Escalated disputes: {ROWS + 2} ({ROWS} shown)", "2 d 7 h", "no_majority",
        "Unfinished purchases: 2", "1 h 6 min", "45 s", "Refunds owed: 1", "1 h 0 min", "Transfers without a job: 1",
        "1 d 0 h", "Failing webhooks: 1", "Reports (others' words): 1", "Agents: 3 active", "Jobs: 2 open (test)",
        "Purchases that ended in 30 days: 7 paid (test)",
    )  # fmt: skip
    places = [text.index(one) for one in order]
    assert places == sorted(places)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("dsp_") == ROWS


def test_a_market_in_order_says_so() -> None:
    text = shown(EMPTY)
    assert "Nothing is stuck." in text
    assert "Purchases that ended in 30 days: none" in text


def test_words_of_others_neither_mark_up_nor_control_the_terminal() -> None:
    seen = console(no_color=True)
    seen.print(screened(STUCK, HOSTILE))
    written = seen.file.getvalue()  # type: ignore[attr-defined]
    assert "[bold red]hi[/]" in written
    assert [one for one in ("\x9b", "\u202e", "\x1b[31m", "\r") if one in written] == []
    assert "\x1b]8" not in written, "no link"


@pytest.mark.parametrize(
    "seconds, words", [(0, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (3_600, "1 h 0 min"), (90_000, "1 d 1 h")]
)
def test_an_age_is_in_its_two_largest_units(seconds: int, words: str) -> None:
    assert age(seconds) == words


def test_it_reads_until_ctrl_c_and_shows_a_failure_above_the_last_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Iterator[dict[str, Any] | Exception] = iter([EMPTY, Refused("it is down"), STUCK, KeyboardInterrupt()])
    slept: list[float] = []

    def read() -> dict[str, Any]:
        found = next(answers)
        if isinstance(found, BaseException):
            raise found
        return found

    monkeypatch.setattr("server.overview_watch.time.sleep", slept.append)
    seen = console()
    watch(read, 2.0, seen)
    assert slept == [2.0, 2.0, 2.0]
    written = seen.file.getvalue()  # type: ignore[attr-defined]
    places = [written.index(one) for one in ("Nothing is stuck.", "Not read again: it is down", "Escalated disputes")]
    assert places == sorted(places)
    assert written.endswith("\x1b[?25h\x1b[?1049l"), "the cursor and the former screen are back"


def test_a_first_read_that_fails_is_the_answer() -> None:
    def read() -> dict[str, Any]:
        raise Refused("unauthenticated: no")

    with pytest.raises(Refused, match="unauthenticated"):
        watch(read, 2.0, console())
