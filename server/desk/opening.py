"""The desk's process: it registers, binds its wallet, is labelled, opens its listings and works. Each step can be repeated."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, closing, suppress
from typing import TypeVar

import structlog

from server.adapters.checks import CheckPool
from server.adapters.clock import SystemClock, SystemDice
from server.adapters.http_fetch import PAGE_SECONDS, HttpFetcher
from server.desk.catalogue import SERVICES
from server.desk.keys import KeyFile, Keys
from server.desk.market import Away, JsonObject, Market, Refused
from server.desk.model import Model
from server.desk.reader import Reader
from server.desk.service import Kit, Service
from server.desk.worker import AGAIN_SECONDS, Worker
from server.settings import BadSettings, Settings

PROFILE = {
    "name": "Reference desk",
    "description": "Sells the operator's reference services: validation, extraction, classification, translation, summaries.",
}
NO_MODEL = "Paused: no language model is connected to the desk now. "
BASIS = ("unit_basis", "unit_basis_note")
PRICING = ("price", "unit_name", *BASIS)
T = TypeVar("T")
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


async def open_desk(market: Market, file: KeyFile, settings: Settings) -> dict[str, Service]:
    """Return the services by listing id; raise BadSettings if the market forgot the desk's key."""
    me = await enter(market, file, settings)
    if not me["first_party"]:
        log.warning("not_first_party", agent=me["id"], call=label_call(me))
    return await _listed(market, settings, bool(me["first_party"]))


def label_call(me: JsonObject) -> str:
    """Return the call that labels the desk, for an operator whose secret the desk lacks."""
    return f"POST /v1/admin/agents/{me['id']}/first-party"


async def enter(market: Market, file: KeyFile, settings: Settings) -> JsonObject:
    """Return the desk's agent for the process that holds the key file.

    It is registered if necessary, with its wallet, and labelled if the secret is known.
    """
    keys = file.read()
    me = await _me(market, keys, settings) or await _joined(market, file, keys, settings)
    return await _furnished(market, file, me, settings)


async def enter_beside(market: Market, file: KeyFile, settings: Settings) -> JsonObject:
    """Return the agent of a running desk; raise BadSettings if it has not registered yet."""
    me = await _me(market, file.read(), settings) if file.path.exists() else None
    if me is None:
        raise BadSettings(f"{file.path}: the desk that works with it has not opened yet: once it says so, try again")
    return await _furnished(market, file, me, settings)


async def as_desk(settings: Settings, url: str, ask: Callable[[Market], Awaitable[T]]) -> T:
    """Ask something as the desk's agent, beside a desk at work or without one.

    Raises BadSettings if the agent is not labelled: what it posts would pass for a stranger's.
    """
    async with Market(url) as market:
        me = await _entered(market, KeyFile(settings.data_dir), settings)
        if not me["first_party"]:
            raise BadSettings(
                f"the desk's agent {me['handle']} is not labelled first-party: set EMPORION_OPERATOR_SECRET, or make the call "
                f"{label_call(me)}"
            )
        return await ask(market)


async def _entered(market: Market, file: KeyFile, settings: Settings) -> JsonObject:
    with ExitStack() as stack:
        try:
            stack.enter_context(file.held())
        except BadSettings:
            return await enter_beside(market, file, settings)
        return await enter(market, file, settings)


async def _furnished(market: Market, file: KeyFile, me: JsonObject, settings: Settings) -> JsonObject:
    if me["wallet_address"] is None:
        await market.post("/v1/agents/me/wallet-address", file.read().bound(settings.service_name, me["id"]))
    if not me["first_party"] and settings.operator_secret:
        marked = await market.post(
            f"/v1/admin/agents/{me['id']}/first-party", {"first_party": True}, admin=settings.operator_secret
        )
        me = {**me, "first_party": marked["first_party"]}
    return me


async def _me(market: Market, keys: Keys, settings: Settings) -> JsonObject | None:
    """Read the desk's agent from the market; None if it must register."""
    if keys.api_keys is None:
        return None
    market.key = keys.api_keys[settings.desk_env]
    try:
        return await market.get("/v1/agents/me")
    except Refused as refused:
        if refused.status != 401:
            raise
    if settings.desk_env == "live":
        raise BadSettings(
            "desk.json: this market does not take the desk's key any more; move the file away to begin anew"
        )
    market.key = None
    return None  # the sandbox was emptied: register again, with the same wallet


async def _joined(market: Market, file: KeyFile, keys: Keys, settings: Settings) -> JsonObject:
    made = await market.post("/v1/agents", PROFILE)
    agent, root_key = made["agent"]["id"], (made["keypair"] or {}).get("secret_key")
    file.write(Keys(keys.wallet_key, agent_id=agent, api_keys=made["api_keys"], root_key=root_key))
    market.key = made["api_keys"][settings.desk_env]
    return await market.get("/v1/agents/me")


async def _listed(market: Market, settings: Settings, first_party: bool) -> dict[str, Service]:
    found: dict[str, JsonObject] = {}
    async for record in market.pages("/v1/agents/me/listings", limit=100):
        for name in set(record["tags"]) & SERVICES.keys():
            if record["status"] != "archived":
                found.setdefault(name, await market.get(f"/v1/listings/{record['id']}"))  # lists cut descriptions
    listed = {}
    for name, service in SERVICES.items():
        record = await _offered(market, service, found.get(name), settings, first_party)
        listed[str(record["id"])] = service
    return listed


async def _offered(
    market: Market, service: Service, record: JsonObject | None, settings: Settings, first_party: bool
) -> JsonObject:
    """Create, change, pause or activate a listing; return it."""
    offer = wanted(service, settings, first_party)
    status = "paused" if service.needs_model and settings.desk_llm_url is None else "active"
    if record is None:
        record = await market.post("/v1/listings", offer)
    change = {name: value for name, value in offer.items() if value != shown(record, name)}
    if record["status"] != status:
        change["status"] = status
    if change:
        record = await market.patch(f"/v1/listings/{record['id']}", change)
    log.info("listed", service=service.name, listing=record["id"], status=status)
    return record


def wanted(service: Service, settings: Settings, first_party: bool) -> JsonObject:
    """Return the fields of a service's listing.

    Only an agent of the operator may publish how units are counted; the desk counts them anyway.
    """
    offer = {name: value for name, value in service.offer.items() if first_party or name not in BASIS}
    if service.needs_model and settings.desk_llm_url is None:
        offer["description"] = NO_MODEL + offer["description"]
    return offer


def shown(record: Mapping[str, object], name: str) -> object:
    """Return the value in a listing's record of an argument of create_listing."""
    pricing = record["pricing"]
    assert isinstance(pricing, dict)
    if name == "pricing_model":
        return pricing["model"]
    return pricing[name] if name in PRICING else record[name]
