"""Messages inside the market, which may be lost, doubled or late: notifications of PostgreSQL, and wake-ups."""

from collections.abc import Callable
from random import Random

from tests.simulation.loop import SimulatedLoop

LATE_SECONDS = 20.0  # of a late message, on average
NOTIFICATION, WAKE_UP = "notification", "wake_up"


class Messages:
    """The delivery of messages. While `failing`, some are lost, doubled or late."""

    def __init__(self, loop: SimulatedLoop, random: Random, note: Callable[[str], None]) -> None:
        self.loop, self.random, self.note = loop, random, note
        self.failing = False

    def deliver(self, kind: str, receive: Callable[[], None]) -> None:
        """Let a message be received now, twice, later or never."""
        fate = self.random.choice(("usual", "lost", "doubled", "late")) if self.failing else "usual"
        if fate != "usual":
            self.note(kind)
        if fate == "late":
            self.loop.call_later(self.random.expovariate(1 / LATE_SECONDS), receive)
        for _ in range({"usual": 1, "doubled": 2}.get(fate, 0)):
            receive()
