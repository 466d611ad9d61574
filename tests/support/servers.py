"""The whole service in the process of the test, on a free port: settings, edge, workers and sender."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from server.app import Service
from server.serve import Server, uvicorn_config
from server.settings import read_settings
from tests.support.databases import SQLiteTemplate
from tests.support.listening import listen


@asynccontextmanager
async def serving(folder: Path, listening: socket.socket | None = None, **given: Any) -> AsyncIterator[Service]:
    """Serve until the context is left; `service.settings` has the address."""
    listening = listening or listen()
    settings = read_settings(_env_file=None, data_dir=folder, port=listening.getsockname()[1], **given)
    service, ready = Service(settings), asyncio.Event()
    if settings.database_url is None and not (folder / "market.db").exists():
        SQLiteTemplate.shared().copy(folder)  # after the secrets are written, which belong to a database
    server = Server(uvicorn_config(service, settings), service, ready.set)
    running, opened = asyncio.create_task(server.serve([listening])), asyncio.create_task(ready.wait())
    await asyncio.wait([running, opened], return_when=asyncio.FIRST_COMPLETED)
    opened.cancel()
    if running.done():
        running.result()
    try:
        yield service
    finally:
        if service.served is not None:  # ends the waiting calls, as a signal does
            service.served.market.services.notifier.close()
        server.should_exit = True
        await running
        listening.close()
