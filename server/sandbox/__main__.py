"""`python -m server.sandbox`: the sandbox's process. It prints `ready URL GENESIS` or `refused SENTENCE` on standard output."""

import argparse
import logging
import os
import socket
import sys
import time
from pathlib import Path
from typing import Final

from server.child_processes import end_with_parent
from server.sandbox.journal import JournalDamaged, JournalInUse

LOOPBACK: Final = "127.0.0.1"
_MAX_PORT: Final = 65535
_PORT_WAIT_IN_SECONDS: Final = 5.0
_POLL_IN_SECONDS: Final = 0.05
_TELL_EVERY_BLOCKS: Final = 100
_SHUTDOWN_LIMIT_IN_SECONDS: Final = 2


class _Refusal(Exception):
    """The reason why the sandbox does not start."""


def main(arguments: list[str] | None = None) -> int:
    """Serve until the parent or a signal ends this process; return 1 if it cannot start."""
    options = _options(arguments)
    if options.parent_pid is not None:
        end_with_parent(options.parent_pid)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="sandbox: %(message)s")
    try:
        _serve(options.data_dir, options.port, options.chain_id)
        return 0
    except (_Refusal, JournalDamaged, JournalInUse) as refusal:
        why = str(refusal)
    except ModuleNotFoundError as missing:
        why = f"the sandbox needs {missing.name}: pip install 'emporion[sandbox]'"
    except OSError as problem:
        why = f"{options.data_dir} cannot be used: {problem.strerror}"
    _say(f"refused {why}")
    return 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m server.sandbox", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--data-dir", type=Path, required=True, help="where the chain's journal is kept")
    parser.add_argument("--parent-pid", type=int, help="end when this process does; needs a pipe on standard input")
    parser.add_argument("--chain-id", type=int, choices=(84532, 8453), default=84532)
    return parser.parse_args(arguments)


def _serve(data_dir: Path, port: int, chain_id: int) -> None:
    with _listener(port) as listener:
        url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        # The facilitator calls the chain at this address, which must bypass any proxy named in the environment.
        os.environ["no_proxy"] = LOOPBACK

        import uvicorn

        from server.sandbox.evm import open_chain
        from server.sandbox.facilitator import Facilitator, facilitator_routes
        from server.sandbox.rpc import rpc_app
        from server.sandbox.wire import data

        chain, journal = open_chain(data_dir, chain_id, _now, _tell)
        app = rpc_app(chain, (facilitator_routes(Facilitator(url, chain_id)),))
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=_SHUTDOWN_LIMIT_IN_SECONDS,
        )
        _say(f"ready {url} {data(chain.genesis)}")
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            journal.close()


def _listener(port: int) -> socket.socket:
    if not 0 <= port <= _MAX_PORT:
        raise _Refusal(f"{port} is not a port; EMPORION_SANDBOX_PORT is 0 to {_MAX_PORT}")
    deadline = time.monotonic() + _PORT_WAIT_IN_SECONDS
    while True:
        try:
            return socket.create_server((LOOPBACK, port))
        except OSError as problem:
            # The sandbox of a market that was killed takes a moment to release its port.
            if time.monotonic() > deadline:
                why = os.strerror(problem.errno or 0)
                raise _Refusal(
                    f"port {port} on {LOOPBACK} cannot be used ({why}); set EMPORION_SANDBOX_PORT to another one"
                ) from problem
            time.sleep(_POLL_IN_SECONDS)


def _now() -> int:
    return int(time.time())  # noqa: TID251 - the edge where this process reads its clock


def _tell(block: int) -> None:
    if block % _TELL_EVERY_BLOCKS == 0:
        _say(f"replayed {block}")


def _say(line: str) -> None:
    sys.stdout.write(line.replace("\n", " ") + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
