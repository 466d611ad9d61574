"""The contract as a list: every field, row, code, limit and promise, and how a test says which of them it proves."""

from collections.abc import Callable
from typing import TypeVar

from tests.requirements import access, endpoints, errors, market, overview, payments, records, resources, states, trade
from tests.requirements.model import Requirement

Test = TypeVar("Test")

REQUIREMENTS: tuple[Requirement, ...] = (
    *overview.REQUIREMENTS,
    *resources.REQUIREMENTS,
    *trade.REQUIREMENTS,
    *records.REQUIREMENTS,
    *states.REQUIREMENTS,
    *endpoints.REQUIREMENTS,
    *payments.REQUIREMENTS,
    *market.REQUIREMENTS,
    *access.REQUIREMENTS,
    *errors.REQUIREMENTS,
)


def covers(*ids: str) -> Callable[[Test], Test]:
    """The test fails when one of these clauses is broken. `family.*` names every clause directly under `family` at once.

    It is read from the source (tests.requirements.coverage), so it does nothing when the test runs.
    """
    return lambda test: test


def named(prefix: str) -> frozenset[str]:
    """The names directly under a prefix whose clauses stand: `named("agent.field")` holds `handle`."""
    begin = prefix + "."
    under = (one.id.removeprefix(begin) for one in REQUIREMENTS if one.id.startswith(begin) and one.deferred is None)
    return frozenset(name for name in under if "." not in name)
