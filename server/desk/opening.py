"""Before the desk opens: it registers, binds its wallet, is labelled, and lists what it sells. All of it may be done again."""

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from server.desk.catalogue import SERVICES
from server.desk.keys import KeyFile, Keys
from server.desk.market import JsonObject, Market, Refused
from server.desk.service import Service
from server.settings import BadSettings

PROFILE = {
    "name": "Reference desk",
    "description": "Sells the operator's reference services: validation, extraction, classification, translation, summaries.",
}
NO_MODEL = "Paused: no language model is connected to the desk now. "
BASIS = ("unit_basis", "unit_basis_note")
PRICING = ("price", "unit_name", *BASIS)
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Terms:
    """How the operator runs the desk."""

    env: str
    brand: str
    has_model: bool
    operator_secret: str | None = None


async def open_desk(market: Market, file: KeyFile, terms: Terms) -> dict[str, Service]:
    """The services by the ids of their listings. BadSettings where the market does not know the desk's key any more."""
    me = await enter(market, file, terms)
    if not me["first_party"]:
        log.warning("not_first_party", agent=me["id"], call=label_call(me))
    return await _listed(market, terms, bool(me["first_party"]))


def label_call(me: JsonObject) -> str:
    """What the operator calls where the desk does not have its secret."""
    return f"POST /v1/admin/agents/{me['id']}/first-party"


async def enter(market: Market, file: KeyFile, terms: Terms) -> JsonObject:
    """The desk's agent, for whoever holds the file: registered where it was not, with its wallet, and labelled where that can be."""
    keys = file.read()
    me = await _me(market, keys, terms) or await _joined(market, file, keys, terms)
    return await _furnished(market, file, me, terms)


async def enter_beside(market: Market, file: KeyFile, terms: Terms) -> JsonObject:
    """The same beside a desk at work, which holds the file. BadSettings where that has not registered yet."""
    me = await _me(market, file.read(), terms) if file.path.exists() else None
    if me is None:
        raise BadSettings(f"{file.path}: the desk that works with it has not opened yet: once it says so, try again")
    return await _furnished(market, file, me, terms)


async def _furnished(market: Market, file: KeyFile, me: JsonObject, terms: Terms) -> JsonObject:
    if me["wallet_address"] is None:
        await market.post("/v1/agents/me/wallet-address", file.read().bound(terms.brand, me["id"]))
    if not me["first_party"] and terms.operator_secret:
        marked = await market.post(
            f"/v1/admin/agents/{me['id']}/first-party", {"first_party": True}, admin=terms.operator_secret
        )
        me = {**me, "first_party": marked["first_party"]}
    return me


async def _me(market: Market, keys: Keys, terms: Terms) -> JsonObject | None:
    """The desk's agent as the market knows it; None where it has to register."""
    if keys.api_keys is None:
        return None
    market.key = keys.api_keys[terms.env]
    try:
        return await market.get("/v1/agents/me")
    except Refused as refused:
        if refused.status != 401:
            raise
    if terms.env == "live":
        raise BadSettings(
            "desk.json: this market does not take the desk's key any more; move the file away to begin anew"
        )
    market.key = None
    return None  # a sandbox that was emptied: it begins anew, with the wallet it had


async def _joined(market: Market, file: KeyFile, keys: Keys, terms: Terms) -> JsonObject:
    made = await market.post("/v1/agents", PROFILE)
    agent, root_key = made["agent"]["id"], (made["keypair"] or {}).get("secret_key")
    file.write(Keys(keys.wallet_key, agent_id=agent, api_keys=made["api_keys"], root_key=root_key))
    market.key = made["api_keys"][terms.env]
    return await market.get("/v1/agents/me")


async def _listed(market: Market, terms: Terms, first_party: bool) -> dict[str, Service]:
    found: dict[str, JsonObject] = {}
    async for record in market.pages("/v1/agents/me/listings", limit=100):
        for name in set(record["tags"]) & SERVICES.keys():
            if record["status"] != "archived":
                found.setdefault(name, await market.get(f"/v1/listings/{record['id']}"))  # lists cut descriptions
    listed = {}
    for name, service in SERVICES.items():
        record = await _offered(market, service, found.get(name), terms, first_party)
        listed[str(record["id"])] = service
    return listed


async def _offered(
    market: Market, service: Service, record: JsonObject | None, terms: Terms, first_party: bool
) -> JsonObject:
    """The listing as it is to be: made, changed, paused or put on sale."""
    offer = wanted(service, terms, first_party)
    status = "paused" if service.needs_model and not terms.has_model else "active"
    if record is None:
        record = await market.post("/v1/listings", offer)
    change = {name: value for name, value in offer.items() if value != shown(record, name)}
    if record["status"] != status:
        change["status"] = status
    if change:
        record = await market.patch(f"/v1/listings/{record['id']}", change)
    log.info("listed", service=service.name, listing=record["id"], status=status)
    return record


def wanted(service: Service, terms: Terms, first_party: bool) -> JsonObject:
    """What is said of a service now. How units are counted only an agent of the operator may say; the desk counts anyway."""
    offer = {name: value for name, value in service.offer.items() if first_party or name not in BASIS}
    if service.needs_model and not terms.has_model:
        offer["description"] = NO_MODEL + offer["description"]
    return offer


def shown(record: Mapping[str, object], name: str) -> object:
    """What a listing's record says under the name that create_listing gives it."""
    pricing = record["pricing"]
    assert isinstance(pricing, dict)
    if name == "pricing_model":
        return pricing["model"]
    return pricing[name] if name in PRICING else record[name]
