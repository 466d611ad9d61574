"""Facts about the market itself that several operations return."""

from tools.discovery.records import SanctionsState
from tools.engine.ports import Sanctions
from tools.kernel.records import stamp_or_none


def sanctions_state(sanctions: Sanctions) -> SanctionsState:
    """Return whether wallets are screened, against how many addresses, and as of when."""
    found = sanctions.state()
    return SanctionsState(
        screening=found is not None,
        addresses=found.addresses if found else 0,
        updated_at=stamp_or_none(found.updated_at) if found else None,
    )
