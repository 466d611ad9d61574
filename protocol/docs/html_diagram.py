"""The lifecycle as an SVG picture without scripts, drawn from the table of moves.

Every state is a bar, with the moves out of it below. Every state has a lane on the right: moves into the state join the
lane, which ends in an arrow at its bar. A row is one action of one actor to one state; its conditions are in the
tooltip.
"""

from collections.abc import Iterator
from html import escape

from protocol.docs.lifecycle import MEANS, SHOWN, condition
from storage.vocabulary import FINAL

LEFT, ROW, BAR, GAP = 6, 17, 22, 12
INDENT, LETTER = 18, 6.1  # width of a letter in a monospaced font of size 10
LANES, LANE = 254, 11
END = 250  # right end of the bars
START = "[*]"
Row = tuple[str, str, str]  # source, actor and action, target


def diagram_svg() -> str:
    """Return one <svg>; its styles are classes of the stylesheet."""
    rows: dict[Row, list[str]] = {}
    for move in SHOWN:
        row = (move.source or START, f"{move.actor} {move.action}", str(move.target))
        rows.setdefault(row, []).append(condition(move))
    bars, places, y = dict[str, int](), dict[Row, int](), LEFT
    for state in (START, *MEANS):
        bars[state], y = y, y + BAR
        for row in rows:
            if row[0] == state:
                places[row], y = y + ROW // 2, y + ROW
        y += GAP
    entered = [state for state in bars if any(target == state for _, _, target in rows)]
    width = LANES + LANE * len(entered) + LEFT
    size = f'viewBox="0 0 {width} {y}" width="{width}" height="{y}"'
    lines = [f'<svg class="diagram" {size} role="img" aria-label="Diagram">']
    for number, state in enumerate(entered):
        joining = {row: place for row, place in places.items() if row[2] == state}
        lines += _lane(LANES + LANE * number, bars[state] + BAR // 2, joining, rows)
    for state, top in bars.items():
        final = " final" if state in FINAL else ""
        lines.append(f'<rect class="state{final}" x="{LEFT}" y="{top}" width="{END - LEFT}" height="{BAR}" rx="5"/>')
        lines.append(f'<text class="name" x="{LEFT + 8}" y="{top + 15}">{escape(state)}</text>')
    return "\n".join([*lines, "</svg>"])


def _lane(x: int, end: int, joining: dict[Row, int], rows: dict[Row, list[str]]) -> Iterator[str]:
    """Yield the lane into a state, with the moves that join it and its arrow at `end`."""
    ends = (end, *joining.values())
    yield f'<g class="lane"><path d="M{x} {min(ends)}V{max(ends)}M{x} {end}H{END + 5}"/>'
    yield f'<path class="head" d="M{END} {end}l7 -4v8z"/>'
    for row, y in joining.items():
        source, words, target = row
        said = f"{words} → {target}"
        needs = "; ".join(filter(None, rows[row]))
        title = f"{source} → {target}: {words}" + (f" ({needs})" if needs else "")
        yield f"<g><title>{escape(title)}</title>"
        yield f'<path d="M{INDENT + len(said) * LETTER + 5:.0f} {y}H{x}"/><circle cx="{x}" cy="{y}" r="2"/>'
        yield f'<text x="{INDENT}" y="{y + 3}">{escape(said)}</text></g>'
    yield "</g>"
