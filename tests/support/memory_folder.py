"""Temporary files in memory, because on a disk each commit of a database waits for fsync."""

import os
import shutil
import signal
import sys
import tempfile
from multiprocessing import active_children
from pathlib import Path

import psutil

FOLDER = Path("/dev/shm")
NEEDED = 4 * 2**30  # bytes; the tests use less than half of it


def use_memory() -> None:
    """Make temporary files in memory if there is plenty, unless TMPDIR says where they belong."""
    if "TMPDIR" not in os.environ and has_room(FOLDER):
        os.environ["TMPDIR"] = tempfile.tempdir = str(FOLDER)


def end_on_sigterm() -> None:
    """End this process and its children on SIGTERM so that they remove their files."""

    def end(number: int, _: object) -> None:
        for child in active_children():
            child.terminate()
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, end)


def has_room(folder: Path) -> bool:
    """Tell whether the folder is in memory, has room, and can hold programs."""
    if not folder.is_dir() or not os.access(folder, os.W_OK) or os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    return min(shutil.disk_usage(folder).free, psutil.virtual_memory().available) >= NEEDED
