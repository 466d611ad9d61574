"""`python -m tests.requirements`: the number of clauses, tested clauses and deferred clauses under each heading."""

import sys
from collections import Counter
from collections.abc import Iterable

from tests.requirements import REQUIREMENTS
from tests.requirements.coverage import Report, claims, compare
from tests.requirements.model import NAMED, Requirement


def main() -> int:
    """Print the table and all faults; return 0 only if each clause is either tested or deferred."""
    report = compare(claims())
    print(printed(report))
    for fault in faults(report):
        print(fault)
    return 0 if report.whole else 1


def printed(report: Report, wanted: Iterable[Requirement] = REQUIREMENTS) -> str:
    """Return the table: one line for each heading of the contract, in its order, and the sum."""
    listed = list(wanted)
    headings = list(dict.fromkeys(one.heading for one in listed))
    issues = sorted({one.deferred for one in listed if one.deferred is not None})
    width = max(map(len, [*headings, "All"]))
    head = ["clauses", "tested", *(f"to {issue} of 5" for issue in issues), "missing"]
    lines = [" " * width + "".join(f"{word:>11}" for word in head)]
    under = {heading: [one for one in listed if one.heading == heading] for heading in headings}
    lines.extend(_line(heading, ones, issues, report, width) for heading, ones in under.items())
    lines.append("-" * len(lines[0]))
    lines.append(_line("All", listed, issues, report, width))
    lines.extend(f"to {issue} of 5: {NAMED[issue].partition(', ')[2]}" for issue in issues)
    return "\n".join(lines)


def faults(report: Report) -> list[str]:
    """Return one sentence for each fault."""
    return [
        *(f"missing: {one.id} ({one.heading}, {one.source}): {one.sentence}" for one in report.missing),
        *(f"unknown: {claim.test} covers {claim.id}, which is no clause" for claim in report.unknown),
        *(f"deferred: {claim.test} covers {claim.id}, so it is not to be deferred" for claim in report.too_early),
    ]


def _line(name: str, listed: list[Requirement], issues: list[int], report: Report, width: int) -> str:
    later = Counter(one.deferred for one in listed)
    missing = sum(one in report.missing for one in listed)
    figures = [
        len(listed),
        sum(one.id in report.tested for one in listed),
        *(later[issue] for issue in issues),
        missing,
    ]
    return f"{name:<{width}}" + "".join(f"{figure:>11}" for figure in figures)


if __name__ == "__main__":
    sys.exit(main())
