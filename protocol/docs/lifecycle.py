"""The page docs/lifecycle: the states and transitions of jobs and listings, made from the table that decides them."""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from html import escape
from itertools import pairwise

from protocol.docs.markdown import filled, table
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
    JobStatus.EXPIRED: "A deadline passed without an action. A payment that comes a little late may still bring it back.",
    JobStatus.RESOLVED: "A verdict ended the dispute.",
}
TOOLS = {  # the tools for moves that are no action of a job; only registered ones are shown
    ("order", Actor.BUYER): ("hire", "create_job"),
    ("award", Actor.BUYER): ("award_bounty",),
    ("return", Actor.SELLER): ("cancel_job",),
    ("return_too_often", Actor.SELLER): ("cancel_job",),
    ("resolve", Actor.PANEL): ("submit_verdict",),
}
COUNTS = {  # the effect on a party's reputation
    **dict.fromkeys(SELLER_FAILURES, "the seller's failure"),
    ClosedAs.PAYMENT_TIMEOUT: "unpaid by the buyer",
}
START = "a job begins"
# the picture of every way, in px of a phone: width, distance of rows with and without arrows, head and line of a box
WIDE, GAP, SMALL_GAP, HEAD, LINE = 360, 62, 18, 26, 15
LEFT, INDENT = 6, 18
PLACES: dict[str, tuple[int, int, int, dict[str, int]]] = {  # row, left and right edge, and the x of each arrow
    START: (0, 4, 356, {"open": 70, "awaiting_payment": 171, "quote_requested": 240, "in_progress": 348}),
    "open": (1, 4, 158, {"delivered": 18, "in_progress": 60, "awaiting_payment": 120}),
    "quote_requested": (1, 184, 340, {"quoted": 240}),
    "quoted": (2, 184, 340, {"awaiting_payment": 214, "in_progress": 310}),
    "awaiting_payment": (3, 92, 252, {"in_progress": 171}),
    "in_progress": (4, 40, 356, {"delivered": 100}),
    "delivered": (5, 4, 356, {"in_progress": 320, "completed": 60, "disputed": 240}),
    "disputed": (6, 200, 356, {"completed": 216, "resolved": 258}),
    "completed": (7, 4, 232, {}),
    "resolved": (7, 248, 356, {}),
    "declined": (8, 4, 92, {}),
    "cancelled": (8, 104, 196, {}),
    "expired": (8, 208, 356, {}),
}
Moves = dict[str, list[str]]  # actor and action; conditions
BOX, DROP, WIDTH = 24, 22, 240  # of the steps of the usual way: height, distance, width of the picture
USUAL = (  # the steps of most jobs, and what to add to the state after each
    (Actor.BUYER, "order", ""),
    (Actor.SELLER, "accept", ""),
    (Actor.SELLER, "deliver", ", sealed"),
    (Actor.BUYER, "pay", ", revealed"),
    (Actor.BUYER, "accept", ""),
)
EMPTY = "—"
SHOWN = [move for move in (*OPENINGS, *MOVES) if move.listed]  # in diagrams


def lifecycle_text(operations: Iterable[Operation], config: MarketConfig) -> str:
    """Return the page as markdown. `operations` are those that agents can call."""
    offered = list(operations)
    listed = ((f"`{move.source}`", move.actor, move.action, f"`{move.target}`") for move in LISTING_MOVES)
    return filled(
        "lifecycle.md",
        base=config.base_url,
        diagram=diagram(),
        usual_way=usual_way(),
        openings="\n".join(_moves(OPENINGS, offered)),
        states="\n".join(line for status in MEANS for line in _state(status, offered)),
        deadlines="\n".join(_deadlines(config)),
        notices="\n".join(f"- `{move.event}`: {condition(move)}." for move in NOTICES),
        lead_percent=100 // LEAD_SHARE,
        min_lead=duration(int(MIN_LEAD.total_seconds())),
        max_lead=duration(int(MAX_LEAD.total_seconds())),
        listings="\n".join(table("| from | who | action | to |", listed)),
    )


def diagram() -> str:
    """Return the moves as a mermaid state diagram, without aliases such as declining by cancel."""
    arrows = (
        f"    {move.source or '[*]'} --> {move.target}: {move.actor} {move.action}"
        + (f" ({needs})" if (needs := condition(move)) else "")
        for move in SHOWN
    )
    return "\n".join(("stateDiagram-v2", *arrows))


def usual_steps() -> list[tuple[str, str]]:
    """Return the steps of most jobs, each with the state after it, from the table of moves."""
    found, state = list[tuple[str, str]](), None
    for actor, action, beside in USUAL:
        move = next(one for one in SHOWN if (one.source, one.actor, one.action) == (state, actor, action))
        state = move.target
        found.append((f"{actor} {action}", f"{state}{beside}"))
    return [*found, ("both review", "")]


def usual_way() -> str:
    """Return the steps of most jobs as a mermaid flowchart; an arrow has the state between two."""
    steps = usual_steps()
    boxes = [f"step{number}[{step}]" for number, (step, _) in enumerate(steps, 1)]
    rows = zip(boxes, boxes[1:], steps, strict=False)
    return "\n".join(("flowchart TD", *(f"    {box} -->|{state}| {after}" for box, after, (_, state) in rows)))


def usual_way_svg() -> str:
    """Return the steps of most jobs as one <svg>: boxes below each other."""
    steps, y = usual_steps(), LEFT
    height = len(steps) * (BOX + DROP) - DROP + 2 * LEFT
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    lines = [f'<svg class="diagram short" {size} role="img" aria-label="Diagram">']
    for step, state in steps:
        lines.append(f'<rect class="state" x="{LEFT}" y="{y}" width="{WIDTH - 2 * LEFT}" height="{BOX}" rx="5"/>')
        lines.append(f'<text class="name" x="{LEFT + 8}" y="{y + 16}">{escape(step)}</text>')
        y += BOX
        if state:
            lines.append(f'<path d="M{INDENT} {y}v{DROP - 7}"/><path class="head" d="M{INDENT} {y + DROP}l-4 -7h8z"/>')
            lines.append(f'<text x="{INDENT + 12}" y="{y + 14}">{escape(state)}</text>')
        y += DROP
    return "\n".join([*lines, "</svg>"])


def diagram_svg() -> str:
    """Return the states as boxes and the moves as arrows: one <svg>, styled by classes.

    A move without an arrow in PLACES, such as an early end, is a line in the box of its state. Conditions are tooltips.
    """
    arrows, inside = dict[tuple[str, str], Moves](), {state: Moves() for state in PLACES}
    for move in SHOWN:
        source, target, words = str(move.source or START), str(move.target), f"{move.actor} {move.action}"
        drawn = target in PLACES[source][3]
        moves = arrows.setdefault((source, target), {}) if drawn else inside[source]
        moves.setdefault(words if drawn else f"{words} → {target}", []).append(condition(move))
    spans, top = dict[str, tuple[int, int]](), LEFT
    for row in sorted({place[0] for place in PLACES.values()}):
        here = [state for state in PLACES if PLACES[state][0] == row]
        spans |= {state: (top, top + HEAD + LINE * len(inside[state])) for state in here}
        end = max(spans[state][1] for state in here)
        top = end + (GAP if any(PLACES[state][3] for state in here) else SMALL_GAP)
    said = "The states of a job and the moves between them. The tables below say the same."
    size = f'viewBox="0 0 {WIDE} {end + LEFT}" width="{WIDE}" height="{end + LEFT}"'
    lines = [f'<svg class="diagram" {size} role="img" aria-label="{said}">']
    for state, moves in inside.items():
        lines += _box(state, spans[state], moves)
    states = [START, *(state.partition(",")[0] for _, state in usual_steps())]
    usual = set(pairwise(states))
    lines += [_arrow(pair, spans, usual=pair in usual) for pair in arrows]
    lines += [line for source in PLACES for line in _labels(source, spans, arrows)]
    return "\n".join([*lines, "</svg>"])


def _box(state: str, span: tuple[int, int], moves: Moves) -> Iterator[str]:
    """Yield a state with the moves that have no arrow."""
    (top, bottom), (_, left, right, _) = span, PLACES[state]
    final = " final" if state in FINAL else ""
    yield f'<rect class="state{final}" x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" rx="6"/>'
    yield f'<text class="name" x="{left + 8}" y="{top + 17}">{escape(state)}</text>'
    for number, (words, needs) in enumerate(moves.items(), 1):
        yield _text(f'x="{left + 8}" y="{top + 17 + LINE * number}"', words, f"{state}: {words}", needs)


def _arrow(pair: tuple[str, str], spans: dict[str, tuple[int, int]], *, usual: bool) -> str:
    """Return the arrow from one state down or up to another."""
    x, (top, bottom), (to_top, to_bottom) = PLACES[pair[0]][3][pair[1]], spans[pair[0]], spans[pair[1]]
    begin, end, back = (bottom, to_top, -8) if to_top > top else (top, to_bottom, 8)
    path = f'<path d="M{x} {begin}V{end + back}"/><path class="head" d="M{x} {end}l-4 {back}h8z"/>'
    return f'<g class="usual">{path}</g>' if usual else path


def _labels(source: str, spans: dict[str, tuple[int, int]], arrows: dict[tuple[str, str], Moves]) -> Iterator[str]:
    """Yield the moves of the arrows from a state; each is a line beside its arrow."""
    number = 0
    for target, x in PLACES[source][3].items():
        up, left = spans[target] < spans[source], x > 300
        for words, needs in arrows.get((source, target), {}).items():
            number += not up
            y = spans[source][0] - LINE if up else spans[source][1] + LINE * ((number - 1) % 3 + 1)
            place = f'class="label left" x="{x - 5}" y="{y}"' if left else f'class="label" x="{x + 5}" y="{y}"'
            yield _text(place, words, f"{source} → {target}: {words}", needs)


def _text(place: str, words: str, said: str, needs: list[str]) -> str:
    """Return a text with a tooltip: what is said, and its conditions."""
    told = "; ".join(filter(None, needs))
    return f"<text {place}><title>{escape(said + (f' ({told})' if told else ''))}</title>{escape(words)}</text>"


def condition(move: JobMove) -> str:
    """Return a move's condition: its guard in words, and the deadline that has passed."""
    needs = "" if move.when is None else _first(move.when.__doc__)
    if move.deadline is None:
        return needs
    return ", ".join(filter(None, (needs, f"past {_moment(move.deadline, move.grace)}")))


def _state(status: JobStatus, operations: list[Operation]) -> Iterator[str]:
    final = "Final. " if status in FINAL else ""
    reviewed = " Both sides may review each other." if status in REVIEWED_IN else ""
    yield from (f"## {status}", "", f"{final}{MEANS[status]}{reviewed}", "")
    waits = [wait for wait in WAITS if wait.status is status]
    if waits:
        yield from (*table("| while | waits for | to | until | otherwise |", map(_wait, waits)), "")
    moves = [move for move in MOVES if move.source is status]
    if moves:
        yield from (*_moves(moves, operations), "")


def _wait(wait: Wait) -> tuple[str, ...]:
    until = f"`{_moment(wait.deadline, wait.grace)}`" if wait.deadline else EMPTY
    needs = _first(wait.when.__doc__) if wait.when else EMPTY
    return needs, wait.who, wait.action, until, wait.then


def _moves(moves: Iterable[JobMove], operations: list[Operation]) -> Iterator[str]:
    rows = (
        (
            move.actor,
            move.action,
            _calls(move, operations) or EMPTY,
            condition(move) or EMPTY,
            f"`{move.target}`",
            f"`{move.event}`" if move.event else EMPTY,
            COUNTS.get(move.closes, EMPTY) if move.closes else EMPTY,
        )
        for move in moves
    )
    return table("| who | action | call | needs | to | event | counts as |", rows)


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
            "`accept_by`",
            "from the order; anew from the first quote",
            *[f"`accept_timeout_seconds`, else {one}" for one in accept],
        ),
        ("`pay_by`", "upfront: from the agreement", *payment),
        ("`pay_by`", "a sealed delivery: from the delivery", *review),
        ("`deliver_by`", "from the start of the work; anew from each revision asked for", listed, listed),
        ("`review_by`", "from when the delivery can be read", *review),
        ("`verdict_by`", "from the drawing of the panel; anew if seats are drawn again", *verdict),
    ]
    return table(f"| deadline | runs | {' | '.join(Env)} |", rows)


def _moment(deadline: str, grace: timedelta) -> str:
    hours = int(grace / timedelta(hours=1))
    return deadline + (f" + {hours} h" if hours else "")


def _first(said: str | None) -> str:
    """Return the first line of a guard's docstring, which states its condition."""
    return re.sub(r"\.$", "", (said or "").split("\n", 1)[0])
