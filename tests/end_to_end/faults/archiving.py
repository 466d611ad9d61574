"""`emporion archive` in a process that kills itself: `python -m tests.end_to_end.faults.archiving before commit 1 …`.

A step is a function that writes or reads files, or `commit`, the transaction that deletes or restores the rows. The
process dies before or after the given run of it. The rest of the line are the words of the command. PART_JOBS in the
environment is the number of jobs in a file.
"""

import os
import sys
from typing import Any

import server.archive
import server.archive_files
import tools.operator.archives
from server.cli import app
from tests.end_to_end.faults.self_kill import deadly, opened

COMMIT, UNITS = "commit", {"archive", "restore_archive"}
FILE_STEPS = {"write_file": server.archive_files, "sync": server.archive_files, "read_part": server.archive}


def main(when: str, step: str, count: str, *words: str) -> None:
    tools.operator.archives.PART_JOBS = int(os.environ.get("PART_JOBS", tools.operator.archives.PART_JOBS))
    module: Any = FILE_STEPS.get(step, server.archive)
    if step == COMMIT:
        module.open_used = opened(module.open_used, when, UNITS, int(count))
    else:
        setattr(module, step, deadly(getattr(module, step), when, int(count)))
    app([*words])


if __name__ == "__main__":
    main(*sys.argv[1:])
