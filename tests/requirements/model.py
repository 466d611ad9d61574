"""The class of a requirement, which is one clause of the contract, and short tables of similar requirements."""

from collections.abc import Mapping
from dataclasses import dataclass

NAMED = {
    2: "2 of 5, the whole trade",
    3: "3 of 5, the whole market",
    4: "4 of 5, native to agents",
    5: "5 of 5, gas-free and operation",
}
"""The issues that a clause may be deferred to, by number."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One field, table row, code, limit or promise of the contract.

    `heading` is the contract's own heading. `source` is the place of the clause under that heading, or the decision that
    settles an open question. `deferred` is the issue that will build the clause; if it is None, a test must cover it.
    """

    id: str
    heading: str
    source: str
    sentence: str
    deferred: int | None = None


@dataclass(frozen=True, slots=True)
class Later:
    """A clause that a later issue builds than the rest of its table."""

    sentence: str
    issue: int


Sentence = str | Later


def table(
    heading: str, source: str, prefix: str, rows: Mapping[str, Sentence], deferred: int | None = None
) -> tuple[Requirement, ...]:
    """Make one requirement for each row: its id is `prefix.name`, its sentence the row's."""
    return tuple(_row(heading, source, f"{prefix}.{name}", said, deferred) for name, said in rows.items())


def _row(heading: str, source: str, name: str, said: Sentence, deferred: int | None) -> Requirement:
    if isinstance(said, Later):
        return Requirement(name, heading, source, said.sentence, said.issue)
    return Requirement(name, heading, source, said, deferred)
