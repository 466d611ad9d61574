"""The table of catalogues of other markets."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import JsonText, Row


class PeerCatalogRow(Row, name="peer_catalogs"):
    """The documents that a worker last read from a market in EMPORION_REFERRALS."""

    origin: Mapped[str] = mapped_column(primary_key=True)
    check_at: Mapped[datetime]  # when it is read again, or when the lease of the process that reads it ends
    # For each document: url, etag, at (Unix seconds of the last good answer), entries, nested
    documents: Mapped[list[dict[str, Any]]] = mapped_column(JsonText)
