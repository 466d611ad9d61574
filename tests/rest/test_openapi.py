"""openapi.json describes every operation as the registry does, in a form that other tools read."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jsonschema_rs
import orjson
import pytest
import schemathesis
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from rest.openapi import openapi, openapi_json
from rest.openapi_responses import Components
from rest.routes import Rest
from tests.support.echo_operations import echoing
from tests.support.fixed_market import approach_of, house
from tools.catalogue import CATALOGUE
from tools.engine.caller import CallRequest, Surface
from tools.engine.config import Limits
from tools.engine.dispatch import Market
from tools.engine.errors import COMMON, Forbidden, IdempotencyKeyReused, InvalidIdempotencyKey
from tools.engine.registry import Operation
from tools.jobs.errors import PaymentRequired
from tools.jobs.payments.records import PaymentTerms
from tools.kernel.errors import MarketError

SERVED = [op for op in CATALOGUE.values() if Surface.REST in op.surfaces]
WRITES = [op for op in SERVED if not op.safe]
SIGNED = {"signature": []}
KEYED = [{"bearer": []}, {"apiKey": []}, SIGNED, {"oauth": []}]
LOGIN = ("get_access_token", "POST", "/v1/oauth/token")  # OAuth's own endpoint, which is no operation
DOCUMENT = openapi(CATALOGUE.values(), house(Limits()))
EVERYWHERE = {"host_not_allowed", "origin_not_allowed", "payload_too_large", "unsupported_media_type"}
EVERYWHERE |= {"headers_too_large", "internal_error", "overloaded"}
PER_OPERATION = pytest.mark.parametrize("op", SERVED, ids=lambda op: op.name)


def entry(op: Operation) -> Any:
    return DOCUMENT["paths"][op.path][op.method.lower()]


def test_every_webhook_says_that_no_credentials_come_with_it() -> None:
    assert {
        name: one["post"]["security"] for name, one in DOCUMENT["webhooks"].items() if one["post"]["security"]
    } == {}


def test_every_operation_served_over_rest_stands_under_its_own_name() -> None:
    stands = {
        (described["operationId"], method.upper(), path)
        for path, methods in DOCUMENT["paths"].items()
        for method, described in methods.items()
    }
    assert stands == {LOGIN, *((op.name, op.method, op.path) for op in SERVED)}


def test_the_document_is_valid_openapi_3_1() -> None:
    served = orjson.loads(openapi_json(CATALOGUE.values(), house(Limits())))
    assert [fault.message for fault in OPENAPI_31_VALIDATOR.iter_errors(served)] == []
    assert served == orjson.loads(orjson.dumps(DOCUMENT))
    assert (served["info"]["title"], served["info"]["version"]) == ("emporion", "0.1.0")
    assert served["servers"] == [{"url": "https://market.example"}]


def test_every_reference_and_link_leads_somewhere() -> None:
    for reference in found(DOCUMENT, "$ref"):
        assert at_pointer(reference), reference
    assert set(found(DOCUMENT, "operationId")) == {LOGIN[0], *(op.name for op in SERVED)}


def test_every_schema_is_json_schema_2020_12() -> None:
    schemas = [*DOCUMENT["components"]["schemas"].values(), *found(DOCUMENT["paths"], "schema")]
    assert len(schemas) > 2 * len(SERVED)
    for schema in {orjson.dumps(schema): schema for schema in schemas}.values():  # many operations have equal ones
        validator(schema)


def test_schemathesis_reads_every_operation() -> None:
    read = schemathesis.openapi.from_dict(orjson.loads(orjson.dumps(DOCUMENT))).get_all_operations()
    assert {result.ok().label for result in read} == {
        f"{LOGIN[1]} {LOGIN[2]}",
        *(f"{op.method} {op.path}" for op in SERVED),
    }


@PER_OPERATION
def test_it_says_who_may_call(op: Operation) -> None:
    own = {"none": [], "optional": [{}, *KEYED], "key": KEYED, "signed": [SIGNED], "admin": [{"adminToken": []}]}
    assert entry(op)["security"] == own[op.auth]
    assert entry(op)["tags"] == [op.toolset]
    assert entry(op)["description"].startswith(op.description)
    assert all(f"`{scope}`" in entry(op)["description"] for scope in op.scopes)


@PER_OPERATION
def test_every_argument_has_one_place(op: Operation) -> None:
    parameters, body = entry(op)["parameters"], body_of(op)
    places = {where: [one["name"] for one in parameters if one["in"] == where] for where in ("path", "query", "header")}
    in_body = list(body.get("properties", {}))
    assert places["path"] == [name for name in op.input.model_fields if name in op.path_names]
    rest = [name for name in op.input.model_fields if name not in op.path_names]
    rehearsed = [] if op.safe else ["dry_run"]
    if op.body_argument is not None:  # the argument is the body itself, so the other arguments are in the query
        rest, rehearsed = [], [name for name in rest if name != op.body_argument]
    assert (places["query"], in_body) == ((rest, []) if op.method == "GET" else (rehearsed, rest))
    kept = ["If-None-Match"] if not op.streams else ["Last-Event-ID"] if op.document is None else []
    repeats = ["Idempotency-Key", *(["If-Match"] if "if_version" in op.input.model_fields else [])]
    repeats += [] if op.paid_rate is None else ["PAYMENT-SIGNATURE", "X-PAYMENT"]
    assert places["header"] == (kept if op.method == "GET" else [] if op.safe else repeats)


@PER_OPERATION
def test_what_must_be_sent_is_required(op: Operation) -> None:
    needed = {name for name, field in op.input.model_fields.items() if field.is_required()} | set(op.path_names)
    parameters, body = entry(op)["parameters"], body_of(op)
    assert {one["name"] for one in parameters if one["required"]} | set(body.get("required", [])) == needed
    if body:
        assert body["additionalProperties"] is (op.body_argument is not None)
        assert entry(op)["requestBody"]["required"] is bool(body.get("required"))


@PER_OPERATION
def test_every_refusal_the_call_can_meet_is_declared(op: Operation) -> None:
    declared = {
        code
        for status, response in entry(op)["responses"].items()
        if int(status) >= 400
        for code in codes_of(resolved(response))
    }
    common = {error for error in COMMON if op.scopes or error is not Forbidden}
    common -= {InvalidIdempotencyKey, IdempotencyKeyReused} if op.safe else set()
    # An operation with a paid rate answers with x402's own terms.
    asked = {kind.asks for kind in op.output if hasattr(kind, "asks") and op.paid_rate is None}
    assert declared == {error.code for error in {*op.errors, *common, *asked}} | EVERYWHERE


@PER_OPERATION
def test_success_has_its_status_and_what_conditions_and_replays_need(op: Operation) -> None:
    done = entry(op)["responses"][str(op.status)]
    kind = "text/event-stream" if op.streams and op.document is None else "application/json"
    assert list(done["content"]) == [kind]
    assert ("304" in entry(op)["responses"], "ETag" in done["headers"]) == (
        kept := op.method == "GET" and not op.streams,
        kept,
    )
    assert ("Idempotent-Replayed" in done["headers"]) is (not op.safe)
    assert "X-Request-Id" in done["headers"]


def test_an_operation_that_may_find_what_it_made_answers_200_too() -> None:
    both = [op.name for op in SERVED if {"200", "201"} <= set(entry(op)["responses"])]
    assert both == [op.name for op in SERVED if op.may_exist]
    assert {"create_job", "hire"} <= set(both)
    for name in both:
        found = entry(CATALOGUE[name])["responses"]
        assert found["200"]["content"] == found["201"]["content"]


def test_ids_of_what_was_made_lead_to_reading_it() -> None:
    links = {op.name: entry(op)["responses"][str(op.status)].get("links", {}) for op in WRITES}
    papers = (
        "get_registration_file",
        "get_agent_card",
        "get_did_document",
        "get_agent_keys",
        "get_client_metadata",
    )
    known = ("get_reputation", "get_attestation", "check_counterparty", "list_reviews")
    reads = ("get_agent", *known, *papers)
    agent = {name: {"operationId": name, "parameters": {"agent_id": "$response.body#/agent/id"}} for name in reads}
    listing = {"get_listing": {"operationId": "get_listing", "parameters": {"listing_id": "$response.body#/id"}}}
    assert links["register_agent"] == agent
    assert links["create_listing"] == listing
    assert links["create_job"]["get_job"] == {"operationId": "get_job", "parameters": {"job_id": "$response.body#/id"}}
    assert links["review_job"]["get_job"]["parameters"] == {"job_id": "$response.body#/job_id"}


def test_lists_in_a_query_are_separated_by_commas() -> None:
    (types,) = [one for one in entry(CATALOGUE["list_events"])["parameters"] if one["name"] == "types"]
    assert (types["style"], types["explode"], types["schema"]["type"]) == ("form", False, "array")


def test_examples_of_the_registry_stand_where_they_are_sent() -> None:
    body = entry(CATALOGUE["register_agent"])["requestBody"]["content"]["application/json"]
    assert body["examples"] == {"example1": {"value": {"name": "Ada"}}}
    (words,) = [one for one in entry(CATALOGUE["search_listings"])["parameters"] if one["name"] == "q"]
    assert words["example"] == "translate"


def test_null_is_welcome_where_a_field_may_be_left_out() -> None:
    schema = validator(body_of(CATALOGUE["create_job"]))
    order = {"listing_id": "lst_1", "input": {}}
    assert schema.is_valid({**order, "units": None, "title": None})
    assert not schema.is_valid({**order, "input": None})
    assert not schema.is_valid({**order, "unit": 1})


def test_payment_terms_stand_beside_their_error() -> None:
    refused = entry(CATALOGUE["pay_job"])["responses"]
    schema = validator(refused["402"]["content"]["application/json"]["schema"])
    terms = orjson.loads(orjson.dumps(TERMS))
    due = PaymentRequired("1.000000 USDC are due").record("req_1", "https://market.example/docs/errors")
    assert schema.is_valid({"error": due, **terms})
    assert schema.is_valid({"error": {**due, "code": "payment_invalid"}})
    assert not schema.is_valid(terms)
    both = validator({"$ref": "#/components/schemas/PaymentTermsWithError"})
    assert both.is_valid({"error": due, **terms})
    assert not both.is_valid({"error": due})
    assert refused["200"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Job"}


async def test_answers_of_the_door_are_what_the_document_says(market: Market) -> None:
    approach = CallRequest(Surface.REST, "203.0.113.7", "req_1")
    op = CATALOGUE["register_agent"]
    for given, status in (({"name": "Ada"}, 201), ({"nam": "Ada"}, 400), ({"name": "Bo", "handle": "admin"}, 409)):
        answer = await market.call(op, given, approach)
        assert answer.status == status
        schema = resolved(entry(op)["responses"][str(status)])["content"]["application/json"]["schema"]
        validator(schema).validate(orjson.loads(answer.body))


async def test_every_path_of_the_document_is_routed(market: Market) -> None:
    table = Rest(market, approach_of).table
    for op in SERVED:
        methods, shape = table.find(tuple(op.path.strip("/").split("/"))) or ({}, ())
        assert (methods[op.method], "/" + "/".join(shape)) == (op, op.path)


def test_an_operation_for_other_surfaces_alone_is_left_out() -> None:
    elsewhere = replace(CATALOGUE["get_me"], surfaces=frozenset({Surface.MCP}))
    assert openapi([elsewhere], house(Limits()))["paths"].keys() == {LOGIN[2]}


def test_operations_of_any_shape_are_described() -> None:
    with echoing():
        made = openapi(CATALOGUE.values(), house(Limits()))
    assert [fault.message for fault in OPENAPI_31_VALIDATOR.iter_errors(orjson.loads(orjson.dumps(made)))] == []
    tree = made["components"]["schemas"]["Node"]
    assert tree["properties"]["inner"]["anyOf"][0] == {"$ref": "#/components/schemas/Node"}
    assert codes_of(made["paths"]["/v1/echoes/pay"]["post"]["responses"]["402"]) == ["payment_required"]


def test_two_schemas_of_one_name_are_refused() -> None:
    parts = Components()
    parts.define("Thing", {"type": "object"})
    with pytest.raises(TypeError, match="two different schemas are called Thing"):
        parts.define("Thing", {"type": "string"})


def test_a_record_says_all_its_fields_are_there() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for name in ("Agent", "Job", "Listing", "PaymentTerms", "Review", "Settlement"):
        assert schemas[name]["required"] == list(schemas[name]["properties"])


def test_errors_of_the_document_are_errors_of_the_catalogue() -> None:
    kinds = DOCUMENT["components"]["schemas"]["ErrorType"]["enum"]
    assert kinds == sorted({kind.type for kind in leaves(MarketError) if hasattr(kind, "type")})


TERMS = PaymentTerms(
    job_id="job_1",
    amount=1_000_000,
    price=1_000_000,
    already_paid=0,
    display="1.000000 USDC",
    network="eip155:84532",
    chain_id=84532,
    asset="0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    pay_to="0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    pay_from=None,
    pay_by="2026-11-21T12:15:00.000Z",
    steps=["Send it."],
    gasless=None,
    x402=None,
    facilitator=None,
    next_steps=[],
)


def validator(schema: Any) -> Any:
    """Return a validator of a schema in the document, with the document's components."""
    whole = {"components": {"schemas": DOCUMENT["components"]["schemas"]}, "allOf": [schema]}
    return jsonschema_rs.Draft202012Validator(whole, offline=True)


def body_of(op: Operation) -> Any:
    request = entry(op).get("requestBody")
    return resolved(request["content"]["application/json"]["schema"]) if request else {}


def resolved(part: Any) -> Any:
    return at_pointer(part["$ref"]) if "$ref" in part else part


def at_pointer(reference: str) -> Any:
    assert reference.startswith("#/")
    place: Any = DOCUMENT
    for name in reference.removeprefix("#/").split("/"):
        place = place[re.sub("~1", "/", name)]
    return place


def codes_of(response: Any) -> list[str]:
    """Return every error code that a response names; x402's own answer names none."""
    named: list[str] = response.get("x-codes", [])
    return named


def found(part: Any, name: str) -> Iterator[Any]:
    """Yield every value under that name, at any depth outside of examples."""
    if isinstance(part, list):
        for one in part:
            yield from found(one, name)
    if isinstance(part, dict):
        if name in part:
            yield part[name]
        for key, one in part.items():
            if key not in ("example", "examples"):
                yield from found(one, name)


def leaves(kind: type[MarketError]) -> Iterator[type[MarketError]]:
    for below in kind.__subclasses__():
        yield below
        yield from leaves(below)
