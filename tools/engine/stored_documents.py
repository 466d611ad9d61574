"""Documents: JSON texts stored once, under the hash of their canonical form."""

from dataclasses import dataclass

from storage.tables import DocumentRow
from storage.transaction import Tx
from tools.engine.errors import InvalidRequest
from tools.kernel.canonical_json import canonical, sha256_hex
from tools.kernel.errors import Json


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value in its RFC 8785 form, with the hash it is stored under."""

    hash: str
    text: bytes

    @property
    def size(self) -> int:
        return len(self.text)


def document(value: Json, param: str) -> Document:
    """Return a value's canonical form and its hash; raise InvalidRequest if it has none."""
    try:
        text = canonical(value)
    except ValueError as error:
        raise InvalidRequest(f"{param}: {error}", param=param) from None
    return Document(sha256_hex(text), text)


def keep_document(tx: Tx, made: Document | None) -> str | None:
    """Store the document unless it exists; return its hash."""
    if made is None:
        return None
    tx.insert_if_absent(DocumentRow(hash=made.hash, text=made.text.decode()))
    return made.hash


def text_of(tx: Tx, hashed: str | None) -> str | None:
    """Return the text stored under a hash; None if the hash is None."""
    if hashed is None:
        return None
    row = tx.get(DocumentRow, hashed)
    assert row is not None, f"document {hashed} is missing"
    return row.text
