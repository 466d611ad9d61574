"""The desk's process: what it works with, and opening it at a market that may not answer yet."""

import asyncio
import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing, suppress

import structlog

from server.adapters.checks import CheckPool
from server.adapters.clock import SystemClock, SystemDice
from server.adapters.http_fetch import PAGE_SECONDS, HttpFetcher
from server.desk.keys import KeyFile
from server.desk.market import Away, Market
from server.desk.model import Model
from server.desk.opening import open_desk
from server.desk.reader import Reader
from server.desk.service import Kit, Service
from server.desk.worker import AGAIN_SECONDS, Worker
from server.settings import Settings

log = structlog.get_logger()


def run(settings: Settings, url: str) -> None:
    """Work until a signal ends it. BadSettings and Refused where it cannot begin."""
    file = KeyFile(settings.data_dir)
    with file.held(), suppress(asyncio.CancelledError, KeyboardInterrupt):
        asyncio.run(work(settings, file, url))


async def work(settings: Settings, file: KeyFile, url: str) -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with AsyncExitStack() as stack:
        market = await stack.enter_async_context(Market(url))
        kit = await _kit(settings, stack)
        services = await _opened(market, file, settings)
        print(f"The desk is open at {url}: {_on_sale(services, settings)}", flush=True)
        await Worker(market, kit, services).run()


def _on_sale(services: Mapping[str, Service], settings: Settings) -> str:
    """Say how many services can be bought, and what the others wait for."""
    waiting = sum(one.needs_model for one in services.values()) if settings.desk_llm_url is None else 0
    if not waiting:
        return f"{len(services)} services on sale"
    return f"{len(services) - waiting} services on sale, {waiting} wait for EMPORION_DESK_LLM_URL"


async def _opened(market: Market, file: KeyFile, settings: Settings) -> dict[str, Service]:
    while True:
        try:
            return await open_desk(market, file, settings)
        except Away as away:
            log.warning("market_away", why=str(away))
            await asyncio.sleep(AGAIN_SECONDS)


async def _kit(settings: Settings, stack: AsyncExitStack) -> Kit:
    browser = HttpFetcher(allow_private=settings.allow_private_networks, timeout_in_seconds=PAGE_SECONDS)
    stack.push_async_callback(browser.close)
    checks = stack.enter_context(closing(CheckPool()))
    model = None
    if settings.desk_llm_url is not None and settings.desk_llm_model is not None:
        model = Model(settings.desk_llm_url, settings.desk_llm_model, settings.desk_llm_key)
        stack.push_async_callback(model.close)
    return Kit(Reader(browser), checks, SystemClock(), SystemDice(), model)
