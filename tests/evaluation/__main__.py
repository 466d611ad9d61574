"""`python -m tests.evaluation`: the tool set, graded. Exits with 1 where a bound of tests/evaluation/report.py is broken."""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.evaluation.report import made, printed
from tests.evaluation.typical import sizes


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        report = made(asyncio.run(sizes(Path(folder))))
    print("\n".join(printed(report)))
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())
