"""openapi.json with a path for each listing that one x402 payment buys, as catalogues of x402 read it.

Source: the discovery specification of agentcash, version 1.0, section 5 (`x-payment-info`).
"""

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import orjson

from rest.openapi_responses import JSON, SCHEMAS
from storage.vocabulary import Env
from tools.engine.config import MarketConfig
from tools.engine.json_schemas import Schema
from tools.kernel.money import MINOR_PER_USDC
from tools.kernel.records import Json
from tools.kernel.schema_cost import APPLICATORS, escape_step, referenced_name, subschemas
from tools.purchases.catalogue_entries import MONEY, Entry

BUY = "/v1/x402/{listing_id}"
MAX_BYTES = 1_000_000  # of the schemas of all listings; those beyond it are any object
MAX_TITLE, MAX_GUIDANCE = 120, 4_000
ANY: Schema = {"type": "object"}
VALUES = ("const", "enum")
ASSERTIONS = (
    "$ref type title description deprecated readOnly writeOnly format pattern minLength maxLength contentEncoding contentMediaType "
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf required dependentRequired minProperties maxProperties "
    "minItems maxItems uniqueItems minContains maxContains"
)
KEPT = APPLICATORS.union(VALUES, ASSERTIONS.split())  # the keywords of a seller's schema that are shown
GUIDANCE = """\
Each path below /v1/x402/ is one service of the market's operator. POST its input as the whole JSON body without a
payment: the answer is a 402 whose header PAYMENT-REQUIRED has the terms (x402 version 2, scheme exact, USDC; the body
has them in version 1). Sign them with any x402 client and send the same body again with PAYMENT-SIGNATURE. The work is
done first and charged only once it is there; the same payment sent again gets the same result and pays nothing more.
Services sold per unit take ?units=. No account and no API key are needed. The result names an account that the paying
wallet can claim. All other services of the market are other agents': search them with GET /v1/listings, order with
POST /v1/jobs and pay their sellers from wallet to wallet."""


def guidance(config: MarketConfig) -> tuple[Schema, Schema]:
    """Return what catalogues want beside the paths: members of `info`, and of the document."""
    where = {"url": f"{config.base_url}/docs"}
    if config.contact is not None:
        given = config.contact
        where |= {"email": given.removeprefix("mailto:")} if given.startswith("mailto:") else {"url": given}
    told = {"x-agentcash-guidance": {"llmsTxtUrl": f"{config.base_url}/llms.txt"}}
    return {"contact": where, "x-guidance": GUIDANCE[:MAX_GUIDANCE]}, told


def with_listings(document: Schema, sold: Sequence[Entry], env: Env) -> Schema:
    """Return openapi.json with a path for each listing, all of `env`; the rest is not copied."""
    left, paths = MAX_BYTES, dict(document["paths"])
    unpaid = paths[BUY]["post"]["responses"]["402"]
    for one in sold:
        left -= len(orjson.dumps([one.input_schema, one.output_schema]))
        paths[BUY.format(listing_id=one.listing_id)] = {"post": _purchase(one, env, unpaid, shown=left >= 0)}
    about = f"Services of the operator, each bought with one x402 payment of {MONEY[env]}: GET /v1/x402?env={env}."
    tag = {"name": "x402", "description": about}
    return document | {"paths": paths, "tags": [*document["tags"], tag] if sold else document["tags"]}


def _purchase(one: Entry, env: Env, unpaid: Schema, *, shown: bool) -> Schema:
    at = partial(_relinked, f"#/paths/{escape_step(BUY.format(listing_id=one.listing_id))}/post/")
    given = at("requestBody/content/application~1json/schema", one.input_schema) if shown else ANY
    place = "responses/200/content/application~1json/schema/allOf/1/properties/output"
    work = at(place, one.output_schema) if shown else {}
    result = {"allOf": [{"$ref": f"{SCHEMAS}X402Result"}, {"type": "object", "properties": {"output": work}}]}
    title = one.title[:MAX_TITLE]
    return {
        "operationId": f"buy_{one.listing_id}",
        "summary": title if env is Env.LIVE else f"{title} ({MONEY[env]})",
        "description": f"Buy this service of the operator with one x402 payment of {MONEY[env]}: {title}",
        "tags": ["x402"],
        "security": [],
        "x-payment-info": {"price": _price(one), "protocols": [{"x402": {}}]},
        "requestBody": {"required": True, "content": {JSON: {"schema": given}}},
        "responses": {
            "200": {"description": "The work, and the payment that was taken.", "content": {JSON: {"schema": result}}},
            "402": unpaid,
            "default": {"description": "Refused.", "content": {JSON: {"schema": {"$ref": f"{SCHEMAS}Error"}}}},
        },
    }


def _price(one: Entry) -> Schema:
    least, most = (f"{Decimal(amount) / MINOR_PER_USDC:.6f}" for amount in (one.min_price, one.max_price))
    if least == most:
        return {"mode": "fixed", "currency": "USD", "amount": least}
    return {"mode": "dynamic", "currency": "USD", "min": least, "max": most}


def _relinked(above: str, place: str, schema: Any) -> Any:
    """Return a copy of a seller's schema whose references work inside this document.

    Listings take only references to `#/$defs/<name>`, which would mean the whole document here. Other keywords than KEPT
    are left out: `$schema` and `$id` would change how the document around it is read, and in a value such as `default`
    or `discriminator` readers may follow what looks like a reference. So may they in VALUES.
    """
    copied = orjson.loads(orjson.dumps(schema))
    for _, node in subschemas(copied):
        for name in node.keys() - KEPT:
            del node[name]
        for name in VALUES:
            if _may_refer(node.get(name)):
                del node[name]
        if "$ref" in node:
            node["$ref"] = f"{above}{place}/$defs/{referenced_name(node)}"
    return copied


def _may_refer(value: Json) -> bool:
    """Check whether a value has a member with the name of a keyword such as `$ref` or `$id`."""
    if isinstance(value, dict):
        return any(name.startswith("$") or _may_refer(one) for name, one in value.items())
    return isinstance(value, list) and any(_may_refer(one) for one in value)
