"""The real market in a temporary folder, optionally with the extras that a published suite needs.

--fixture: the tools, resources and prompts of the MCP suite. --tck: the behaviours of the A2A TCK. Prints the URL of
/mcp, then serves until it is terminated.
"""

import socket
import sys
import tempfile
from pathlib import Path

from server.app import Service
from server.serve import Server, uvicorn_config
from server.settings import Settings, read_settings
from tests.end_to_end.conformance.a2a_fixture import TckService
from tests.end_to_end.conformance.fixture import SuiteService


def main(options: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="emporion-conformance-") as folder:
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        settings = read_settings(
            data_dir=Path(folder), port=port, rate_limits=False, allow_private_networks="--tck" in options
        )
        service = service_for(options, settings)
        print(f"http://127.0.0.1:{port}/mcp", flush=True)
        Server(uvicorn_config(service, settings), service).run(sockets=[listening])


def service_for(options: list[str], settings: Settings) -> Service:
    if "--tck" in options:
        return TckService(settings)
    return (SuiteService if "--fixture" in options else Service)(settings)


if __name__ == "__main__":
    main(sys.argv[1:])
