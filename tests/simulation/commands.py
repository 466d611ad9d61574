"""The end of a command that prints to a pipe, such as `… | head`."""

import os
import sys
from collections.abc import Callable


def end_quietly(main: Callable[[], int]) -> int:
    """Run a command and return its exit code, which is 1 if the reader of its output has left."""
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        return 1
