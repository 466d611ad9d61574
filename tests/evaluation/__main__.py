"""`python -m tests.evaluation`: grade the tools. Exits with 1 if a bound of tests/evaluation/report.py is broken."""

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
