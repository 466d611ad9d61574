"""Public figures of the market by day, and of its disputes by month; all from counts that each change keeps."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TypeVar

from pydantic import Field

from storage.daily_counts import counts_since
from storage.transaction import Tx
from storage.vocabulary import Counted, Env, Outcome
from tools.discovery.records import DailyStats, DayFigures, DisputeStats, MonthOfDisputes
from tools.engine.arguments import PublicRead
from tools.engine.context import ReadContext
from tools.engine.registry import operation
from tools.jobs.daily_counts import day_of, median_of
from tools.kernel.records import EPOCH, stamp

MAX_DAYS, MONTHS = 366, 24
OUTCOMES = ("open", *Outcome, "withdrawn")
RESULTS = tuple(f"{Counted.DISPUTE}.{one}" for one in OUTCOMES)
OF_DAYS = (*(one for one in Counted if one not in (Counted.STATUS, Counted.DISPUTE, Counted.TO_VERDICT)), *RESULTS)
OF_DISPUTES = (*RESULTS, Counted.TO_VERDICT)

S = TypeVar("S", DailyStats, DisputeStats)


class ReadDays(PublicRead):
    days: int = Field(30, ge=1, le=MAX_DAYS, description="how many days to return, today included, 1-366")


@operation("GET /v1/stats/daily", auth="none", toolset="market")
async def get_daily_stats(read_ctx: ReadContext, asked: ReadDays) -> DailyStats:
    """Show the market by day: jobs, volume, time to accept and to deliver, paid share, disputes.

    A refund lowers the volume of the day on which its job was completed, so all days together have the volume that get_stats
    shows.
    """
    found = await _shared(read_ctx, "daily", _daily)
    return replace(found, data=found.data[-asked.days :])


@operation("GET /v1/stats/disputes", auth="none", toolset="market")
async def get_dispute_stats(read_ctx: ReadContext, _: PublicRead) -> DisputeStats:
    """Show how many disputes were opened in each month, their results, the time to a verdict.

    Read it before you order or dispute something here. No case is shown; list_disputes has yours.
    """
    return await _shared(read_ctx, "disputes", _disputes)


async def _shared(read_ctx: ReadContext, name: str, read: Callable[[Tx, Env, datetime], S]) -> S:
    env, now, reads = read_ctx.env, read_ctx.now, read_ctx.lagging
    return await read_ctx.services.shared_results.of(f"{name} {env}", lambda: reads.scan(lambda tx: read(tx, env, now)))


class _Counts:
    """The counts of one day or month."""

    def __init__(self) -> None:
        self.numbers = Counter[str]()
        self.durations = defaultdict[str, list[tuple[int, int]]](list)

    def add(self, name: str, at: int, number: int) -> None:
        self.numbers[name] += number
        self.durations[name].append((at, number))

    def median(self, name: str) -> int | None:
        return median_of(self.durations[name])


def _daily(tx: Tx, env: Env, now: datetime) -> DailyStats:
    today = day_of(now)
    days = range(today - MAX_DAYS + 1, today + 1)
    found = defaultdict[int, _Counts](_Counts)
    for day, name, at, number in tx.all(counts_since, env=env, names=OF_DAYS, since=days[0]):
        found[day].add(name, at, number)
    return DailyStats(env=env, data=[_day(day, found[day]) for day in days], generated_at=stamp(now))


def _day(day: int, found: _Counts) -> DayFigures:
    numbers = found.numbers
    paid, unpaid = numbers[Counted.PAID], numbers[Counted.UNPAID]
    return DayFigures(
        day=_date(day).isoformat(),
        jobs_created=numbers[Counted.CREATED],
        jobs_completed=numbers[Counted.COMPLETED],
        volume_usdc=numbers[Counted.VOLUME],
        first_party_jobs_completed=numbers[Counted.OWN_COMPLETED],
        first_party_volume_usdc=numbers[Counted.OWN_VOLUME],
        jobs_accepted=numbers[Counted.TO_ACCEPT],
        median_seconds_to_accept=found.median(Counted.TO_ACCEPT),
        jobs_delivered=numbers[Counted.TO_DELIVER],
        median_seconds_to_deliver=found.median(Counted.TO_DELIVER),
        paid_deliveries=paid,
        unpaid_deliveries=unpaid,
        paid_share=round(paid / (paid + unpaid), 4) if paid + unpaid else None,
        disputes_opened=sum(numbers[name] for name in RESULTS),
    )


def _disputes(tx: Tx, env: Env, now: datetime) -> DisputeStats:
    months = _last_months(now.date())
    since = (months[0] - EPOCH.date()).days
    found = defaultdict[date, _Counts](_Counts)
    for day, name, at, number in tx.all(counts_since, env=env, names=OF_DISPUTES, since=since):
        found[_date(day).replace(day=1)].add(name, at, number)
    return DisputeStats(env=env, data=[_month(month, found[month]) for month in months], generated_at=stamp(now))


def _month(month: date, found: _Counts) -> MonthOfDisputes:
    undecided, for_buyer, for_seller, split, withdrawn = (found.numbers[name] for name in RESULTS)
    return MonthOfDisputes(
        month=month.isoformat()[:7],
        opened=undecided + for_buyer + for_seller + split + withdrawn,
        undecided=undecided,
        for_buyer=for_buyer,
        for_seller=for_seller,
        split=split,
        withdrawn=withdrawn,
        median_seconds_to_verdict=found.median(Counted.TO_VERDICT),
    )


def _last_months(today: date) -> list[date]:
    """Return the first days of the last MONTHS months, the oldest first."""
    present = today.year * 12 + today.month - 1
    return [date(number // 12, number % 12 + 1, 1) for number in range(present - MONTHS + 1, present + 1)]


def _date(day: int) -> date:
    return (EPOCH + timedelta(days=day)).date()
