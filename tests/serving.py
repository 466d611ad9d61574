"""The whole service in the test's own process, on a free port: settings, edge, workers, sender and all."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from server.app import Service
from server.serve import Server, uvicorn_config
from server.settings import read_settings


@asynccontextmanager
async def serving(folder: Path, **given: Any) -> AsyncIterator[Service]:
    """Serves until it is left; `service.settings` tells where."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    settings = read_settings(_env_file=None, data_dir=folder, port=listening.getsockname()[1], **given)
    service, ready = Service(settings), asyncio.Event()
    server = Server(uvicorn_config(service, settings), service, ready.set)
    running, opened = asyncio.create_task(server.serve([listening])), asyncio.create_task(ready.wait())
    await asyncio.wait([running, opened], return_when=asyncio.FIRST_COMPLETED)
    opened.cancel()
    if running.done():
        running.result()
    try:
        yield service
    finally:
        if service.served is not None:  # as a signal does: who waits for news hears that there are none
            service.served.market.bell.close()
        server.should_exit = True
        await running
        listening.close()
