"""Check documents in a process that can be killed, asked over a connection on its standard input.

A question is [kind, schema or rules, document] as JSON, the answer [[path or rule, message], …], empty for a valid
document. A check that takes more than CPU_SECONDS of CPU time ends the process by SIGVTALRM, however busy the machine
is. The checks run in a forked process: the parent keeps the code loaded, answers DIED if the child has ended, and forks
again at once.
"""

import contextlib
import os
import resource
import signal
import sys
from multiprocessing.connection import Connection

import orjson

from tools.kernel.errors import Json
from tools.kernel.json_schema import checker_for
from tools.listings.acceptance_rules import failures, rules_in

CPU_SECONDS = 0.25
MAX_MEMORY = 1 << 30
DIED = b""


def serve(connection: Connection) -> None:
    """Answer checks until the connection ends."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the market handles interrupts from the terminal
    with contextlib.suppress(ValueError, OSError):  # a system without this limit
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    while True:
        try:
            text = connection.recv_bytes()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
        text = orjson.dumps(faults(*orjson.loads(text)))
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        connection.send_bytes(text)


def faults(kind: str, held_to: str, value: Json) -> list[tuple[str, str]]:
    if kind == "acceptance":
        return [(rule.name, why) for rule, why in failures(rules_in(held_to), value)]
    return [(one.path, one.message) for one in checker_for(held_to).violations(value)]


def main() -> None:
    connection = Connection(sys.stdin.fileno())
    while fork := os.fork():
        _, status = os.waitpid(fork, 0)
        if status == 0:  # the connection has ended
            return
        connection.send_bytes(DIED)
    serve(connection)


if __name__ == "__main__":
    main()
