"""The ends of a command without a traceback: Ctrl-C, and a pipe whose reader leaves, such as `… | head`."""

import os
import signal
import sys
from collections.abc import Callable


def end_quietly(main: Callable[[], int]) -> int:
    """Run a command; return its exit code: 1 if the reader of its output left, 130 on Ctrl-C."""
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
