"""What every operation's arguments share: strict types, no unknown fields, null as absent, all faults at once."""

import difflib
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tools.errors import InvalidRequest
from tools.ports import Env


class Arguments(BaseModel):
    """Arguments of one operation. `nulls` names the fields where JSON null is a value; elsewhere it means absent."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)
    nulls: ClassVar[frozenset[str]] = frozenset()
    unstored: ClassVar[frozenset[str]] = frozenset({"wait_seconds", "detail"})  # no part of a call's identity

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None or name in cls.nulls}

    def identity(self) -> dict[str, Any]:
        """What makes two calls the same call, as JSON values."""
        return self.model_dump(mode="json", exclude=set(self.unstored), exclude_unset=True)


class NoArguments(Arguments):
    """None are taken."""


EnvChoice = Annotated[
    Env | None, Field(default=None, strict=False, description="live or test; default: the key's environment, else live")
]


class PublicRead(Arguments):
    """A read that anybody may make, of either environment."""

    env: EnvChoice = None


class Listed(Arguments):
    """Arguments of every list."""

    limit: int = Field(20, ge=1, le=100, description="how many records to return, 1-100")
    cursor: str | None = Field(None, max_length=1000, description="next_cursor of the page before; opaque")


def read_arguments(model: type[Arguments], given: dict[str, Any]) -> Arguments:
    """The validated arguments; InvalidRequest with every violation at once."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise InvalidRequest(**refusal(model, error)) from None


def refusal(model: type[Arguments], error: ValidationError) -> dict[str, Any]:
    violations = [_violation(model, fault) for fault in error.errors(include_url=False, include_input=False)]
    first = violations[0]
    return {"message": f"{first['param']}: {first['message']}", "param": first["param"], "violations": violations}


def _violation(model: type[Arguments], fault: Any) -> dict[str, str]:
    path = ".".join(str(part) for part in fault["loc"] if not _is_branch(part)) or "body"
    if fault["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(fault["loc"][-1]), list(model.model_fields), n=1, cutoff=0.5)
        known = ", ".join(model.model_fields) or "none"
        hint = f"Did you mean {near[0]}?" if near else f"Known fields: {known}."
        return {"param": path, "message": "unknown field", "hint": hint}
    if fault["type"] == "missing":
        return {"param": path, "message": "required"}
    message = fault["msg"].removeprefix("Value error, ")
    return {"param": path, "message": message[:300]}


def _is_branch(part: object) -> bool:
    """Pydantic names the branch of a union in the location; callers know only fields."""
    return isinstance(part, str) and (
        part.startswith(("constrained-", "function-", "literal[")) or part in ("str", "int")
    )
