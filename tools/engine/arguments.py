"""Base classes and validation of operation arguments: strict types, no unknown fields, null means absent."""

import difflib
import unicodedata
from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, ClassVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from storage.vocabulary import Env
from tools.engine.errors import InvalidRequest, MalformedJson
from tools.kernel.amount_hints import PRICES, as_integer, in_minor_units
from tools.kernel.strict_json import BadJson, is_trivially_valid, validate_tree

BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
MAX_WAITED = 55  # seconds; MCP clients give up at 60
MAX_ARGUMENTS, MAX_VIOLATIONS, MAX_NAME = 64, 20, 100
MAX_FAULTS = 500  # with more errors none is listed, because pydantic first builds the whole list
ELSEWHERE = {  # hints for arguments that other calls take, or that have their place beside the arguments
    "wait_seconds": "This call is answered at once: leave it out, and wait with get_job, which takes it.",
    "dry_run": "Only calls that write take it. Over HTTP it is the query ?dry_run=true, not a field of the body.",
    "idempotency_key": "Only calls that write take it. Over HTTP it is the header Idempotency-Key.",
}
WANTED = {  # by pydantic's error type
    "dict_type": "a JSON object",
    "model_type": "a JSON object",
    "list_type": "a JSON array",
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
}
NOT_WHOLE = ("int_type", "int_from_float")
GIVEN = {
    dict: "an object",
    list: "an array",
    str: "a text",
    int: "a number",
    float: "a decimal number",
    bool: "a boolean",
}


class Arguments(BaseModel):
    """Arguments of one operation.

    `nulls` names the fields where JSON null is a value; elsewhere null means absent. `hints` explains by name why a
    field that callers may expect is refused.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)
    nulls: ClassVar[frozenset[str]] = frozenset()
    hints: ClassVar[Mapping[str, str]] = {}
    unstored: ClassVar[frozenset[str]] = frozenset({"wait_seconds", "detail"})  # not part of a call's identity

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, given: Any) -> Any:
        if not isinstance(given, dict) or None not in given.values():
            return given
        absent = cls.model_fields.keys() - cls.nulls  # unknown fields stay, so that they are refused even if null
        return {name: value for name, value in given.items() if value is not None or name not in absent}

    @property
    def chosen_env(self) -> Env | None:
        """The argument `env`, if the operation takes one and it was given."""
        env: Env | None = self.__dict__.get("env")
        return env

    @property
    def longest_wait(self) -> int:
        """The argument `wait_seconds`; 0 if the operation takes none."""
        seconds: int = self.__dict__.get("wait_seconds", 0)
        return seconds

    def identity(self) -> dict[str, Any]:
        """Return, as JSON values, what two calls must share to be the same call."""
        said = self.model_dump(mode="json", exclude=set(self.unstored))
        cleared = sorted(name for name in self.nulls & self.model_fields_set if getattr(self, name) is None)
        return {**said, "null": cleared} if cleared else said


class NoArguments(Arguments):
    """No arguments."""


def _one_line(text: str) -> str:
    kinds = {unicodedata.category(one) for one in text}
    if "Cc" in kinds or BIDI & set(text):
        raise ValueError("one line of text, without control characters")
    if kinds <= {"Cf", "Zs", "Zl", "Zp", "Cn", "Co"}:
        raise ValueError("needs a character that can be seen")
    return text


OneLine = Annotated[str, StringConstraints(strip_whitespace=True), AfterValidator(_one_line)]
EnvChoice = Annotated[
    Env | None, Field(default=None, strict=False, description="live or test; default: the key's, otherwise live")
]


class PublicRead(Arguments):
    """Arguments of a public read, in either environment."""

    env: EnvChoice = None


class LongPoll(Arguments):
    """Arguments of a read that may wait for something new."""

    wait_seconds: int = Field(
        0, ge=0, le=MAX_WAITED, description="wait so long for something new before answering, 0-55; 0: answer at once"
    )


SeenWithin = Annotated[int | None, Field(ge=60, le=2_592_000)]


class Listed(Arguments):
    """Arguments of a list."""

    limit: int = Field(20, ge=1, le=100, description="how many records, 1-100")
    cursor: str | None = Field(None, max_length=1000, description="next_cursor of the page before")


def parse_arguments(model: type[Arguments], sent: dict[str, Any]) -> Arguments:
    """Return the validated arguments of a caller. Raises MalformedJson and InvalidRequest."""
    if not is_trivially_valid(sent):
        try:
            validate_tree(sent)
        except BadJson as bad:
            raise MalformedJson(str(bad), param=bad.path or None) from None
    return read_arguments(model, sent)


def read_arguments(model: type[Arguments], arguments: dict[str, Any]) -> Arguments:
    """Return the validated arguments.

    Raises InvalidRequest with up to MAX_VIOLATIONS violations.
    """
    try:
        if len(arguments) > MAX_ARGUMENTS:
            raise InvalidRequest(
                f"{len(arguments)} arguments; no operation takes more than {MAX_ARGUMENTS}", param="body"
            )
        return model.model_validate(arguments)
    except ValidationError as error:
        raise InvalidRequest(**refusal(model, error)) from None


def refusal(model: type[Arguments], error: ValidationError) -> dict[str, Any]:
    count = error.error_count()
    if count > MAX_FAULTS:
        message = f"{count} faults, too many to be listed; most are fields or names nobody knows"
        return {"message": message, "param": "body", "violations": [{"param": "body", "message": message}]}
    faults = islice(error.errors(include_url=False), MAX_VIOLATIONS)
    violations = [_violation(model, fault) for fault in faults]
    first = violations[0]
    return {"message": f"{first['param']}: {first['message']}", "param": first["param"], "violations": violations}


def _violation(model: type[Arguments], fault: Any) -> dict[str, str]:
    path = ".".join(str(part)[:MAX_NAME] for part in fault["loc"] if not _is_branch(part)) or "body"
    if fault["type"] == "extra_forbidden":
        hint = ELSEWHERE.get(path) or _hint_for_unknown(model, fault["loc"])
        return {"param": path, "message": "unknown field", "hint": hint}
    if fault["type"] == "missing":
        return {"param": path, "message": "required"}
    if fault["type"] in WANTED:  # name only the type of the given value
        return {"param": path, "message": _of_another_kind(fault)}
    if fault["type"] == "too_long":
        sent = fault["ctx"]["actual_length"]
        message = f"at most {fault['ctx']['max_length']} items are allowed"
        return {"param": path, "message": message if sent is None else f"{message}; {sent} were sent"}
    message = fault["msg"].removeprefix("Value error, ")
    return {"param": path, "message": message[:300]}


def _of_another_kind(fault: Any) -> str:
    """Return what is wrong with a value of another JSON type; repeat only numbers."""
    if fault["type"] in NOT_WHOLE:
        is_price, whole = fault["loc"][-1] in PRICES, as_integer(fault["input"])
        if whole is not None:
            return f"send a JSON integer: {whole}" + (" (minor units; 1 USDC is 1000000)" if is_price else "")
        if is_price:
            return f"must be a whole number of minor units: {in_minor_units(fault['input'])}"
    return f"must be {WANTED[fault['type']]}, not {GIVEN.get(type(fault['input']), 'null')}"


def _hint_for_unknown(model: type[BaseModel], place: tuple[object, ...]) -> str:
    """Return the likely spelling of an unknown field, or its place, such as "input: input.x"."""
    name, inner = str(place[-1]), _model_at(model, place[:-1])
    if issubclass(inner, Arguments) and name in inner.hints:
        return inner.hints[name]
    known = _fields(inner)
    near = difflib.get_close_matches(name[:MAX_NAME], known, n=1, cutoff=0.7)
    if near:
        return f"Did you mean {near[0]}?"
    for above, annotation in known.items() if inner is model else ():
        below = _model_in(annotation)
        if below is not None and name in _fields(below):
            return f"It belongs into {above}: {above}.{name}."
    return f"Known fields: {', '.join(known) or 'none'}."


def _model_at(model: type[BaseModel], place: tuple[object, ...]) -> type[BaseModel]:
    """Return the model of the object at a place, or the nearest one above it."""
    for part in place:
        model = _model_in(_fields(model).get(str(part))) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    """Return the annotations of a model's fields by the names that callers use."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _is_branch(part: object) -> bool:
    """Check whether a part of an error's location is a union branch, which callers do not know."""
    return isinstance(part, str) and (
        part.startswith(("constrained-", "function-", "literal[")) or part in ("str", "int")
    )
