"""The planted faults: each fits into today's market, and a planted run is found by its command."""

import ast
from pathlib import Path

import pytest

from tests.simulation import planted
from tests.simulation.plants import PLANTS, Plant
from tests.simulation.scenarios import named


def test_there_are_twenty_planted_faults_of_their_own() -> None:
    assert len({one.name for one in PLANTS}) == len(PLANTS) == 20


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_a_plant_fits_in_one_place_and_leaves_python(plant: Plant) -> None:
    changed = planted.changed((planted.ROOT / plant.file).read_text(), plant)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse((planted.ROOT / plant.file).read_text()))
    assert named(plant.scenario)


def test_a_plant_without_a_place_is_refused() -> None:
    plant = Plant("none", "a.py", "twice", "once")
    for text in ("", "twice and twice"):
        with pytest.raises(ValueError, match="times"):
            planted.changed(text, plant)


def test_a_file_is_restored_after_its_plant(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("settled = 1\n")
    with planted.planted(tmp_path, Plant("two", "a.py", "= 1", "= 2")):
        assert (tmp_path / "a.py").read_text() == "settled = 2\n"
    assert (tmp_path / "a.py").read_text() == "settled = 1\n"
