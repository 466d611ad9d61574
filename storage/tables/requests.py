"""Tables of stored answers, rate limit windows, used signatures, and marks of this installation."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class StoredResponseRow(Row, name="answers"):
    owner: Mapped[str] = mapped_column(primary_key=True)  # agent id, or "anonymous"
    env: Mapped[str] = mapped_column(primary_key=True)
    key_hash: Mapped[str] = mapped_column(primary_key=True)
    operation: Mapped[str]
    fingerprint: Mapped[str]
    status: Mapped[int]
    sealed: Mapped[bool]  # the body contains one-time secrets and is encrypted with the Idempotency-Key
    body: Mapped[bytes]
    body_hash: Mapped[str | None] = mapped_column(default=None)  # a large body is stored once, as a BodyRow
    created_at: Mapped[datetime] = mapped_column(index=True)


class ResponseBodyRow(Row, name="answer_bodies"):
    """A large answer, kept as long as the last stored answer that refers to it."""

    hash: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    body: Mapped[bytes]
    used_at: Mapped[datetime] = mapped_column(index=True)
    owner: Mapped[str | None] = mapped_column(default=None)  # the agent whose space it uses; None: no agent
    env: Mapped[str | None] = mapped_column(default=None)


class RateWindowRow(Row, name="rate_windows"):
    bucket: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    began_at: Mapped[datetime] = mapped_column(index=True)
    count: Mapped[int]


class SignatureUseRow(Row, name="signature_uses"):
    """A used signature or nonce, kept for as long as it could be sent again."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    use: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    used_at: Mapped[datetime] = mapped_column(index=True)


class SettingsRow(Row, name="house"):
    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


class RetiredKeyRow(Row, name="retired_keys"):
    """A former key of the platform. Signatures made with it are no longer valid."""

    kid: Mapped[str] = mapped_column(primary_key=True)  # RFC 7638
    public_key: Mapped[str]  # hex
    retired_at: Mapped[datetime]
