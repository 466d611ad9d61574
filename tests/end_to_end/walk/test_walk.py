"""Random walks over the whole market: invariants hold after any calls, times and faults."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from storage import sqlite
from tests.end_to_end.walk.arguments import AGENTS, BY_HAND, call_as_usual
from tests.end_to_end.walk.ground import Ground
from tests.end_to_end.walk.machine import Market
from tests.end_to_end.walk.walk import begun

POSTGRES_SHARE = 10  # one walk on PostgreSQL for this many on SQLite
STEPS = 15
SEED = 20261121  # repeats the same walks; `make torture` makes others each time


@pytest.fixture
def fresh(
    database: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], str]:
    """Makes the URL of an empty database for each walk.

    SQLite does not wait for the disk, because walks simulate no power failure.
    """
    monkeypatch.setattr(sqlite, "WRITER", sqlite.WRITER.replace("synchronous=FULL", "synchronous=OFF"))
    if database == "postgres":
        return request.getfixturevalue("postgres_database").empty  # type: ignore[no-any-return]
    template = request.getfixturevalue("sqlite_template")
    return lambda: template.copy(Path(mkdtemp(dir=tmp_path)))


@pytest.fixture
def ground(fresh: Callable[[], str]) -> Iterator[Ground]:
    made = Ground(fresh)
    yield made
    made.close()


@pytest.mark.repeated(200, 12)
def test_whatever_happens_what_must_hold_holds(
    ground: Ground, database: str, repetitions: int, request: pytest.FixtureRequest
) -> None:
    """Sealed work stays sealed, a transfer counts once, jobs follow the table of transitions.

    All errors are declared, and counts are exact.
    """
    walks = repetitions if database == "sqlite" else repetitions // POSTGRES_SHARE
    number = int(request.config.getoption("--hypothesis-seed") or SEED)
    print(f"again with --hypothesis-seed={number}")
    run_state_machine_as_test(
        seed(number)(lambda: Market(ground)),
        settings=settings(
            max_examples=walks,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            print_blob=True,
            report_multiple_bugs=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert ground.walks >= walks
    ground.run(every_operation(ground))
    assert sorted(set(AGENTS) - set(+ground.succeeded)) == [], "never answered with a record"


async def every_operation(ground: Ground) -> None:
    """Make a last walk without randomness: the usual call of each operation, by name."""
    walk = await begun(ground)
    try:
        for operation in AGENTS:
            before = ground.succeeded[operation]
            await call_as_usual(walk, operation)
            assert ground.succeeded[operation] > before, f"the usual {operation} is refused"
        await walk.watch.at_the_end()
    finally:
        await walk.end()


def test_arguments_by_hand_are_of_operations_that_exist() -> None:
    assert sorted(BY_HAND.keys() - {*AGENTS}) == []
