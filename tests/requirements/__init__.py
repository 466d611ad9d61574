"""The contract as a list of clauses (fields, rows, codes, limits, promises), and the decorator that claims a clause."""

from collections.abc import Callable
from typing import TypeVar

from tests.requirements import (
    access,
    clients,
    endpoints,
    errors,
    market,
    newcomers,
    overview,
    payments,
    records,
    resources,
    second_round,
    selling_clients,
    states,
    trade,
)
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
    *second_round.REQUIREMENTS,
    *selling_clients.REQUIREMENTS,
    *newcomers.REQUIREMENTS,
    *clients.REQUIREMENTS,
)


def covers(*ids: str) -> Callable[[Test], Test]:
    """Claim that the test fails if one of these clauses is broken.

    `family.*` names every clause directly under `family`. The claims are read from the source
    (tests.requirements.coverage), so the decorator does nothing when the test runs.
    """
    return lambda test: test


def named(prefix: str) -> frozenset[str]:
    """Return the names directly under a prefix that are in force.

    `named("agent.field")` contains `handle`.
    """
    begin = prefix + "."
    under = (one.id.removeprefix(begin) for one in REQUIREMENTS if one.id.startswith(begin) and one.deferred is None)
    return frozenset(name for name in under if "." not in name)
