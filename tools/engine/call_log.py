"""The log of calls: one line for every write and every refusal, and for some of the successful reads."""

import structlog

from tools.engine.caller import Caller, CallRequest
from tools.engine.idempotency import Response
from tools.engine.ports import Clock
from tools.engine.registry import Operation

READ_LINES = 50  # a second

log = structlog.get_logger("emporion.door")


class CallLog:
    """Logs the calls of one process and counts the successful reads that it leaves out.

    Writing a line takes about 20 % as long as a read.
    """

    def __init__(self) -> None:
        self.second, self.taken, self.left_out = -1, 0, 0

    def write(
        self, op: Operation, request: CallRequest, caller: Caller | None, response: Response, began: float, clock: Clock
    ) -> None:
        """Write the line of a call, unless it is one successful read too many in this second."""
        now = clock.monotonic()
        if op.safe and not response.refused and not self._has_room(int(now)):
            self.left_out += 1
            return
        log.info(
            "call",
            operation=op.name,
            surface=request.surface,
            status=response.status,
            ms=round((now - began) * 1000),
            code=response.error and response.error["code"],
            request_id=request.request_id,
            agent_id=caller and caller.agent_id,
            replayed=response.replayed,
            reads_left_out=self.left_out,
        )
        self.left_out = 0

    def _has_room(self, second: int) -> bool:
        """Count a successful read; return whether it may have a line."""
        if second != self.second:
            self.second, self.taken = second, 0
        self.taken += 1
        return self.taken <= READ_LINES
