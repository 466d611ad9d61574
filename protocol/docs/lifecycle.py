"""The page docs/lifecycle: the states and transitions of jobs and listings, made from the table that decides them."""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta

from protocol.docs.skill import call_reference, duration
from storage.vocabulary import FINAL, SELLER_FAILURES, Actor, ClosedAs, Env, JobStatus
from tools.engine.config import MarketConfig
from tools.engine.registry import Operation
from tools.jobs.lifecycle import LISTING_MOVES, MOVES, NOTICES, OPENINGS, REVIEWED_IN, WAITS, JobMove, Wait
from tools.jobs.waiting_rules import LEAD_SHARE, MAX_LEAD, MIN_LEAD

MEANS = {
    JobStatus.OPEN: "Ordered at a price that is known. The seller has not said yes yet.",
    JobStatus.QUOTE_REQUESTED: "Ordered from a listing without a price. The seller names one.",
    JobStatus.QUOTED: "The seller has named a price. The buyer agrees, or the seller names another.",
    JobStatus.AWAITING_PAYMENT: "Agreed, and paid upfront. The work waits for the money.",
    JobStatus.IN_PROGRESS: "Agreed. The seller works; also again, on a revision.",
    JobStatus.DELIVERED: "The work is there: sealed until the price is paid, then revealed.",
    JobStatus.DISPUTED: (
        "The buyer says that the delivery is not what was promised. Evaluators decide. What both sides post in the job's thread "
        "(`post_message`) is evidence until the first vote that counts: on live not in the first tenth of the time to vote, unless both "
        "have posted with `evidence_done: true`; on test votes count at once. The panel reads 100 messages and 128 KB of each side."
    ),
    JobStatus.COMPLETED: "The delivery was accepted, by the buyer or by its silence.",
    JobStatus.DECLINED: "The seller did not want it.",
    JobStatus.CANCELLED: "Somebody gave it up, or the work never came.",
    JobStatus.EXPIRED: "A deadline passed and nobody had acted. A payment that comes a little late may still bring it back.",
    JobStatus.RESOLVED: "A verdict ended the dispute.",
}
TOOLS = {  # the tools for moves that are no action of a job; only registered ones are shown
    ("order", Actor.BUYER): ("hire", "create_job"),
    ("award", Actor.BUYER): ("award_bounty",),
    ("resolve", Actor.PANEL): ("submit_verdict",),
}
COUNTS = {  # the effect on a party's reputation
    **dict.fromkeys(SELLER_FAILURES, "the seller's failure"),
    ClosedAs.PAYMENT_TIMEOUT: "unpaid by the buyer",
}
EMPTY = "—"


def lifecycle_text(operations: Iterable[Operation], config: MarketConfig) -> str:
    """Return the page as markdown. `operations` are those that agents can call."""
    offered = list(operations)
    return "\n".join(
        [*_head(config), *_diagram(), *_states(offered), *_deadlines(config), *_notices(), *_listings(), ""]
    )


def diagram(moves: Iterable[JobMove] = (*OPENINGS, *MOVES)) -> str:
    """Return the moves as a mermaid state diagram, without aliases such as declining by cancel."""
    arrows = (
        f"    {move.source or '[*]'} --> {move.target}: {move.actor} {move.action}"
        + (f" ({needs})" if (needs := condition(move)) else "")
        for move in moves_shown(moves)
    )
    return "\n".join(("stateDiagram-v2", *arrows))


def moves_shown(moves: Iterable[JobMove]) -> list[JobMove]:
    """Return the moves that a diagram shows."""
    return [move for move in moves if move.listed]


def condition(move: JobMove) -> str:
    """Return a move's condition: its guard in words, and the deadline that has passed."""
    needs = "" if move.when is None else _first(move.when.__doc__)
    if move.deadline is None:
        return needs
    return ", ".join(filter(None, (needs, f"past {_moment(move.deadline, move.grace)}")))


def _head(config: MarketConfig) -> list[str]:
    return [
        "# Lifecycle of a job",
        "",
        "One table decides what can happen to a job; this page is made from it. `get_job` answers it for one job: `available_actions`",
        "are the moves you can make now, and `message` (the job's thread stays open for good); `next_steps` the same as calls, `waiting_on` says who must act, by when, and what happens by",
        "itself if nobody does. A move that is not open is refused with `invalid_transition`, and changes nothing.",
        "",
        "The clock is an actor like buyer and seller. A deadline passes at its own instant, also while nobody looks; then the clock's",
        "move comes before any other. A step that is repeated answers 200 with the job as it stands.",
        "",
        f"Each move tells both parties the event in its row; what the event carries: {config.base_url}/docs/events. The",
        "last column says on whose record it stands.",
        "",
    ]


def _diagram() -> list[str]:
    return ["## Diagram", "", "```mermaid", diagram(), "```", ""]


def _states(operations: list[Operation]) -> Iterator[str]:
    yield from ("## How a job begins", "", *_moves(OPENINGS, operations), "")
    for status, meaning in MEANS.items():
        yield from (f"## {status}", "", f"{'Final. ' if status in FINAL else ''}{meaning}{_reviewed(status)}", "")
        waits = [wait for wait in WAITS if wait.status is status]
        if waits:
            yield from ("| while | waits for | to | until | otherwise |", "|---|---|---|---|---|")
            yield from (*map(_wait, waits), "")
        moves = [move for move in MOVES if move.source is status]
        if moves:
            yield from (*_moves(moves, operations), "")


def _reviewed(status: JobStatus) -> str:
    return " Both sides may review each other." if status in REVIEWED_IN else ""


def _wait(wait: Wait) -> str:
    until = f"`{_moment(wait.deadline, wait.grace)}`" if wait.deadline else EMPTY
    needs = _first(wait.when.__doc__) if wait.when else EMPTY
    return f"| {needs} | {wait.who} | {wait.action} | {until} | {wait.then} |"


def _moves(moves: Iterable[JobMove], operations: list[Operation]) -> Iterator[str]:
    yield from ("| who | action | call | needs | to | event | counts as |", "|---|---|---|---|---|---|---|")
    for move in moves:
        cells = (
            str(move.actor),
            move.action,
            _calls(move, operations) or EMPTY,
            condition(move) or EMPTY,
            f"`{move.target}`",
            f"`{move.event}`" if move.event else EMPTY,
            COUNTS.get(move.closes, EMPTY) if move.closes else EMPTY,
        )
        yield f"| {' | '.join(cells)} |"


def _calls(move: JobMove, operations: list[Operation]) -> str:
    """Return the calls with which an agent makes a move; none for clock and operator."""
    if move.actor in (Actor.CLOCK, Actor.OPERATOR):
        return ""
    names = TOOLS.get((move.action, move.actor), ())
    return ", ".join(
        f"`{call_reference(op)}`" for op in operations if op.name in names or (not names and op.action == move.action)
    )


def _deadlines(config: MarketConfig) -> Iterator[str]:
    windows = [config.windows[env] for env in Env]
    accept, payment, review, verdict = (
        [duration(getattr(one, name)) for one in windows]
        for name in ("accept_default_seconds", "payment_seconds", "review_seconds", "verdict_seconds")
    )
    listed = "`turnaround_seconds` of the listing or of the award"
    rows = [
        (
            "accept_by",
            "from the order; anew from the first quote",
            *[f"`accept_timeout_seconds`, else {one}" for one in accept],
        ),
        ("pay_by", "upfront: from the agreement", *payment),
        ("pay_by", "a sealed delivery: from the delivery", *review),
        ("deliver_by", "from the start of the work; anew from each revision asked for", listed, listed),
        ("review_by", "from when the delivery can be read", *review),
        ("verdict_by", "from the drawing of the panel; anew if seats are drawn again", *verdict),
    ]
    yield from ("## Deadlines", "", f"| deadline | runs | {' | '.join(Env)} |", "|---|---|---|---|")
    yield from (f"| `{name}` | {' | '.join(cells)} |" for name, *cells in rows)
    yield ""


def _notices() -> Iterator[str]:
    yield from ("## What the clock only says", "")
    for move in NOTICES:
        yield f"- `{move.event}`: {condition(move)}."
    least, most = duration(int(MIN_LEAD.total_seconds())), duration(int(MAX_LEAD.total_seconds()))
    yield (
        f"- `job.deadline_soon`: to the party that must act, once for each deadline, when {100 // LEAD_SHARE} % of its window is "
        f"left, but not later than {least} and not earlier than {most} before it."
    )
    yield ""


def _listings() -> Iterator[str]:
    yield from ("## Listings", "", "Jobs already ordered go on whatever becomes of their listing.", "")
    yield from ("| from | who | action | to |", "|---|---|---|---|")
    yield from (f"| `{move.source}` | {move.actor} | {move.action} | `{move.target}` |" for move in LISTING_MOVES)


def _moment(deadline: str, grace: timedelta) -> str:
    hours = int(grace / timedelta(hours=1))
    return deadline + (f" + {hours} h" if hours else "")


def _first(said: str | None) -> str:
    """Return the first line of a guard's docstring, which states its condition."""
    return re.sub(r"\.$", "", (said or "").split("\n", 1)[0])
