"""The market as it is served, in a folder that is thrown away; with --fixture also what the conformance suite looks for.

Prints the URL of /mcp, then serves until it is terminated.
"""

import socket
import sys
import tempfile
from pathlib import Path

from server.app import Service
from server.serve import Server, uvicorn_config
from server.settings import read_settings
from tests.conformance.fixture import EXTRA


def main(with_fixture: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="emporion-conformance-") as folder:
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        settings = read_settings(data_dir=Path(folder), port=port, rate_limits=False)
        service = Service(settings, extra=EXTRA if with_fixture else None)
        print(f"http://127.0.0.1:{port}/mcp", flush=True)
        Server(uvicorn_config(service, settings), service).run(sockets=[listening])


if __name__ == "__main__":
    main("--fixture" in sys.argv)
