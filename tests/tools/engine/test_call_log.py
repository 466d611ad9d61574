"""The log line of a call has its duration in milliseconds, and the number of reads that have no line."""

from datetime import timedelta

from structlog.testing import capture_logs

from tests.support.fixed_market import FixedClock
from tools.catalogue import CATALOGUE
from tools.engine.call_log import READ_LINES, CallLog
from tools.engine.caller import CallRequest, Surface
from tools.engine.idempotency import Response

WRITE, READ = CATALOGUE["create_job"], CATALOGUE["get_job"]


def test_each_surface_s_call_has_its_duration() -> None:
    clock, log = FixedClock(), CallLog()
    began = clock.monotonic()
    clock.at += timedelta(milliseconds=1234)
    with capture_logs() as lines:
        for surface in Surface:
            log.write(WRITE, CallRequest(surface, "192.0.2.1", "req_1"), None, Response(201, b"{}"), began, clock)
    assert [(line["surface"], line["ms"], line["operation"]) for line in lines] == [
        (surface, 1234, "create_job") for surface in Surface
    ]


def test_reads_without_a_line_are_counted_in_the_next_one() -> None:
    clock, log = FixedClock(), CallLog()
    request, done = CallRequest(Surface.REST, "192.0.2.1", "req_1"), Response(200, b"{}")
    with capture_logs() as lines:
        for _ in range(READ_LINES + 3):
            log.write(READ, request, None, done, clock.monotonic(), clock)
        log.write(WRITE, request, None, Response(201, b"{}"), clock.monotonic(), clock)
    assert (len(lines), lines[-1]["reads_left_out"]) == (READ_LINES + 1, 3)
