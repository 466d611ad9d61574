"""One process that checks documents against schemas, and can be killed: reads [schema, document] from its standard input, answers there.

A message is four bytes of length (big-endian) and JSON; the answer is [[path, message], …], empty for a valid document. A check
that takes more than CPU_SECONDS of this process's own time ends the process by SIGVTALRM, whatever the machine does beside it.
"""

import contextlib
import resource
import signal
import sys
from typing import BinaryIO

import orjson

from tools.rules.schemas import compiled

CPU_SECONDS = 0.25
MOST_MEMORY = 1 << 30


def serve(asked: BinaryIO, answered: BinaryIO) -> None:
    """Until standard input ends."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt at the terminal is the market's to handle
    with contextlib.suppress(ValueError, OSError):  # a system without this limit
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    while head := asked.read(4):
        schema, value = orjson.loads(asked.read(int.from_bytes(head)))
        signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
        found = compiled(schema).violations(value)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        text = orjson.dumps([[one.path, one.message] for one in found])
        answered.write(len(text).to_bytes(4) + text)
        answered.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
