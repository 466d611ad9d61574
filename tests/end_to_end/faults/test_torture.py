"""A short run of `make torture`, which shows that it works."""

import random  # noqa: TID251 - seeded
from pathlib import Path

import pytest

from tests.torture import torture

KILLS = 4


@pytest.mark.verify
async def test_a_few_random_kills_under_load_lose_and_double_nothing(database_url: str, tmp_path: Path) -> None:
    outcome = await torture(database_url, tmp_path, KILLS, random.Random(1))
    assert (outcome.kills, outcome.faults) == (KILLS, [])
    assert outcome.load.purchases > 0
    assert outcome.load.repeats > 0, "the clients felt it"
