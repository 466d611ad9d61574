"""The ledger of the cheats: how often each one tried, what it gained, and what it transferred for that."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Account:
    """The figures of one cheat."""

    finding: int | None
    attempts: int = 0
    gains: Counter[str] = field(default_factory=Counter)
    paid: int = 0  # minor units of USDC that the cheat transferred on the chain


class Ledger:
    """The accounts of all cheats, by name.

    Gains are of these kinds: money (minor units), work (outputs), access (keys, accounts, files), rank (jobs and ratings),
    verdict (seats and decisions) and load (calls, bytes, places and seconds beyond a limit).
    """

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}

    def lines(self) -> Iterator[str]:
        """Yield one sentence about each cheat."""
        for name, found in sorted(self.accounts.items()):
            about = "" if found.finding is None else f" (finding {found.finding})"
            gained = ", ".join(f"{kind} {amount:,}" for kind, amount in found.gains.items()) or "nothing"
            tries = "1 attempt" if found.attempts == 1 else f"{found.attempts:,} attempts"
            yield f"cheat {name}{about}: {tries}, paid {found.paid:,} minor units, gained {gained}"
