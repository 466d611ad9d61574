"""A page of HTML about a run: figures and plots with the text that explains them, in one file without a library."""

from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from math import log

from tests.simulation.available import ENOUGH, EVERY, Tried, fewest
from tests.simulation.cheats.ledger import Ledger
from tests.simulation.matrix import REASONS, ROWS, Matrix
from tests.simulation.model.lifecycle import BUYER, SELLER
from tests.simulation.records import Result

STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; color: #1a1a1a; background: #fff }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
code { overflow-wrap: anywhere; background: #f2f2f2; padding: .1em .3em }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .8rem }
th { text-align: left; font-weight: 600; padding: .15rem .4rem; vertical-align: bottom } thead th { white-space: nowrap }
td { text-align: right; padding: .15rem .4rem; border: 1px solid #fff; font-variant-numeric: tabular-nums }
.hole { background: #f6c9c4 } .reason { background: #e4e4e4 }
.bar { display: grid; grid-template-columns: 9.5rem 1fr 4rem; gap: .5rem; align-items: center; font-size: .85rem }
.bar span { overflow-wrap: anywhere } .bar b { text-align: right; font-weight: 400; font-variant-numeric: tabular-nums }
svg { width: 100%; height: .7rem; display: block } rect { fill: #3a6ea5 }
"""
HOUR, DAY = 3_600, 86_400
DAYS_FROM = 3  # shorter runs show hours
Parts = Iterator[str]


def page(result: Result, command: str) -> str:
    """Return the page about a run that `command` repeats."""
    parts = (
        _head(result, command), _calls(result), _pace(result), _faults(result), _matrix(result.matrix),
        _actions(result.tried), _cheats(result.ledger),
    )  # fmt: skip
    body = "\n".join(line for part in parts for line in part)
    title = escape(f"Simulation of the market, seed {result.seed}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n{body}\n</body></html>\n"
    )


def _head(result: Result, command: str) -> Parts:
    days = result.virtual_seconds / DAY
    yield _text(
        f"{result.operations:,} operations and {result.faults.total():,} effects of faults in {days:.1f} days of virtual time. "
        "No oracle found a violation."
    )
    yield f"<p>Log sha256: <code>{escape(result.digest)}</code></p>"
    yield f"<p>This command repeats the run, with the same log: <code>{escape(command)}</code></p>"


def _calls(result: Result) -> Parts:
    yield "<h2>Operations by kind</h2>"
    yield _text(
        "Each bar counts the calls of one operation. A call that a crash interrupted is repeated, and counts once. Bars such as "
        "“POST v1” are raw requests of cheats."
    )
    yield from _bars(result.by_operation)
    yield "<h2>Answers by code</h2>"
    refused = result.by_code.total() - result.by_code["ok"]
    yield _text(
        "“ok” is a record; the other words are codes of errors, or the status of a raw request. "
        f"{refused:,} of {result.by_code.total():,} calls were refused."
    )
    yield from _bars(result.by_code)


def _pace(result: Result) -> Parts:
    """Plot the operations by day, or by hour if the run is short."""
    unit, seconds = ("day", DAY) if result.virtual_seconds >= DAYS_FROM * DAY else ("hour", HOUR)
    counts = Counter[int]()
    for hour, count in result.by_hour.items():
        counts[hour * HOUR // seconds] += count
    last = max(counts, default=0)
    most = max(counts.values(), default=0)
    yield f"<h2>Operations per virtual {unit}</h2>"
    yield _text(
        f"Each column is one {unit} of virtual time; the highest has {most:,} operations. After the last operation the faults end, and "
        "time passes until every open thing has reached its last deadline."
    )
    yield f'<svg viewBox="0 0 {last + 1} 20" preserveAspectRatio="none" style="height:8rem" role="img" aria-label="operations">'
    for place, count in sorted(counts.items()):
        high = 20 * count / most
        yield f'<rect x="{place}" y="{20 - high:.2f}" width="0.9" height="{high:.2f}"><title>{unit} {place}: {count:,}</title></rect>'
    yield "</svg>"


def _faults(result: Result) -> Parts:
    yield "<h2>Faults by kind</h2>"
    yield _text(
        "A fault counts once for each effect: a crash, a reorganised chain, or a call of a neighbour or the database that failed."
    )
    yield from _bars(result.faults)


def _matrix(matrix: Matrix) -> Parts:
    """Show the matrix as a heat map, with its holes and their reasons."""
    columns = [one for one in matrix.classes if one in matrix.seen]
    most = max(matrix.counts.values(), default=1)
    yield "<h2>Moves of the lifecycle tables, by the faults around them</h2>"
    yield _text(
        "Each row is a move of a table; each column is a class of faults that was active up to a minute before the move or just after it, and “none” has the moves without a fault around them. "
        "Darker cells have more moves. Red cells are empty; grey ones cannot be filled; the list below gives the reasons. "
        f"{matrix.without_reason():,} of {len(ROWS) * len(columns):,} cells are empty without a reason."
    )
    yield from _table(
        ("table", "move", *columns),
        (
            f"<th>{escape(row[0])}</th><th>{escape(row[1])}</th>"
            + "".join(_cell(matrix.counts[row, one], most, (row, one) in REASONS) for one in columns)
            for row in ROWS
        ),
    )
    yield "<details><summary>Holes and their reasons</summary><ul>"
    yield from (f"<li>{escape(hole)}</li>" for hole in matrix.hole_lines())
    yield "</ul></details>"


def _cell(count: int, most: int, has_reason: bool) -> str:
    if not count:
        return f'<td class="{"reason" if has_reason else "hole"}">0</td>'
    share = log(count + 1) / log(most + 1)
    ink = "#fff" if share > 0.6 else "#1a1a1a"
    return f'<td style="background:rgba(31,78,121,{share:.2f});color:{ink}">{count:,}</td>'


def _actions(tried: Tried) -> Parts:
    """Show how often the actions were tried in each state."""
    counts = fewest(tried)
    yield "<h2>Checks of available_actions</h2>"
    yield _text(
        f"Each action was tried by dry run on jobs of each state, for both parties: {tried.total():,} times in all. The figures are those "
        f"of the action that was tried least. A place is checked at most once in {EVERY} operations, and a series of runs needs "
        f"{ENOUGH:,} checks of each. Red cells have no check in this run."
    )
    yield from _table(
        ("state", BUYER, SELLER),
        (
            f"<th>{escape(state)}</th>" + "".join(_checks(counts[state, role]) for role in (BUYER, SELLER))
            for state in sorted({state for state, _ in counts})
        ),
    )


def _checks(count: int) -> str:
    return f'<td class="{"reason" if count else "hole"}">{count:,}</td>'


def _cheats(ledger: Ledger) -> Parts:
    """Show what each kind of cheat tried and gained, if there were any."""
    if not ledger.accounts:
        return
    yield "<h2>Cheats</h2>"
    yield _text(
        "Each row is a kind of cheat: how often it tried, what it gained, and what it paid. Money is in minor units of USDC; work counts "
        "outputs; access, rank, verdict and load count what the cheat got beyond the rules."
    )
    yield from _table(
        ("cheat", "finding", "attempts", "gained", "paid"),
        (
            f"<th>{escape(name)}</th><td>{one.finding or '-'}</td><td>{one.attempts:,}</td>"
            f"<td>{escape(', '.join(f'{kind} {amount:,}' for kind, amount in one.gains.items()) or 'nothing')}</td>"
            f"<td>{one.paid:,}</td>"
            for name, one in sorted(ledger.accounts.items())
        ),
    )


def _table(heads: Iterable[str], rows: Iterable[str]) -> Parts:
    """Yield a table that scrolls sideways on a narrow screen."""
    titles = "".join(f"<th>{escape(one)}</th>" for one in heads)
    yield f'<div class="wide"><table><thead><tr>{titles}</tr></thead><tbody>'
    yield from (f"<tr>{row}</tr>" for row in rows)
    yield "</tbody></table></div>"


def _bars(counts: Counter[str]) -> Parts:
    """Yield a bar for each count, the longest first, with its figure beside it."""
    most = max(counts.values(), default=1)
    for name, count in counts.most_common():
        wide = 100 * count / most
        bar = f'<svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width="{wide:.2f}" height="6"/></svg>'
        yield f'<div class="bar"><span>{escape(name)}</span>{bar}<b>{count:,}</b></div>'


def _text(words: str) -> str:
    return f"<p>{escape(words)}</p>"
