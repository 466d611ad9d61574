"""The goals: all measured figures with their marks. Their numbers are only here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure and its two marks.

    If the figure misses `must`, the bench fails. `aim` is what we work for. A row without marks only informs.

    If `unit` is "", the figure is the ratio of a floor's CPU to the subject's: 1 is as cheap as the floor. "times" is
    the same ratio to a peer if more is better, otherwise the subject's CPU to the other's.
    """

    name: str
    what: str
    must: float | None = None
    aim: float | None = None
    unit: str = ""
    least: bool = True  # the figure must be at least its mark, otherwise at most

    def reached(self, figure: float, mark: float) -> bool:
        return figure >= mark if self.least else figure <= mark

    def ratio(self, subject: float, other: float) -> float:
        return other / subject if self.least else subject / other


def _most(name: str, what: str, must: float | None, aim: float | None, unit: str) -> Goal:
    return Goal(name, what, must, aim, unit, least=False)


def _figure(name: str, what: str, unit: str) -> Goal:
    return Goal(name, what, unit=unit, least=False)


def _counted(database: str) -> list[Goal]:
    """Return the rows that count what one call costs, alone, on one database."""
    calls = ("get_listing", "search_listings", "create_job", "list_jobs", "list_events")
    rows = [
        _figure(f"N {database} {call} statements", f"{database}, {call}: SQL statements", "statements")
        for call in calls
    ]
    rows += [
        _figure(f"N {database} {call} block", f"{database}, {call}: longest step on the event loop, CPU", "µs")
        for call in calls
    ]
    return [
        *rows,
        _figure(
            f"N {database} create_job WAL",
            f"{database}, create_job: bytes of write-ahead log, one in a commit",
            "bytes",
        ),
        _figure(
            f"N {database} create_job WAL 32",
            f"{database}, create_job: bytes of write-ahead log, 32 in flight",
            "bytes",
        ),
        _most(f"N {database} reads WAL", f"{database}, the four reads: bytes of write-ahead log", 0, 0, "bytes"),
    ]


GROWING = (
    "create_job", "get_job", "list_jobs", "list_jobs status", "list_events", "list_events types", "get_inbox",
    "search_listings", "pay_job terms", "get_stats", "get_feed", "get_leaderboard", "get_demand", "get_daily_stats",
    "get_overview",
)  # fmt: skip


def _grown(database: str) -> list[Goal]:
    """Return the rows of the growth table: costs with many jobs to costs with few."""
    names = ((name, 3.0 if name == "create_job" else 2.0) for name in GROWING)
    costs = [
        _most(f"W {database} {name}", f"{database}, {name}: with many jobs : with few", must, 1.3, "times")
        for name, must in names
    ]
    return [*costs, _most(f"W {database} recompute", f"{database}, doctor --recompute", 15, 5, "minutes")]


GOALS = {
    goal.name: goal
    for goal in (
        Goal("G1", "GET a listing with a key : Starlette, stored bytes", 0.55, 0.75),
        Goal("G3", "search, 20 rows : Starlette, stored bytes + the same SQL", 0.45, 0.60),
        _figure("G3 first", "search, 20 rows, hits not cached", "µs"),
        _most("G4", "search SQL, p99 of the worst filter mix", 50, 15, "ms"),
        _most("G5", "create a job, 32 in flight", 1_000, 700, "µs"),
        Goal("G5 ratio", "create a job : Starlette, body read + the same SQL, durable"),
        _most("G6", "commits per created job, 64 in flight", 0.12, 0.06, "commits"),
        Goal("G8", "acknowledged jobs present after kill -9, synchronous FULL", 100, 100, "%"),
        Goal("G9", "poll 20 events : Starlette, stored bytes", 0.25, 0.40),
        Goal("G10", "MCP tools/call : the SDK's low-level server, stored answer", 2.5, 4.0),
        Goal("G11", "MCP tools/call, full catalogue : with one tool", 0.90, 1.0),
        Goal("G13", "A2A call : a2a-sdk, echo", 12, 15),
        _most("G14 memory", "per idle SSE stream", 20, 12, "KB"),
        _most("G14 idle", "CPU of 1,000 idle SSE streams", 3, 2, "% of a core"),
        _most("G18", "longest step of the event loop, mixed run with lists of 100 jobs and 512 KB", 10, 5, "ms"),
        _most("G21 start", "CPU to the first answer", 3, 2.5, "s"),
        _most("G21 memory", "idle, resident", 180, 160, "MB"),
        Goal("G22", "a page of listings : the JSON that it shows", 0.334, 0.50),
        _most("P1", "PostgreSQL: GET a listing : on SQLite", 1.3, 1.1, "times"),
        _figure("P3", "PostgreSQL: search, 20 rows, server + database", "µs"),
        _most("P5", "PostgreSQL: create a job, 32 in flight, server + database", 3_000, 2_000, "µs"),
        _figure("P9", "PostgreSQL: poll 20 events, server + database", "µs"),
        _figure("P1 two", "PostgreSQL, two processes: GET a listing", "µs"),
        _figure("P3 two", "PostgreSQL, two processes: search, 20 rows", "µs"),
        _figure("P5 two", "PostgreSQL, two processes: create a job, 32 in flight", "µs"),
        _figure("P9 two", "PostgreSQL, two processes: poll 20 events", "µs"),
        Goal("F1", "GET a listing : FastAPI + SQLModel", 12, 20, "times"),
        Goal("F3", "search, 20 rows : FastAPI + SQLModel, LIKE and indexes", 4.5, 6, "times"),
        Goal("F5", "create a job, 32 in flight : FastAPI + SQLModel", 3, 4, "times"),
        Goal("F10", "MCP tools/call : FastMCP with one tool", 8, 12, "times"),
        _figure("J20", "list_jobs, 20 rows", "µs"),
        _figure("J100", "list_jobs, 100 rows", "µs"),
        _figure("J0", "get_inbox", "µs"),
        _figure("T", "a paid trade: order, accept, deliver, terms, pay, take, review", "µs"),
        *_counted("SQLite"),
        *_counted("PostgreSQL"),
        *_grown("SQLite"),
        *_grown("PostgreSQL"),
    )
}


def goals_of(case: str) -> list[Goal]:
    """Return the goals of a case.

    The case is their first word; if it is one letter, it begins their first word.
    """
    words = [(goal.name.split()[0], goal) for goal in GOALS.values()]
    return [goal for word, goal in words if word == case or (len(case) == 1 and word.startswith(case))]
