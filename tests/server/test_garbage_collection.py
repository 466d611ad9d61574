"""After the start, garbage collection skips permanent objects and hardly runs while a large body is parsed."""

import gc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from server import serve
from tools.kernel.strict_json import parse

LISTS = b"[" + b",".join([b"[]"] * 49_000) + b"]"
DEFAULT = (700, 10, 10)  # thresholds of a new process; the tests use others


@pytest.fixture
def collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*DEFAULT)
    gc.collect()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


def collected_while_reading() -> int:
    before = collections()
    assert len(parse(LISTS)) == 49_000  # type: ignore[arg-type]
    return collections() - before


def test_the_collector_does_not_look_through_a_body_while_it_is_read(
    collector: None, capsys: pytest.CaptureFixture[str]
) -> None:
    before = collected_while_reading()
    serve.settle_and_say("It serves.", None, ExitStack())
    assert (capsys.readouterr().out, gc.isenabled(), gc.get_freeze_count() > 10_000) == ("It serves.\n", True, True)
    assert (before > 50, collected_while_reading() <= 2) == (True, True)
