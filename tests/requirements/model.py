"""What a requirement is: one clause of the contract, and how many of one kind are written as a short table."""

from collections.abc import Mapping
from dataclasses import dataclass

NAMED = {
    2: "2 of 5, the whole trade",
    3: "3 of 5, the whole market",
    4: "4 of 5, native to agents",
    5: "5 of 5, gas-free and operation",
}
"""The issues a clause may be deferred to, by their number in the series."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One field, table row, code, limit or promise of the contract.

    `heading` is the contract's own heading, `source` where under it the clause stands (or the decision that closes an
    open point), `deferred` the issue that builds it; None: it stands, so a test must cover it.
    """

    id: str
    heading: str
    source: str
    sentence: str
    deferred: int | None = None


@dataclass(frozen=True, slots=True)
class Later:
    """A sentence whose clause is built by a later issue than the rest of its table."""

    sentence: str
    issue: int


Sentence = str | Later


def table(
    heading: str, source: str, prefix: str, rows: Mapping[str, Sentence], deferred: int | None = None
) -> tuple[Requirement, ...]:
    """One requirement per row: its id is `prefix.name`, its sentence the row's own."""
    return tuple(_row(heading, source, f"{prefix}.{name}", said, deferred) for name, said in rows.items())


def _row(heading: str, source: str, name: str, said: Sentence, deferred: int | None) -> Requirement:
    if isinstance(said, Later):
        return Requirement(name, heading, source, said.sentence, said.issue)
    return Requirement(name, heading, source, said, deferred)
