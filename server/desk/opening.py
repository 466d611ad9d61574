"""The desk's process: it joins the market, is labelled, puts its services up for sale and works their orders."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from typing import Any, TypeVar

import orjson
import structlog

import emporion_client
from emporion_client import AsyncMarket, Decline, Delivery, MarketDown
from emporion_client.home import Home
from emporion_client.money import to_usdc
from server.adapters.checks import CheckPool
from server.adapters.clock import SystemClock, SystemDice
from server.adapters.http_fetch import PAGE_SECONDS, HttpFetcher
from server.desk.catalogue import SERVICES
from server.desk.model import Model
from server.desk.offers import JsonObject
from server.desk.reader import Reader
from server.desk.service import Kit, Order, Service
from server.settings import BadSettings, Settings, drop_client_variables

NAME = "Reference desk"
DESCRIPTION = "Sells the operator's reference services: validation, extraction, classification, translation, summaries."
NO_MODEL = "Paused: no language model is connected to the desk now. "
BASIS = ("unit_basis", "unit_basis_note")
SAME = "The same output again: each order is worked once. For another result order anew, with what was missing in the input."
AT_ONCE = 4  # orders of one service, so that no service waits behind a slow one
GRACE_SECONDS = 1.0  # an order that is worked longer is worked again by the next desk
AGAIN_SECONDS = 2.0  # while the market does not answer
Started = Callable[[dict[str, str]], object]
T = TypeVar("T")
log = structlog.get_logger()


def run(settings: Settings, url: str) -> None:
    """Sell until a signal ends it. Raises BadSettings or EmporionError if it cannot begin."""

    def announce(_: dict[str, str]) -> None:
        print(f"The desk is open at {url}: {on_sale(settings)}", flush=True)

    asyncio.run(work(settings, url, announce))


async def work(settings: Settings, url: str, started: Started) -> None:
    async with AsyncExitStack() as stack:
        kit = await _kit(settings, stack)
        while True:
            try:
                async with joined(settings, url) as (market, me):
                    await sell(market, me, kit, started)
                return
            except MarketDown as down:
                log.warning("market_down", why=str(down))
                await asyncio.sleep(AGAIN_SECONDS)


async def sell(market: AsyncMarket, me: JsonObject, kit: Kit, started: Started, at_once: int = AT_ONCE) -> None:
    """Put the services up for sale and work their orders until a signal or a cancellation."""
    await adopt_listings(market)
    for service in SERVICES.values():
        offer = offer_of(service, kit, first_party=me["first_party"])
        price, active = to_usdc(offer.pop("price")), is_active(service, kit)
        handler = _handler(market, service, kit)
        market.sells(name=service.name, price=price, work_first=True, at_once=at_once, active=active, **offer)(handler)
    await market.run(grace=GRACE_SECONDS, pause_when_stopped=False, started=started)


def on_sale(settings: Settings) -> str:
    """Say how many services can be bought, and what the others wait for."""
    waiting = sum(one.needs_model for one in SERVICES.values()) if settings.desk_llm_url is None else 0
    if not waiting:
        return f"{len(SERVICES)} services on sale"
    return f"{len(SERVICES) - waiting} services on sale, {waiting} wait for EMPORION_DESK_LLM_URL"


def is_active(service: Service, kit: Kit) -> bool:
    """Tell whether a service can be bought: four need a language model."""
    return kit.model is not None or not service.needs_model


def offer_of(service: Service, kit: Kit, *, first_party: bool) -> JsonObject:
    """Return the arguments of create_listing for a service.

    Only an agent of the operator may publish how units are counted; the desk counts them anyway.
    """
    offer = {name: value for name, value in service.offer.items() if first_party or name not in BASIS}
    if not is_active(service, kit):
        offer["description"] = NO_MODEL + offer["description"]
    return offer


def _handler(market: AsyncMarket, service: Service, kit: Kit) -> Callable[..., Awaitable[Any]]:
    async def work(order: emporion_client.Order, **_: Any) -> Any:
        if order.job["deliveries"]:
            last = max(one["revision"] for one in order.job["deliveries"])
            earlier = await market.get_delivery(job_id=order.id, revision=last)
            return Delivery(earlier["output"], SAME)
        if not is_active(service, kit):
            raise Decline("No language model is connected to this desk now.")
        return await service.work(kit, Order(order.input, order.units))

    return work


async def _kit(settings: Settings, stack: AsyncExitStack) -> Kit:
    browser = HttpFetcher(allow_private=settings.allow_private_networks, timeout_in_seconds=PAGE_SECONDS)
    stack.push_async_callback(browser.close)
    checks = stack.enter_context(closing(CheckPool()))
    model = None
    if settings.desk_llm_url is not None and settings.desk_llm_model is not None:
        model = Model(settings.desk_llm_url, settings.desk_llm_model, settings.desk_llm_key)
        stack.push_async_callback(model.close)
    return Kit(Reader(browser), checks, SystemClock(), SystemDice(), model)


@asynccontextmanager
async def joined(settings: Settings, url: str) -> AsyncIterator[tuple[AsyncMarket, JsonObject]]:
    """Yield the desk's client and its agent.

    The agent is registered if necessary, and labelled if the operator's secret is set.
    """
    drop_client_variables()
    adopt_keys(settings)
    async with AsyncMarket(url, env=settings.desk_env, name=NAME, home=settings.desk_home) as market:
        me: JsonObject = dict(await market.get_me())
        if me["description"] != DESCRIPTION:
            me |= await market.update_me(description=DESCRIPTION)
        if not me["first_party"] and settings.operator_secret:
            me |= await market.set_first_party(
                agent_id=me["id"], first_party=True, admin_token=settings.operator_secret
            )
        if not me["first_party"]:
            log.warning("not_first_party", agent=me["id"], call=label_call(me))
        yield market, me


def adopt_keys(settings: Settings) -> None:
    """Take over the keys that earlier versions kept in desk.json."""
    old = settings.data_dir / "desk.json"
    if not old.exists() or (settings.desk_home / "agent.json").exists():
        return
    try:
        kept = orjson.loads(old.read_bytes())
        found = {"wallet": kept["wallet_key"]}
        if kept["api_keys"] is not None:
            found |= {"agent_id": kept["agent_id"], "api_key": kept["api_keys"][settings.desk_env]}
            found |= {"root_key": kept["root_key"]} if kept["root_key"] else {}
    except (ValueError, TypeError, KeyError):
        raise BadSettings(f"{old}: does not hold the keys of a desk; move it away to begin anew") from None
    with closing(Home(settings.desk_home)) as home:
        home.add_keys(**found)


async def adopt_listings(market: AsyncMarket) -> None:
    """Go on with the listings of earlier versions, which had no external_id."""
    journal = market.account.home.journal
    async for record in market.pages("list_my_listings", limit=100):
        for name in set(record["tags"]) & SERVICES.keys():
            if record["status"] != "archived" and record["external_id"] is None:
                journal.put(f"listing:{name}", record["id"])


def label_call(me: JsonObject) -> str:
    """Return the call that labels the desk, for an operator whose secret the desk lacks."""
    return f"POST /v1/admin/agents/{me['id']}/first-party"


async def as_desk(settings: Settings, url: str, ask: Callable[[AsyncMarket], Awaitable[T]]) -> T:
    """Ask something as the desk's agent, beside a desk that sells or without one.

    Raises BadSettings if the agent is not labelled, because buyers would take it for a stranger.
    """
    async with joined(settings, url) as (market, me):
        if not me["first_party"]:
            raise BadSettings(
                f"the desk's agent {me['handle']} is not labelled first-party: set EMPORION_OPERATOR_SECRET, or make the call "
                f"{label_call(me)}"
            )
        return await ask(market)
