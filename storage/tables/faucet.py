"""Table of claims of test money."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class FaucetClaimRow(Row, name="faucet_claims"):
    """The last claim of an agent: at most one per UTC day."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    claimed_at: Mapped[datetime | None] = mapped_column(default=None)  # None: the faucet sent nothing
    address: Mapped[str]  # EIP-55
    tx_hash: Mapped[str | None] = mapped_column(default=None)  # None: the faucet did not say
