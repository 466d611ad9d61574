"""What every operation's arguments share: strict types, no unknown fields, null as absent, all faults at once."""

import difflib
import unicodedata
from itertools import islice
from typing import Annotated, Any, ClassVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from tools.errors import InvalidRequest
from tools.ports import Env

BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
MOST_WAITED = 55  # seconds; MCP clients give up at 60
MOST_ARGUMENTS, MOST_VIOLATIONS, MOST_NAME = 64, 20, 100
MOST_FAULTS = 500  # that are looked at: pydantic makes a list of all of them first
NO_WAIT = "This call is answered at once: leave it out, and wait with get_job, which takes it."
WANTED = {  # by pydantic's name of the fault
    "dict_type": "a JSON object",
    "model_type": "a JSON object",
    "list_type": "a JSON array",
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
}
GIVEN = {
    dict: "an object",
    list: "an array",
    str: "a text",
    int: "a number",
    float: "a decimal number",
    bool: "a boolean",
}


class Arguments(BaseModel):
    """Arguments of one operation. `nulls` names the fields where JSON null is a value; elsewhere it means absent."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)
    nulls: ClassVar[frozenset[str]] = frozenset()
    unstored: ClassVar[frozenset[str]] = frozenset({"wait_seconds", "detail"})  # no part of a call's identity

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, given: Any) -> Any:
        if not isinstance(given, dict) or None not in given.values():
            return given
        absent = cls.model_fields.keys() - cls.nulls  # an unknown field is refused, whatever its value
        return {name: value for name, value in given.items() if value is not None or name not in absent}

    def identity(self) -> dict[str, Any]:
        """What makes two calls the same call, as JSON values."""
        said = self.model_dump(mode="json", exclude=set(self.unstored))
        cleared = sorted(name for name in self.nulls & self.model_fields_set if getattr(self, name) is None)
        return {**said, "null": cleared} if cleared else said


class NoArguments(Arguments):
    """None are taken."""


def _one_line(text: str) -> str:
    kinds = {unicodedata.category(one) for one in text}
    if "Cc" in kinds or BIDI & set(text):
        raise ValueError("one line of text, without control characters")
    if kinds <= {"Cf", "Zs", "Zl", "Zp", "Cn", "Co"}:
        raise ValueError("needs a character that can be seen")
    return text


OneLine = Annotated[str, StringConstraints(strip_whitespace=True), AfterValidator(_one_line)]
EnvChoice = Annotated[
    Env | None, Field(default=None, strict=False, description="live or test; default: the key's environment, else live")
]


class PublicRead(Arguments):
    """A read that anybody may make, of either environment."""

    env: EnvChoice = None


class Waiting(Arguments):
    """A read that may wait until there is something to say."""

    wait_seconds: int = Field(
        0, ge=0, le=MOST_WAITED, description="wait so long for something new before answering, 0-55; 0: answer at once"
    )


class Listed(Arguments):
    """Arguments of every list."""

    limit: int = Field(20, ge=1, le=100, description="how many records to return, 1-100")
    cursor: str | None = Field(None, max_length=1000, description="next_cursor of the page before; opaque")


def read_arguments(model: type[Arguments], given: dict[str, Any]) -> Arguments:
    """The validated arguments; InvalidRequest with every violation at once."""
    try:
        if len(given) > MOST_ARGUMENTS:
            raise InvalidRequest(f"{len(given)} arguments; no operation takes more than {MOST_ARGUMENTS}", param="body")
        return model.model_validate(given)
    except ValidationError as error:
        raise InvalidRequest(**refusal(model, error)) from None


def refusal(model: type[Arguments], error: ValidationError) -> dict[str, Any]:
    count = error.error_count()
    if count > MOST_FAULTS:
        message = f"{count} faults, too many to be listed; most are fields or names nobody knows"
        return {"message": message, "param": "body", "violations": [{"param": "body", "message": message}]}
    faults = islice(error.errors(include_url=False), MOST_VIOLATIONS)
    violations = [_violation(model, fault) for fault in faults]
    first = violations[0]
    return {"message": f"{first['param']}: {first['message']}", "param": first["param"], "violations": violations}


def _violation(model: type[Arguments], fault: Any) -> dict[str, str]:
    path = ".".join(str(part)[:MOST_NAME] for part in fault["loc"] if not _is_branch(part)) or "body"
    if fault["type"] == "extra_forbidden":
        if path == "wait_seconds":
            return {"param": path, "message": "unknown field", "hint": NO_WAIT}
        near = difflib.get_close_matches(str(fault["loc"][-1])[:MOST_NAME], list(model.model_fields), n=1, cutoff=0.7)
        known = ", ".join(model.model_fields) or "none"
        inner = _holding(model, fault["loc"])
        hint = (
            f"Did you mean {near[0]}?" if near else f"It belongs into {inner}." if inner else f"Known fields: {known}."
        )
        return {"param": path, "message": "unknown field", "hint": hint}
    if fault["type"] == "missing":
        return {"param": path, "message": "required"}
    if fault["type"] in WANTED:  # of what was given only its kind is told
        given = GIVEN.get(type(fault["input"]), "null")
        return {"param": path, "message": f"must be {WANTED[fault['type']]}, not {given}"}
    message = fault["msg"].removeprefix("Value error, ")
    return {"param": path, "message": message[:300]}


def _holding(model: type[Arguments], place: tuple[object, ...]) -> str | None:
    """The field of the arguments whose own fields include an unknown one: "input: input.deliverable_schema"."""
    for name, field in model.model_fields.items() if len(place) == 1 else ():
        for held in (field.annotation, *get_args(field.annotation)):
            if isinstance(held, type) and issubclass(held, BaseModel) and place[0] in held.model_fields:
                return f"{name}: {name}.{place[0]}"
    return None


def _is_branch(part: object) -> bool:
    """Pydantic names the branch of a union in the location; callers know only fields."""
    return isinstance(part, str) and (
        part.startswith(("constrained-", "function-", "literal[")) or part in ("str", "int")
    )
