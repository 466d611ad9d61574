"""What the one door keeps: answers for repeated calls, counted windows, and what marks this installation."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class AnswerRow(Row, name="answers"):
    owner: Mapped[str] = mapped_column(primary_key=True)  # agent id, or "anonymous"
    env: Mapped[str] = mapped_column(primary_key=True)
    key_hash: Mapped[str] = mapped_column(primary_key=True)
    operation: Mapped[str]
    fingerprint: Mapped[str]
    status: Mapped[int]
    sealed: Mapped[bool]  # the body holds secrets shown once and is encrypted under the caller's key
    body: Mapped[bytes]
    body_hash: Mapped[str | None] = mapped_column(default=None)  # a large body is kept once, as a BodyRow
    created_at: Mapped[datetime] = mapped_column(index=True)


class BodyRow(Row, name="answer_bodies"):
    """A large answer, kept as long as an answer that was it last."""

    hash: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    body: Mapped[bytes]
    used_at: Mapped[datetime] = mapped_column(index=True)


class WindowRow(Row, name="rate_windows"):
    bucket: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    began_at: Mapped[datetime] = mapped_column(index=True)
    count: Mapped[int]


class SignatureUseRow(Row, name="signature_uses"):
    """A signature, or a nonce, that opened a call: for as long as it could be sent again."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    use: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    used_at: Mapped[datetime] = mapped_column(index=True)


class HouseRow(Row, name="house"):
    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


class RetiredKeyRow(Row, name="retired_keys"):
    """A key the platform signed with until it was replaced: what it signed holds no more."""

    kid: Mapped[str] = mapped_column(primary_key=True)  # RFC 7638
    public_key: Mapped[str]  # hex
    retired_at: Mapped[datetime]
