"""An oracle of deliveries: one is refused for its schema exactly if it does not fit the schema of its order."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson
from jsonschema import Draft202012Validator

from tests.simulation.contracted import Contracted
from tests.simulation.oracles import Oracle
from tests.simulation.payments import jobs_in
from tests.simulation.records import Json, Observation, Violation, records_in

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

MISMATCH = "output_schema_mismatch"


class RefusedDeliveries(Oracle):
    """A delivery is held against the output schemas that its listing or its bounty ever showed.

    Not judged: a delivery with a preview, which has a schema of its own, and one whose schema no answer has shown.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.schemas = defaultdict[str, dict[bytes, Json]](dict)  # by listing or bounty
        self.sources: dict[str, str] = {}  # by job: its listing or its bounty

    def observe(self, seen: Observation) -> None:
        for source, schema in _schemas(seen.answer.body):
            self.schemas[source][orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)] = schema
        for job in jobs_in(seen.answer.body):
            self.sources[job["id"]] = job["listing_id"] or job["bounty_id"]
        if seen.call.operation == "deliver_job" and (not seen.answer.refused or seen.answer.code == MISMATCH):
            self._judge(seen)

    def _judge(self, seen: Observation) -> None:
        given = seen.call.arguments
        source = self.sources.get(str(given.get("job_id")), "")
        schemas = [*self.schemas[source].values()]
        if not schemas or self._may_have_changed(source):
            return
        fits = [Draft202012Validator(one).is_valid(given.get("output")) for one in schemas]
        if seen.answer.code == MISMATCH and all(fits) and given.get("preview") is None:
            raise Violation(f"an output that fits {schemas} is refused: {seen.call}")
        if not seen.answer.refused and not any(fits):
            raise Violation(f"an output that does not fit {schemas} is delivered: {seen.call}")

    def _may_have_changed(self, source: str) -> bool:
        """Say if the answer of a change of a listing was lost."""
        listing = self.simulation.oracle(Contracted).model.listings.known.get(source)
        return listing is not None and listing.uncertain


def _schemas(body: Any) -> Iterator[tuple[str, Json]]:
    """Yield the output schemas that an answer shows, by listing or bounty.

    Lists may leave them out.
    """
    for one in records_in(body):
        if one.get("object") == "listing":
            schema = one.get("output_schema")
        else:
            schema = (one.get("input") or {}).get("deliverable_schema") if one.get("object") == "bounty" else None
        if isinstance(schema, dict):
            yield one["id"], schema
