"""Records keep their shape: of every text in one it is said whose words it is, and every amount of money stands there in words too."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tools.catalogue  # noqa: F401 - fills it
from tools.records.base import SHOWN_ONCE, Json
from tools.records.eventdata import PAYLOADS
from tools.records.events import Frame
from tools.records.foreign import held_in, marks_of
from tools.records.words import OURS, OWN, Foreign, Payload, Theirs
from tools.registry import CATALOGUE

# What a text may be without saying whose words it is: it is of few letters, or of a fixed form, or one of a few words of ours.
KINDS = {
    "ids": r"id|.+_id|kid|from|from_bounty|referred_by|.*handle",
    "hashes and keys": r".+_hash|sig|panel_seed|public_key|publicKeyMultibase|prefix|next_cursor|next_since",
    "addresses": r"(.+_)?address|asset|pay_to|pay_from|previous|transaction|network|registry|agentRegistry|controller"
    r"|(.+_)?did|(.+_)?domain|agentId",
    "urls": r"(.+_)?ur[il]|endpoint|serviceEndpoint|documentationUrl|path|authentication|assertionMethod|alsoKnownAs|@context",
    "times": r".+_by|.+_at|scheduled_for|date|last_day",
    "money": r"(.+_)?display",
    "words of ours": r"action|action_needed|available_actions|content_warnings|type|event_type|event_types|status|truncated"
    r"|tool|toolset|surfaces|scopes|chains|method|service|(current_)?version|supportedTrust|grant_types|default(In|Out)putModes",
}
OF_A_STANDARD = {"Service.name", "VersionedService.name", "PublicKey.kty", "PublicKey.crv", "PublicKey.x", "PublicKey.use", "PublicKey.alg"}  # fmt: skip


def record_types() -> list[Any]:
    """Every record an operation answers with, every event's data, and whatever stands in one of them."""
    found: list[Any] = []
    waiting = [*(record for op in CATALOGUE.values() for record in op.output), *PAYLOADS.values()]
    while waiting:
        kind = waiting.pop()
        if kind not in found and kind is not Frame:  # a frame of a stream is no JSON
            found.append(kind)
            hints = get_type_hints(get_origin(kind) or kind, include_extras=True)
            waiting += [inner for hint in (*hints.values(), *get_args(kind)) for inner, _ in held_in(hint)]
    return found


def fields_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(get_origin(kind) or kind, include_extras=True)


def holds_text(hint: Any) -> bool:
    """Whether any words can stand in a value of this type; a record inside answers for itself."""
    if get_origin(hint) is Annotated:
        return holds_text(hint.__origin__)
    if get_origin(hint) is Literal:
        return False
    if get_origin(hint) is dict:
        return holds_text(get_args(hint)[1])
    return hint in (str, Json) or any(map(holds_text, get_args(hint)))


def undeclared(kind: Any) -> list[str]:
    """The fields that may hold anybody's words without saying whose."""
    if getattr(kind, "own", None) is True:
        return []
    name = (get_origin(kind) or kind).__name__
    return [
        f"{name}.{field}"
        for field, hint in fields_of(kind).items()
        if holds_text(hint)
        and not any(isinstance(mark, Foreign | Payload) or mark in (OURS, OWN, SHOWN_ONCE) for mark in marks_of(hint))
        and not any(re.fullmatch(pattern, field) for pattern in KINDS.values())
        and f"{name}.{field}" not in OF_A_STANDARD
        and not is_stamp(hint)
    ]


def is_stamp(hint: Any) -> bool:
    return any(getattr(mark, "json_schema_extra", None) == {"format": "date-time"} for mark in marks_of(hint))


def test_every_text_in_a_record_says_whose_words_it_is() -> None:
    assert [field for kind in record_types() for field in undeclared(kind)] == []


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """A record whose maker forgot to say so."""

    id: str
    praise: str
    blame: Theirs[str | None]
    extra: dict[str, Json]
    mood: Literal["good", "bad"]


def test_a_new_field_for_words_cannot_be_forgotten() -> None:
    assert undeclared(Forgotten) == ["Forgotten.praise", "Forgotten.extra"]
