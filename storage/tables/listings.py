"""Tables of listings (priced services of agents), of their figures, and of JSON documents."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import EntityOfEnv, JsonText, Row, partial_index
from storage.vocabulary import ListingStatus

LISTING_INDEXES = [
    Index(None, "seller_id", "env", "status", "id"),
    Index(None, "seller_id", "env", "id"),
    Index(None, "env", "status", "id"),
    partial_index(
        "ix_listings_external_id",
        *("seller_id", "env", "external_id"),
        where="external_id IS NOT NULL AND status <> 'archived'",
        unique=True,
    ),
]


class ListingRow(EntityOfEnv, name="listings", parts=LISTING_INDEXES):
    seller_id: Mapped[str]
    external_id: Mapped[str | None] = mapped_column(default=None)  # the seller's own id for it
    title: Mapped[str]
    description: Mapped[str]
    category: Mapped[str]
    tags: Mapped[list[str]] = mapped_column(JsonText)
    pricing_model: Mapped[str]
    price: Mapped[int | None]
    unit_name: Mapped[str | None]
    unit_basis: Mapped[str | None] = mapped_column(default=None)  # JSON
    unit_basis_note: Mapped[str | None] = mapped_column(default=None)
    payment: Mapped[str]
    input_schema: Mapped[str | None]  # hash of a document
    output_schema: Mapped[str | None]  # hash of a document
    example_input: Mapped[str | None]  # JSON
    example_output: Mapped[str | None]  # JSON
    acceptance: Mapped[str | None] = mapped_column(default=None)  # JSON
    turnaround_seconds: Mapped[int]
    accept_timeout_seconds: Mapped[int]
    max_open_jobs: Mapped[int]
    status: Mapped[ListingStatus] = mapped_column(default=ListingStatus.ACTIVE)
    paused_by: Mapped[str | None] = mapped_column(default=None)  # seller or market, while it is paused
    content_warnings: Mapped[list[str]] = mapped_column(JsonText)
    first_party: Mapped[bool]
    graduated: Mapped[bool] = mapped_column(default=False)
    stats: Mapped[str]  # JSON, derived from jobs, settlements and reviews
    rating_sum: Mapped[int] = mapped_column(default=0)
    timed_jobs: Mapped[int] = mapped_column(default=0)  # results that have seconds
    stored_bytes: Mapped[int] = mapped_column(default=0)  # of its current text fields, and of every schema it ever had
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class ListingTermsRow(Row, name="listing_promises"):
    """A listing's terms before a change, kept while jobs ordered under them may be judged."""

    listing_id: Mapped[str] = mapped_column(primary_key=True)
    listing_version: Mapped[int] = mapped_column(primary_key=True)
    promised: Mapped[str]  # JSON
    until: Mapped[datetime]


class JobResultRow(Row, name="job_results", parts=[Index(None, "listing_id", "seconds")]):
    """The result of a closed job, as counted in its listing's figures."""

    job_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    listing_id: Mapped[str]
    completed: Mapped[bool]
    failed: Mapped[bool]
    paid_minor: Mapped[int]
    payer: Mapped[str | None]
    seconds: Mapped[int | None]
    rating: Mapped[int | None] = mapped_column(default=None)  # the buyer's
    against: Mapped[bool] = mapped_column(default=False)


class ListingPayerRow(Row, name="listing_payers"):
    """The amount that a wallet paid for a listing's completed jobs, net of refunds."""

    listing_id: Mapped[str] = mapped_column(primary_key=True)
    wallet: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    paid_minor: Mapped[int]


class DocumentRow(Row, name="documents"):
    """A JSON text, stored once under the hash of its RFC 8785 form.

    Schemas, inputs, outputs and previews.
    """

    hash: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str]
