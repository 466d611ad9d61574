"""The lifecycle as an SVG picture without scripts, drawn from the table of moves.

Every state is a bar, with the moves out of it below. Every state has a lane on the right: moves into the state join the
lane, which ends in an arrow at its bar. A row is one action of one actor to one state; its conditions are in the
tooltip.
"""

from collections.abc import Iterable, Iterator
from html import escape

from protocol.docs.lifecycle import MEANS, condition, moves_shown
from storage.vocabulary import FINAL
from tools.jobs.lifecycle import MOVES, OPENINGS, JobMove

LEFT, ROW, BAR, GAP = 6, 17, 22, 12
INDENT, LETTER = 18, 6.1  # width of a letter in a monospaced font of size 10
LANES, LANE = 254, 11
END = 250  # right end of the bars
START = "[*]"


def diagram_svg(moves: Iterable[JobMove] = (*OPENINGS, *MOVES)) -> str:
    """Return one <svg>; its styles are classes of the stylesheet."""
    return "\n".join(Diagram(moves_shown(moves)).lines())


class Diagram:
    """The layout of the diagram."""

    def __init__(self, moves: list[JobMove]) -> None:
        self.rows: dict[tuple[str, str, str], list[str]] = {}
        for move in moves:
            words = f"{move.actor} {move.action}"
            self.rows.setdefault((move.source or START, words, move.target), []).append(condition(move))
        self.states: list[str] = [START, *MEANS]
        self.bars, self.lines_at = dict[str, int](), dict[tuple[str, str, str], int]()
        at = LEFT
        for state in self.states:
            self.bars[state] = at
            at += BAR
            for row in self.rows:
                if row[0] == state:
                    self.lines_at[row] = at + ROW // 2
                    at += ROW
            at += GAP
        self.height = at
        entered = {target for _, _, target in self.rows}
        self.lanes = {state: LANES + LANE * n for n, state in enumerate(s for s in self.states if s in entered)}
        self.width = LANES + LANE * len(self.lanes) + LEFT

    def lines(self) -> Iterator[str]:
        yield (
            f'<svg class="diagram" viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}" '
            'role="img" aria-label="Diagram">'
        )
        for state in self.lanes:
            yield from self._lane(state)
        for state, y in self.bars.items():
            final = " final" if state in FINAL else ""
            yield f'<rect class="state{final}" x="{LEFT}" y="{y}" width="{END - LEFT}" height="{BAR}" rx="5"/>'
            yield f'<text class="name" x="{LEFT + 8}" y="{y + 15}">{escape(state)}</text>'
        yield "</svg>"

    def _lane(self, state: str) -> Iterator[str]:
        """Yield the lane into a state, with the moves that join it."""
        x, end = self.lanes[state], self.bars[state] + BAR // 2
        joined = {row: y for row, y in self.lines_at.items() if row[2] == state}
        ends = (end, *joined.values())
        yield f'<g class="lane"><path d="M{x} {min(ends)}V{max(ends)}M{x} {end}H{END + 5}"/>'
        yield f'<path class="head" d="M{END} {end}l7 -4v8z"/>'
        for (source, words, target), y in joined.items():
            said = f"{words} → {target}"
            needs = "; ".join(filter(None, self.rows[source, words, target]))
            title = f"{source} → {target}: {words}" + (f" ({needs})" if needs else "")
            yield f"<g><title>{escape(title)}</title>"
            yield f'<path d="M{INDENT + len(said) * LETTER + 5:.0f} {y}H{x}"/><circle cx="{x}" cy="{y}" r="2"/>'
            yield f'<text x="{INDENT}" y="{y + 3}">{escape(said)}</text></g>'
        yield "</g>"
