"""Random walks over the whole market: whatever is called, however time passes and whatever fails."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from storage import sqlite
from tests.walk.arguments import PLAUSIBLE, call_as_usual
from tests.walk.ground import Ground
from tests.walk.machine import Market
from tests.walk.walk import begun
from tools.catalogue import CATALOGUE

WALKS = {"sqlite": 200, "postgres": 20}
STEPS = 15
AGENTS = sorted(
    op.name for op in CATALOGUE.values() if op.auth != "admin" and op.paid_rate is None
)  # what agents may call
SEED = 20261121  # what has passed passes again; `make torture` takes other walks each time


@pytest.fixture
def fresh(
    database: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], str]:
    """Makes the URL of an empty database for each walk; no walk pulls the plug, so none waits for the disk."""
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


def test_whatever_happens_what_must_hold_holds(ground: Ground, database: str, request: pytest.FixtureRequest) -> None:
    """Sealed work stays sealed, a transfer counts once, jobs keep to the table, errors are declared, counts exact."""
    number = int(request.config.getoption("--hypothesis-seed") or SEED)
    print(f"again with --hypothesis-seed={number}")
    run_state_machine_as_test(
        seed(number)(lambda: Market(ground)),
        settings=settings(
            max_examples=WALKS[database],
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            print_blob=True,
            report_multiple_bugs=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert ground.walks >= WALKS[database]
    ground.run(every_operation(ground))
    assert sorted(set(AGENTS) - set(+ground.succeeded)) == [], "never answered with a record"


async def every_operation(ground: Ground) -> None:
    """A last walk that leaves nothing to chance: the usual call of each operation, in the order of their names."""
    walk = await begun(ground)
    try:
        for operation in AGENTS:
            before = ground.succeeded[operation]
            await call_as_usual(walk, operation)
            assert ground.succeeded[operation] > before, f"the usual {operation} is refused"
        await walk.watch.at_the_end()
    finally:
        await walk.end()


def test_the_walk_knows_how_to_call_every_operation() -> None:
    assert sorted(PLAUSIBLE) == AGENTS
