"""`emporion serve` with all loggers at debug, the access log, and an operation whose error contains the caller's key.

Run it with: python -m tests.end_to_end.processes.loud serve --sandbox
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
from tools.catalogue import CATALOGUE
from tools.engine.arguments import NoArguments
from tools.engine.context import ReadContext

SPANS = "LOUD_SPANS"  # names the file for spans
FAULTY = "get_changelog"  # the operation that fails


async def fault(outside: ReadContext, _: NoArguments) -> Any:
    """Fail as a library might, with the key in the error message."""
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
