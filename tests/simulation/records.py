"""Records of a run: observed calls, a violation, and the figures at the end."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.simulation.cheats.ledger import Ledger
from tests.simulation.matrix import Matrix
from tests.simulation.wires import Answer, Call

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Observation:
    """A call with its answer, and the time between which it took effect."""

    call: Call
    agent: str | None
    answer: Answer
    began: datetime
    ended: datetime
    loop_began: float = 0.0  # the second of the loop at which the call began
    tries: int = 1  # more, if a crash or a fault interrupted it


def records_in(body: Any) -> Iterator[Json]:
    """Yield the records of an answer: those of a list, or the only one."""
    if isinstance(body, dict):
        rows = body["data"] if isinstance(body.get("data"), list) else [body]
        yield from (one for one in rows if isinstance(one, dict))


class Violation(AssertionError):
    """The market broke a rule of an oracle."""


class Failed(Exception):
    """A run ended with a violation at this operation."""

    def __init__(self, operations: int, violation: BaseException) -> None:
        super().__init__(str(violation))
        self.operations, self.violation = operations, violation


@dataclass
class Result:
    """The figures of a run."""

    seed: int
    operations: int
    digest: str
    virtual_seconds: float
    faults: Counter[str] = field(default_factory=Counter)
    by_operation: Counter[str] = field(default_factory=Counter)
    by_code: Counter[str] = field(default_factory=Counter)
    by_hour: Counter[int] = field(default_factory=Counter)  # operations, by the hour of virtual time
    matrix: Matrix = field(default_factory=Matrix)
    ledger: Ledger = field(default_factory=Ledger)
    by_cheats: int = 0  # operations
    tried: Counter[tuple[tuple[str, str], str]] = field(default_factory=Counter)  # dry runs by state, role and action
