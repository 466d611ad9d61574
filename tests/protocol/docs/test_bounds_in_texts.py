"""Every number in the description of an argument is enforced by its schema or by the code."""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from typing import Any

import pytest

from tests.requirements import covers
from tools.agents.profiles import MAX_METADATA
from tools.bounties.rules import MAX_A_DAY, MAX_OF_BUYER, MAX_OF_STRANGERS
from tools.catalogue import CATALOGUE
from tools.discovery.peer_catalogs import KEPT
from tools.engine.config import Limits
from tools.engine.documents import MAX_DOCUMENT, MAX_PREVIEW
from tools.engine.json_schemas import input_schema
from tools.engine.rate_limits import ALLOWANCES, Rate
from tools.engine.registry import Operation
from tools.events.schedules.operations import MAX_ACTIVE, MAX_PAYLOAD
from tools.events.webhooks.rules import MAX_FAILURES
from tools.kernel.domain_names import MAX_DOMAINS
from tools.kernel.money import DUST_MINOR
from tools.memory.operations import MAX_KEYS, MAX_VALUE
from tools.messages.logic import MAX_DATA
from tools.messages.rules import MAX_UNANSWERED
from tools.operator.retention import DELIVERIES_KEPT, EVENTS_KEPT
from tools.purchases.account_operations import MAX_AGE_SECONDS
from tools.reputation.counterparty import MAX_DISPUTED, MAX_FAILED, MIN_ANSWERED, MIN_PAID

NAMES = re.compile(  # with a number in the name
    r"Ed25519|EIP-\d+|ERC-\d+|RFC \d+|ISO-8601|2020-12|sha256|HMAC-SHA256|A2A|a2a\w*|x402|erc8004\S*|%2F|2\^53|port 443|0x\b|v1a?\b|"
    r"X-Webhook-\w+|1000000 = 1 USDC|list_x402_services|A-Z a-z 0-9|\b[245]\d\d (?=`?[a-z]+_[a-z])"
)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
BYTES = {  # counted in bytes, which JSON Schema cannot express
    "metadata": MAX_METADATA, "input": MAX_DOCUMENT, "output": MAX_DOCUMENT, "preview": MAX_PREVIEW, "data": MAX_DATA,
    "payload": MAX_PAYLOAD, "value": MAX_VALUE,
}  # fmt: skip
DEFAULTS = {  # the schema's default is null, because the default varies
    ("turnaround_seconds", "3600"), ("accept_timeout_seconds", "3600"), ("accept_timeout_seconds", "600"), ("max_open_jobs", "10"),
}  # fmt: skip
AGES = {("signed_at", f"{MAX_AGE_SECONDS}")}  # of a signature
ADVISED = {("price", "10000"): DUST_MINOR}
LIMITS = Limits()


def shown(op: Operation) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the schemas of arguments that have a description, with the argument's name."""
    schema = input_schema(op)
    waiting = [
        *chain(
            schema["properties"].items(),
            *(one.get("properties", {}).items() for one in schema.get("$defs", {}).values()),
        )
    ]
    for name, one in waiting:
        waiting += [(name, part) for key in ("anyOf", "allOf") for part in one.get(key, ())]
        waiting += [*one.get("properties", {}).items()]
        if "description" in one:
            yield name, one


def bounds(schema: dict[str, Any], *names: str) -> list[int]:
    """Return the values of these keywords in the schema and its alternatives."""
    parts = [schema, *schema.get("anyOf", ())]
    return [part[name] for part in parts for name in names if name in part]


def explained(name: str, schema: dict[str, Any], text: str) -> Iterator[str]:
    """Yield the numbers of a description that are enforced."""
    least, most = ("minimum", "minLength", "minItems"), ("maximum", "maxLength", "maxItems")
    patterns = " ".join(str(one) for one in bounds(schema, "pattern"))
    for low, high in re.findall(r"(\d+)-(\d+)", text):
        enforced = (
            int(low) in bounds(schema, *least) and int(high) in bounds(schema, *most)
        ) or f"{{{low},{high}}}" in patterns
        yield from (low, high) if enforced else ()
    for number in re.findall(r"(\d+) KB", text):
        yield from (number,) if BYTES.get(name) == int(number) * 1024 else ()
    for number in re.findall(r"at most (\d+)(?! KB)", text):
        yield from (number,) if int(number) in bounds(schema, *most) or (name, number) in AGES else ()
    for number in re.findall(r"(\d+) hex", text):
        yield from (number,) if f"{{{number}}}" in patterns or name == "value" else ()  # value: of an acceptance rule
    for number in re.findall(r"default:? (\d+ days|\d+)|, (\d+) on test", text):
        said = "".join(number)
        days = said.removesuffix(" days")
        if (name, said) in DEFAULTS or schema.get("default") in (int(days), int(days) * 86_400):
            yield days
    for number in re.findall(r"\d+", text):  # an example: a value that is accepted
        low, high = bounds(schema, "minimum"), bounds(schema, "maximum")
        if (
            low
            and high
            and min(low) <= int(number) <= max(high)
            and not re.search(rf"(at most|default:?|-) ?{number}\b|\b{number}-", text)
        ):
            yield from (number,) if ADVISED.get((name, number), int(number)) == int(number) else ()


@covers("second.bounds.arguments")
@pytest.mark.parametrize("op", CATALOGUE.values(), ids=lambda op: op.name)
def test_the_numbers_in_descriptions_of_arguments_are_enforced(op: Operation) -> None:
    for name, schema in shown(op):
        text = NAMES.sub("", schema["description"])
        assert {*NUMBER.findall(text)} - {*explained(name, schema, text)} == set(), (op.name, name, schema)


def per_hour(rate: Rate) -> str:
    """Return the calls per hour of a rate limit, as texts write them."""
    allowance = ALLOWANCES[rate]
    return f"{allowance.calls * 3600 // allowance.seconds}"


SAID = {  # phrases in descriptions of operations, made from the enforced values
    "get_health": {"at most 5 seconds ago"},
    "get_changelog": {"at least 30 days"},
    "get_feed": {"0.01 USDC"},
    "search_elsewhere": {f"last {KEPT // timedelta(hours=1)} hours"},
    "export_me": {"20 seconds"},
    "recover_agent": {f"At most {per_hour(Rate.RECOVER)} an hour"},
    "get_attestation": {"valid for 7 days"},
    "check_counterparty": {
        "below 3 jobs", f"paid_rate below {MIN_PAID}", f"dispute_rate above {MAX_DISPUTED}",
        f"response_rate below {MIN_ANSWERED}", f"more than {MAX_FAILED:.0%}".replace("%", " %"),
    },
    "list_domains": {"trust tier 1", "tier 2"},
    "add_domain": {f"at most {MAX_DOMAINS}"},
    "verify_domain": {f"At most {per_hour(Rate.DOMAINS)} checks an hour", "Answers 200"},
    "remove_domain": {"tier 2"},
    "set_evaluator": {"trust tier 1"},
    "get_service_registration": set(),
    "claim_test_funds": {"1 test USDC"},
    "verify_receipt": {"7 days"},
    "start_thread": {f"After {MAX_UNANSWERED} messages"},
    "post_message": {f"After {MAX_UNANSWERED} messages"},
    "list_events": {f"{EVENTS_KEPT.days} days"},
    "stream_events": {"every 15 seconds", f"At most {LIMITS.streams_per_key} streams a key, {LIMITS.streams_per_agent} an agent"},
    "create_webhook": {f"At most {LIMITS.webhooks} in each", "answer 2xx within 10 seconds", f"{MAX_FAILURES} deliveries", "a 410"},
    "list_webhook_deliveries": {f"Kept {DELIVERIES_KEPT.days} days"},
    "create_schedule": {f"At most {MAX_ACTIVE} are active"},
    "set_bounty_alerts": {f"At most {MAX_A_DAY} a day", f"{MAX_OF_STRANGERS} of buyers that have never paid", f"and {MAX_OF_BUYER} a day from one buyer"},
    "claim_x402_account": {f"{MAX_AGE_SECONDS} seconds"},
    "put_memory": {f"At most {MAX_KEYS} keys"},
    "buy_with_x402": {"answers 402", "version 1 or 2"},
}  # fmt: skip


@covers("second.bounds.operations")
@pytest.mark.parametrize("op", CATALOGUE.values(), ids=lambda op: op.name)
def test_the_numbers_in_descriptions_of_operations_are_enforced(op: Operation) -> None:
    text = NAMES.sub("", " ".join(op.description.split()))
    said = SAID.get(op.name, set())
    assert {phrase for phrase in said if phrase not in text} == set()
    assert {*NUMBER.findall(text)} - {number for phrase in said for number in NUMBER.findall(phrase)} == set()
