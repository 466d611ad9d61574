"""Gives each enumeration of openapi.json one name, because generators make a type of every inline one."""

import inspect
from collections.abc import Iterator
from enum import EnumType, StrEnum
from typing import Any

from storage import vocabulary
from tools.engine.json_schemas import Schema

SCHEMAS = "#/components/schemas/"
# Enumerations without a class in storage/vocabulary.py: the name, and a field of a schema or a parameter that has it.
NAMED = {
    "AcceptanceKind": "AcceptanceRule.kind",
    "ActiveOrPaused": "UpdateListing.status",
    "BountyEnd": "ProposalRejected.status",
    "CancelledBy": "JobCancelled.by",
    "CaseRole": "Dispute.role",
    "CompletedBy": "JobCompleted.by",
    "CounterpartyVerdict": "CounterpartyCheck.verdict",
    "CredentialsNeeded": "Tool.auth",
    "DecidedBy": "Dispute.resolved_by",
    "DisabledReason": "Webhook.disabled_reason",
    "ErrorType": "Refusal.type",
    "EscalationReason": "Dispute.escalation_reason",
    "FailureReason": "WebhookDisabledData.reason",
    "FeedKind": "FeedItem.type",
    "FixedOrPerUnit": "X402Service.pricing_model",
    "LoginErrorCode": "LoginRefusal.error",
    "MessageOrder": "list_messages.order",
    "MoneyDirection": "Settlement.direction",
    "PartyOrEvaluator": "list_disputes.role",
    "PausedBy": "Listing.paused_by",
    "PaymentState": "JobPayment.status",
    "ProofMethod": "Domain.method",
    "ResolvedBy": "JobResolved.by",
    "RevocationReason": "Domain.revoked_reason",
    "SchemaCheck": "Checks.output_schema",
    "SchemaFit": "Comparison.schema_fit",
    "ScopeName": "CreateApiKey.scopes",
    "SearchOrder": "search_listings.sort",
    "ServiceState": "Health.status",
    "ShownAgentStatus": "Agent.status",
    "Toolset": "find_tools.toolset",
    "TradeRole": "Job.role",
    "UnitMeasure": "UnitCount.measure",
    "WaitedFor": "WaitingOn.who",
}
Values = frozenset[str]


def name_enums(schemas: dict[str, Schema], paths: dict[str, Schema]) -> dict[str, Schema]:
    """Return the schemas, with each known enumeration as one of them.

    References replace it, also in the parameters of `paths`.
    """
    parameters = list(_parameters(paths))
    made = {name: schema for name, schema in _enums(schemas, parameters) if "enum" in schema}
    names = {frozenset(schema["enum"]): name for name, schema in made.items()}
    used = set[str]()
    whole = {name: schema if name in made else _linked(schema, names, used) for name, schema in schemas.items()}
    for _, parameter in parameters:
        parameter["schema"] = _linked(parameter["schema"], names, used)
    return whole | {name: made[name] for name in used}


def _enums(schemas: dict[str, Schema], parameters: list[tuple[str, Schema]]) -> Iterator[tuple[str, Schema]]:
    """Yield each enumeration with its name."""
    for name, kind in vars(vocabulary).items():
        if isinstance(kind, EnumType) and issubclass(kind, StrEnum) and kind is not StrEnum:
            own = schemas.get(name, {"type": "string", "enum": list(kind), **_described(kind)})
            yield name, own
    places = {f"{operation}.{one['name']}": one["schema"] for operation, one in parameters}
    for name, place in NAMED.items():
        owner, _, field = place.partition(".")
        found = schemas.get(owner, {}).get("properties", {}).get(field) or places.get(place, {})
        for values in _values(found):
            yield name, {"type": "string", "enum": values}


def _described(kind: type[StrEnum]) -> Schema:
    said = inspect.getdoc(kind) if kind.__doc__ != StrEnum.__doc__ else None
    return {"description": said} if said else {}


def _values(schema: Schema) -> Iterator[list[str]]:
    """Yield the values of a field, also if it may be null or is a list."""
    if "enum" in schema:
        yield schema["enum"]
    inner = [*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else [])]
    for part in inner:
        yield from _values(part)


def _parameters(paths: dict[str, Schema]) -> Iterator[tuple[str, Schema]]:
    """Yield the parameters of all operations, each with the operation's name."""
    for methods in paths.values():
        for operation in methods.values():
            yield from ((operation["operationId"], one) for one in operation.get("parameters", ()))


def _linked(part: Any, names: dict[Values, str], used: set[str]) -> Any:
    """Return the schema with references in the place of known enumerations."""
    if isinstance(part, list):
        return [_linked(one, names, used) for one in part]
    if not isinstance(part, dict):
        return part
    name = names.get(frozenset(part["enum"])) if isinstance(part.get("enum"), list) else None
    if name is None:
        return {key: _linked(one, names, used) for key, one in part.items()}
    used.add(name)
    beside = {key: part[key] for key in ("description", "default") if key in part}
    return {"$ref": SCHEMAS + name, **beside}
