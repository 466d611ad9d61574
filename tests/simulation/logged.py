"""The oracle of the log: the market logs no error, because every fault of a run is one that it expects."""

import traceback
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import structlog

from tests.simulation.oracles import Oracle
from tests.simulation.records import Observation, Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

ERRORS = ("error", "exception", "critical")


class Logged(Oracle):
    """No step of a background loop fails with an error; a fault of the database is a warning."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.errors: list[str] = []

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Note the errors of all loggers."""
        processors: list[Any] = structlog.get_config()["processors"]
        processors.insert(0, self._note)
        try:
            yield
        finally:
            processors.remove(self._note)

    def _note(self, _: Any, method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if method in ERRORS:
            cause = f": {traceback.format_exc(limit=-4)}" if line.get("exc_info") else ""
            self.errors.append(f"{dict(line)}{cause}")
        return line

    def observe(self, seen: Observation) -> None:
        self._judge()

    async def look(self) -> None:
        self._judge()

    def _judge(self) -> None:
        if self.errors:
            raise Violation(f"the market logged an error: {self.errors[0]}")
