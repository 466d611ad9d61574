"""`emporion serve` that logs all it can: every logger at debug, the access log too, and one operation whose fault names the caller's key.

Run as a program: python -m tests.processes.loud serve --sandbox
"""

import logging
import os
from pathlib import Path
from typing import Any

import uvicorn
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

import server.serve
import server.traces
from server import logs
from server.app import Service
from server.cli import app
from server.settings import Settings
from tools.arguments import NoArguments
from tools.catalogue import CATALOGUE
from tools.context import Outside

SPANS = "LOUD_SPANS"  # the file that spans are written to
FAULTY = "get_changelog"  # answers a fault


async def fault(outside: Outside, _: NoArguments) -> Any:
    """What a library might put into the words of its errors."""
    raise RuntimeError(f"no luck with {outside.caller.approach.credential}")


def main() -> None:
    set_up, configured = logs.set_up, server.serve.uvicorn_config

    def loud(_: str = "") -> None:
        set_up("DEBUG")
        logging.getLogger().setLevel(logging.DEBUG)

    def configure(service: Service, settings: Settings) -> uvicorn.Config:
        config = configured(service, settings)
        config.access_log = logging.getLogger("uvicorn.access").propagate = True
        for name in (*logging.root.manager.loggerDict, "asyncio"):
            logger = logging.getLogger(name)
            logger.disabled = False
            logger.setLevel(logging.DEBUG)
        return config

    object.__setattr__(CATALOGUE[FAULTY], "run", fault)
    logs.set_up, server.serve.uvicorn_config = loud, configure
    with Path(os.environ[SPANS]).open("w") as spans:
        exporter = ConsoleSpanExporter(out=spans)
        server.traces.processor_to = lambda _: SimpleSpanProcessor(exporter)
        app()


if __name__ == "__main__":
    main()
