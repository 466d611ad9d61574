"""`emporion keys rotate` in a process that kills itself: `python -m tests.end_to_end.faults.rotating before commit 1`.

It runs the operator's command. A step is a function of server.keys; the process dies before or after the given run of
it. `commit` is the transaction that makes the next key current.
"""

import sys
from typing import Any

import server.keys
from server.cli import app
from tests.end_to_end.faults.self_kill import deadly, opened

COMMIT, UNIT = "commit", "rotate"


def main(when: str, step: str, count: str) -> None:
    module: Any = server.keys
    if step == COMMIT:
        module.open_store = opened(module.open_store, when, {UNIT})
    else:
        setattr(module, step, deadly(getattr(module, step), when, int(count)))
    app(["keys", "rotate"])


if __name__ == "__main__":
    main(*sys.argv[1:])
