"""The matrix of a run: each move of every lifecycle table, by the classes of faults that were active around it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.faults import CONFLICT, KINDS
from tests.simulation.messages import NOTIFICATION, WAKE_UP
from tools.bounties.rules import BOUNTY_MOVES, PROPOSAL_MOVES
from tools.jobs.lifecycle import MOVES, NOTICES, OPENINGS, Move
from tools.jobs.panel_rules import Escalation
from tools.purchases.rules import TRANSITIONS, Event

NONE = "none"
FAULTS = (
    NONE, "crash", "crash_before_commit", "crash_after_commit", *KINDS, CONFLICT, "reorg", "deep_reorg", "nodes",
    "facilitator", "webhook", "webhook_lost", NOTIFICATION, WAKE_UP, "lost_reply", "doubled", "clock", "stopped", "sanctions",
    "peer",
)  # fmt: skip

Row = tuple[str, str]  # a table and a move
DISPUTE_MOVES = (
    "draw round 1", "draw round 2", "vote", "miss a vote", "void a seat", "decide by panel", "decide by operator",
    "decide by buyer", *(f"escalate: {one}" for one in Escalation),
)  # fmt: skip


def name_of(move: Move[Any, Any]) -> str:
    """Name a move uniquely in its table."""
    return f"{move.action}: {move.source or 'new'} to {move.target} by {move.actor}"


def purchase_row(event: Event) -> Row:
    return "purchases", f"{event} to {TRANSITIONS[event][1]}"


ROWS: tuple[Row, ...] = (
    *(("jobs", name_of(move)) for move in (*OPENINGS, *MOVES, *NOTICES)),
    *(("bounties", name_of(move)) for move in BOUNTY_MOVES),
    *(("proposals", name_of(move)) for move in PROPOSAL_MOVES),
    *(("disputes", one) for one in DISPUTE_MOVES),
    *(purchase_row(event) for event in Event),
)
REASONS: dict[tuple[Row, str], str] = {
    (("purchases", "take_back to working"), NONE): "only a fault of the facilitator leaves a payment unsent",
}
"""Cells that stay empty in every run, with the reason."""


@dataclass
class Matrix:
    """Counts by move and class of faults.

    `seen` are the classes of a run; only these can leave a hole.
    """

    counts: Counter[tuple[Row, str]] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=lambda: {NONE})

    @property
    def classes(self) -> Sequence[str]:
        return [*FAULTS, *sorted(self.seen - {*FAULTS})]

    def holes(self) -> Iterator[tuple[Row, list[str], str | None]]:
        """Yield each move with empty cells: the classes of those that have one reason, or none."""
        for row in ROWS:
            empty: dict[str | None, list[str]] = defaultdict(list)
            for one in self.classes:
                if one in self.seen and not self.counts[row, one]:
                    empty[REASONS.get((row, one))].append(one)
            for reason, classes in empty.items():
                yield row, classes, reason

    def __add__(self, other: "Matrix") -> "Matrix":
        return Matrix(self.counts + other.counts, self.seen | other.seen)

    def record(self) -> dict[str, Any]:
        """Return the counts as JSON, which `of` takes."""
        counts = [[*row, kind, count] for (row, kind), count in sorted(self.counts.items())]
        return {"seen": sorted(self.seen), "counts": counts}

    @staticmethod
    def of(found: dict[str, Any]) -> "Matrix":
        """Return the matrix of a record."""
        counts = {((table, move), kind): count for table, move, kind, count in found["counts"]}
        return Matrix(Counter(counts), {*found["seen"]})

    def without_reason(self) -> int:
        return sum(len(empty) for _, empty, reason in self.holes() if reason is None)

    def lines(self) -> Iterator[str]:
        """Yield the matrix as lines of text, and then its holes."""
        columns = [one for one in self.classes if one in self.seen]
        yield "Moves with each fault up to a minute before or just after; a move may count in several columns:"
        wide = max(len(f"{table} {move}") for table, move in ROWS)
        yield " ".join((f"{'':{wide}}", *(f"{one:>12}" for one in columns)))
        for row in ROWS:
            yield " ".join(
                (f"{' '.join(row):{wide}}", *(f"{self.counts[row, one]:>{max(12, len(one))},}" for one in columns))
            )
        if missing := [one for one in FAULTS if one not in self.seen]:
            yield f"These faults did not happen, and have no column: {', '.join(missing)}."
        yield f"{self.without_reason()} of {len(ROWS) * len(columns)} cells are empty without a reason:"
        yield from (f"  {hole}" for hole in self.hole_lines())

    def hole_lines(self) -> Iterator[str]:
        """Yield the empty cells of each move as text, with their reason."""
        columns = {one for one in self.classes if one in self.seen}
        for (table, move), empty, reason in self.holes():
            under = ", ".join(one for one in empty if one != NONE)
            parts = ["not without a fault"] * (NONE in empty) + [f"not under {under}"] * bool(under)
            found = "never" if columns == {*empty} else "; ".join(parts)
            yield f"{table} {move}: {found}{'' if reason is None else f', because {reason}'}"
