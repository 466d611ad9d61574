"""Finding 18: other users of the machine can read the database."""

import stat
import time
from pathlib import Path

import pytest

from tests.end_to_end.attacks.world import _end, _free_port, launch

SECONDS = 90


def run(folder: Path, *command: str, umask: int = 0o022) -> None:
    """Run a command of the tree with the usual umask; stop a server as soon as it serves."""
    said = folder.parent / "said"
    given = {"data_dir": str(folder), "port": str(_free_port())}
    with said.open("wb") as log:
        process = launch(command, given, folder.parent, log, umask=umask)
    until = time.monotonic() + SECONDS
    while process.poll() is None and "serves http" not in said.read_text(errors="replace"):
        assert time.monotonic() < until, said.read_text(errors="replace")
        time.sleep(0.1)
    modes = readable(folder)
    _end(process)
    assert modes == []
    assert (folder / "market.db").exists()


def readable(folder: Path) -> list[str]:
    """Return the files that users other than their owner can open."""
    return sorted(one.name for one in folder.rglob("*") if one.is_file() and stat.S_IMODE(one.stat().st_mode) & 0o077)


@pytest.mark.finding(18)
@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_others_read_nothing_in_a_folder_that_they_can_enter(tmp_path: Path, command: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    run(folder, command)
    assert readable(folder) == []


def test_a_backup_is_the_owners_alone(tmp_path: Path) -> None:
    folder, copy = tmp_path / "data", tmp_path / "copy"
    folder.mkdir(mode=0o755)
    copy.mkdir(mode=0o755)
    run(folder, "serve")
    run(folder, "backup", str(copy))
    assert readable(copy) == []
