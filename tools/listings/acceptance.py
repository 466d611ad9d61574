"""Acceptance rules of a listing: validated when the seller sets them, copied to its jobs, checked on every delivery."""

from typing import Annotated, Any, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tools.engine.arguments import OneLine
from tools.engine.context import ReadContext
from tools.engine.documents import in_time, judge_schema
from tools.engine.errors import InvalidRequest, PayloadTooLarge
from tools.kernel.records import Json
from tools.kernel.schema_cost import MAX_READING, TOO_LONG, reading_of
from tools.listings.acceptance_rules import MAX_BYTES, MAX_RULES, Rule, failures, is_costly, rules_in

HEX64 = "0123456789abcdef"


class AcceptanceRule(BaseModel):
    """One rule that every delivery must satisfy."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    name: OneLine = Field(min_length=1, max_length=64, description="what it is for, in your words")
    kind: Literal["schema", "present", "min_length", "max_length", "sha256"]
    path: str = Field(
        "",
        max_length=500,
        pattern="^(/([^/~]|~[01])*)*$",
        description="JSON Pointer into the output; left out: all of it",
    )
    value: Json = Field(
        None,
        description="schema: a JSON Schema; a length: an integer; sha256: 64 hex, of the RFC 8785 form; present: none",
    )

    @model_validator(mode="after")
    def _value_fits(self) -> Self:
        length = isinstance(self.value, int) and not isinstance(self.value, bool) and 0 <= self.value <= 1_000_000
        hashed = isinstance(self.value, str) and len(self.value) == 64 and set(self.value) <= set(HEX64)
        fits = {
            "schema": isinstance(self.value, dict),
            "present": self.value is None,
            "min_length": length,
            "max_length": length,
            "sha256": hashed,
        }
        if not fits[self.kind]:
            raise ValueError(f"value does not fit the kind {self.kind}")
        return self


AcceptanceRules = Annotated[
    list[AcceptanceRule],
    Field(
        max_length=MAX_RULES,
        description="what every delivery must hold; checked before the buyer can pay, all required",
    ),
]


def judge_rules(rules: list[AcceptanceRule] | None, param: str = "acceptance") -> str | None:
    """Return the rules as JSON text after checking their schemas; None if there are none.

    Raises PayloadTooLarge or InvalidRequest.
    """
    if not rules:
        return None
    text = orjson.dumps([dict(rule) for rule in rules])
    if len(text) > MAX_BYTES:
        raise PayloadTooLarge(f"{param} is {len(text)} bytes; at most {MAX_BYTES} are taken", param=param)
    names = [rule.name for rule in rules]
    if len(set(names)) != len(names):
        raise InvalidRequest(f"{param}: every rule has a name of its own", param=param)
    _can_all_be_kept(rules, param)
    schemas = {place: rule.value for place, rule in enumerate(rules) if rule.kind == "schema"}
    if sum(map(reading_of, schemas.values())) > MAX_READING:
        raise InvalidRequest(f"{param}: {TOO_LONG}", param=param)
    for place, schema in schemas.items():
        judge_schema(schema, f"{param}.{place}.value")
    return text.decode()


def _can_all_be_kept(rules: list[AcceptanceRule], param: str) -> None:
    """Raise InvalidRequest if no output could satisfy all the rules.

    That is so if one path has two hashes, or a minimum length above its maximum.
    """
    said: dict[tuple[str, str], Json] = {}
    for place, rule in enumerate(rules):
        before = said.setdefault((rule.path, rule.kind), rule.value)
        if rule.kind == "sha256" and before != rule.value:
            raise _impossible(f"{param}.{place}", "another rule wants another sha256 here")
    for place, rule in enumerate(rules):
        lengths = [one.value for one in rules if (one.path, one.kind) == (rule.path, "min_length")]
        if rule.kind == "max_length" and lengths and max(lengths) > rule.value:
            raise _impossible(f"{param}.{place}", "another rule wants more than this at the least")


def _impossible(param: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"{param}: no output can keep it: {why}", param=param)


async def unkept(read_ctx: ReadContext, rules: str | None, output: Json, size: int) -> list[dict[str, str]]:
    """Return a violation for every rule that an output of `size` bytes does not satisfy."""
    if rules is None:
        return []
    read = rules_in(rules)
    if not is_costly(read, size):
        return [_violation(rule, why) for rule, why in failures(read, output)]
    named = {rule.name: rule for rule in read}
    asked = read_ctx.world.checks.unkept(rules, output, by=read_ctx.caller.agent)
    return [
        _violation(named[name], why) for name, why in await in_time(asked, "holding this output to the job's rules")
    ]


def checks_of(rules: str | None, delivered: bool) -> list[dict[str, Any]] | None:
    """Return the checks that a buyer sees before it can read the delivery.

    All of them passed, because an output that fails a rule cannot be delivered.
    """
    if rules is None or not delivered:
        return None
    return [{"name": one["name"], "kind": one["kind"], "passed": True} for one in orjson.loads(rules)]


def _violation(rule: Rule, message: str) -> dict[str, str]:
    return {"param": f"output{rule.path}", "message": f"{rule.name}: {message}", "rule": rule.name}
