"""Finding 15: a public market uses the default brand, so signatures made for another market are valid here."""

import time
from pathlib import Path

import pytest

from tests.end_to_end.attacks.world import _end, _free_port, launch

SECONDS = 90


def start(folder: Path, *options: str, **settings: str) -> tuple[int | None, str]:
    """Start a market; return its exit code (None if it serves) and its output."""
    given = {"data_dir": str(folder / "data"), "port": str(_free_port())} | settings
    said = folder / "said"
    with said.open("wb") as log:
        process = launch(["serve", *options], given, folder, log)
    until = time.monotonic() + SECONDS
    while process.poll() is None and "serves http" not in said.read_text(errors="replace"):
        assert time.monotonic() < until, said.read_text(errors="replace")
        time.sleep(0.1)
    code = process.poll()
    _end(process)
    return code, said.read_text(errors="replace")


@pytest.mark.finding(15)
def test_a_market_that_others_reach_does_not_serve_under_everybodys_name(tmp_path: Path) -> None:
    code, said = start(tmp_path, base_url="https://market.example")
    assert code == 2, said


@pytest.mark.parametrize(
    "base", ["https://127.0.0.1.market.example", "http://192.168.1.7:8000", "https://localhost.example"]
)
def test_an_address_that_looks_like_loopback_is_none(tmp_path: Path, base: str) -> None:
    code, said = start(tmp_path, base_url=base)
    assert code == 2, said


@pytest.mark.verify
def test_a_named_market_serves_and_its_name_does_not_change_by_accident(tmp_path: Path) -> None:
    named = {"base_url": "https://market.example", "service_name": "agora"}
    assert start(tmp_path, **named)[0] is None
    code, said = start(tmp_path, **named | {"service_name": "forum"})
    assert (code, "agora" in said) == (2, True)
    assert start(tmp_path, "--change-brand", **named | {"service_name": "forum"})[0] is None
    assert start(tmp_path, **named)[0] == 2
