"""The goals: all measured figures with their marks. Their numbers are only here."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure and its three marks. `must` is the mark below which `make bench` fails.

    If `unit` is "", the figure is the ratio of a floor's CPU to the subject's: 1 is as cheap as the floor.
    """

    name: str
    what: str
    first: float
    required: float
    stretch: float
    unit: str = ""
    least: bool = True  # the figure must be at least its mark, otherwise at most
    must: Literal["first", "required"] = "first"

    @property
    def mark(self) -> float:
        return self.required if self.must == "required" else self.first

    def reached(self, figure: float, mark: float) -> bool:
        return figure >= mark if self.least else figure <= mark


GOALS = {
    goal.name: goal
    for goal in (
        Goal("G1", "GET a listing with a key : Starlette, stored bytes", 0.35, 0.60, 0.90),
        Goal("G3", "search, 20 rows : Starlette, stored bytes + the same SQL", 0.25, 0.50, 0.75),
        Goal("G4", "search SQL, p99 of the worst filter mix", 50, 15, 5, "ms", least=False),
        Goal("G5", "create a job : Starlette, body read + the same SQL, durable", 0.20, 0.40, 0.60),
        Goal("G6", "commits per created job, 64 in flight", 0.30, 0.12, 0.06, "commits", least=False),
        Goal("G8", "acknowledged jobs present after kill -9, synchronous FULL", 100, 100, 100, "%"),
        Goal("G9", "poll 20 events : Starlette, stored bytes", 0.15, 0.25, 0.45),
        Goal("G10", "MCP tools/call : the SDK's low-level server, stored answer", 0.40, 2.0, 4.0, must="required"),
        Goal("G11", "MCP tools/call, full catalogue : with one tool", 0.85, 0.90, 1.0, must="required"),
        Goal("G13", "A2A call : a2a-sdk, echo", 0.40, 5.0, 15.0, must="required"),
        Goal("G14 memory", "per idle SSE stream", 40, 20, 12, "KB", least=False),
        Goal("G14 idle", "CPU of 1,000 idle SSE streams", 3, 2, 2, "% of a core", least=False),
        Goal("G18", "longest event-loop block, mixed run with one 512 KB delivery", 50, 25, 10, "ms", least=False),
        Goal("G21 start", "CPU to the first answer", 5, 4, 2.5, "s", least=False),
        Goal("G21 memory", "idle, resident", 300, 250, 160, "MB", least=False),
        Goal("G22", "a page of listings : the JSON that it shows", 0.334, 0.50, 0.75),
    )
}
