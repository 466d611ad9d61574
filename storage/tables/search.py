"""What search knows of each listing. The full-text indexes over it are made by revision 0002, by hand."""

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class ListingSearchRow(
    Row,
    name="listing_search",
    parts=[Index(None, "env", key, unique=True) for key in ("rank", "newest", "cheapest")],
):
    """A listing's place in each order, the lowest first, and the tokens it is found by: null while it is not for sale."""

    seq: Mapped[int] = mapped_column(primary_key=True)  # numbered when first indexed, and kept
    listing_id: Mapped[str] = mapped_column(unique=True)
    env: Mapped[str]
    seller_id: Mapped[str]
    rank: Mapped[int | None]
    newest: Mapped[int | None]
    cheapest: Mapped[int | None]
    tokens: Mapped[str | None]  # parted by single spaces
