"""The oracle of deliveries compares each with the schema of its order."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from tests.simulation.records import Violation
from tests.simulation.refused_deliveries import RefusedDeliveries
from tests.simulation.test_more_oracles import JOB, seen
from tests.support.trade import ENGLISH, TEXT

RIGHT, WRONG = {"english": "good day"}, {"englisch": "good day"}
REFUSED = {"error": {"code": "output_schema_mismatch", "details": {}}}
LISTING = {"object": "listing", "id": "lst_1", "output_schema": ENGLISH}
BOUNTY = {"object": "bounty", "id": "bnt_1", "input": {"deliverable_schema": ENGLISH}}


def oracle(*records: Any, uncertain: bool = False) -> RefusedDeliveries:
    """Return an oracle to which these records of a job's listing or bounty were shown."""
    listings = SimpleNamespace(known={"lst_1": SimpleNamespace(uncertain=uncertain)})
    contracted = SimpleNamespace(model=SimpleNamespace(listings=listings))
    simulation: Any = SimpleNamespace(oracle=lambda _: contracted)
    made = RefusedDeliveries(simulation)
    bounty = any(one["object"] == "bounty" for one in records)
    source = {"listing_id": None if bounty else "lst_1", "bounty_id": "bnt_1" if bounty else None}
    made.observe(seen(0, "list_jobs", 200, {"data": [*records, {"object": "job", "id": JOB, "seller": {}} | source]}))
    return made


def judged(made: RefusedDeliveries, output: Any, *, refused: bool, **given: Any) -> None:
    answer = (400, REFUSED) if refused else (200, {"object": "task"})
    made.observe(seen(1, "deliver_job", *answer, job_id=JOB, output=output, **given))


@pytest.mark.parametrize("record", [LISTING, BOUNTY])
@pytest.mark.parametrize(
    ("output", "refused", "allowed"),
    [(RIGHT, True, False), (WRONG, True, True), (RIGHT, False, True), (WRONG, False, False)],
)
def test_a_delivery_is_held_against_its_schema(record: Any, output: Any, refused: bool, allowed: bool) -> None:
    with nullcontext() if allowed else pytest.raises(Violation, match="an output that"):
        judged(oracle(record), output, refused=refused)


@pytest.mark.parametrize("refused", [True, False])
def test_a_delivery_may_be_held_against_an_earlier_schema(refused: bool) -> None:
    judged(oracle(LISTING, LISTING | {"output_schema": TEXT}), RIGHT, refused=refused)


@pytest.mark.parametrize("refused", [True, False])
@pytest.mark.parametrize("output", [RIGHT, WRONG])
def test_an_unknown_schema_judges_nothing(output: Any, refused: bool) -> None:
    judged(oracle(), output, refused=refused)
    judged(oracle(LISTING | {"output_schema": None}), output, refused=refused)
    judged(oracle(LISTING, uncertain=True), output, refused=refused)


def test_a_preview_may_be_what_does_not_fit() -> None:
    judged(oracle(LISTING), RIGHT, refused=True, preview={})
