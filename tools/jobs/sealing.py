"""The fields that describe an output: hash, commitment, salt and size, as far as the reader may see them."""

from typing import TypedDict

from storage.tables import JobDeliveryRow, JobRow
from tools.jobs.sealing_rules import rounded_size


class OutputMarks(TypedDict):
    """The fields that describe an output in every record."""

    output_hash: str | None
    output_commitment: str | None
    output_salt: str | None
    output_bytes: int | None


def marks_of(row: JobRow | JobDeliveryRow, *, sealed: bool, to_seller: bool = False) -> OutputMarks:
    """Return the fields of an output that the reader may see.

    While the output is sealed, only the seller sees its hash and exact size.
    """
    hidden = sealed and not to_seller
    size = row.output_bytes
    return {
        "output_hash": None if hidden else row.output,
        "output_commitment": row.output_commitment,
        "output_salt": None if sealed else row.output_salt,
        "output_bytes": rounded_size(size) if hidden and size is not None else size,
    }
