"""`emporion doctor --recompute` in a process that kills itself: `python -m tests.end_to_end.faults.recomputing after 3`.

The process dies before or after it writes its file for this page, the first is 1. Each page has one id. The rest of the
line are the words of the command.
"""

import sys
from typing import Any

import server.recompute_run
from server.cli import app
from tests.end_to_end.faults.self_kill import deadly
from tools.operator.aggregate_checks import SOURCES


def main(when: str, count: str, *words: str) -> None:
    for source in SOURCES:
        source.page = 1
    file: Any = server.recompute_run.RunFile
    file.write = deadly(file.write, when, int(count))
    app([*words])


if __name__ == "__main__":
    main(*sys.argv[1:])
