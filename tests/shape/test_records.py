"""Records declare the author of each text, and show each amount of money in words too."""

import re
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tools.catalogue  # noqa: F401 - fills it
from protocol.untrusted_text import held_in, marks_of
from tests.requirements import covers
from tools.engine.registry import CATALOGUE
from tools.events.payloads import PAYLOADS
from tools.events.records import Frame
from tools.kernel.records import MONEY, SHOWN_ONCE, Json, Minor, Priced, amounts_in_words
from tools.kernel.text_authors import OURS, OWN, Foreign, Payload, Theirs

# Texts that need no declared author: short ones, ones of a fixed form, and our own constants.
KINDS = {
    "ids": r"id|.+_id|kid|from|from_bounty|referred_by|.*handle",
    "hashes and keys": r".+_hash|output_commitment|output_salt|sig|panel_seed|public_key|publicKeyMultibase|prefix|next_cursor|next_since",
    "addresses": r"(.+_)?address|asset|pay_to|pay_from|payer|previous|transaction|network|registry|agentRegistry|controller"
    r"|(.+_)?did|(.+_)?domain|agentId",
    "urls": r"(.+_)?ur[il]|endpoint|serviceEndpoint|documentationUrl|path|authentication|assertionMethod|alsoKnownAs|@context",
    "times": r".+_by|.+_at|.+_from|scheduled_for|date|last_day",
    "money": r"(.+_)?display",
    "words of ours": r"action|action_needed|available_actions|content_warnings|type|event_type|event_types|status|truncated"
    r"|tool|toolset|surfaces|scopes|chains|method|service|(current_)?version|supportedTrust|grant_types|default(In|Out)putModes",
}
JWK = {f"{name}.{field}" for name in ("PublicKey", "RetiredPlatformKey") for field in ("kty", "crv", "x", "use", "alg")}
OF_A_STANDARD = {"Service.name", "VersionedService.name", *JWK}


def record_types() -> list[Any]:
    """Return every record of operations and events, and the records inside them."""
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
    """Check whether a value of this type can contain free text.

    Records inside are checked separately.
    """
    if get_origin(hint) is Annotated:
        return holds_text(hint.__origin__)
    if get_origin(hint) is Literal:
        return False
    if get_origin(hint) is dict:
        return holds_text(get_args(hint)[1])
    return hint in (str, Json) or any(map(holds_text, get_args(hint)))


def undeclared(kind: Any) -> list[str]:
    """Return the fields with free text but no declared author."""
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
    """A record without declarations."""

    id: str
    praise: str
    blame: Theirs[str | None]
    extra: dict[str, Json]
    mood: Literal["good", "bad"]


def test_a_new_field_for_words_cannot_be_forgotten() -> None:
    assert undeclared(Forgotten) == ["Forgotten.praise", "Forgotten.extra"]


AMOUNT = re.compile(
    r"(.+_)?(price|amount|budget|volume|paid|value|owed|refund|remaining|total)(_(max|total|usdc|expected|completed|due))*"
)
NO_AMOUNTS = {"LeaderboardEntry.rank_value", "Inbox.unread_total", "ListingStats.jobs_paid"}


def amounts_of(kind: Any) -> list[str]:
    return [field for field, hint in fields_of(kind).items() if MONEY in marks_of(hint)]


def is_whole_number(hint: Any) -> bool:
    bare = hint.__origin__ if get_origin(hint) is Annotated else hint
    return bare is int or (int in get_args(bare) and get_origin(bare) is not dict)


def unmarked_amounts(kind: Any) -> list[str]:
    """Return the integer fields with a name for money but without its mark."""
    name = (get_origin(kind) or kind).__name__
    return [
        f"{name}.{field}"
        for field, hint in fields_of(kind).items()
        if AMOUNT.fullmatch(field) and is_whole_number(hint) and MONEY not in marks_of(hint)
    ]


def unspoken_amounts(kind: Any) -> list[str]:
    """Return the amounts without a display field.

    `display` is for the first amount, `x_display` for any.
    """
    fields, amounts = fields_of(kind), amounts_of(kind)
    stems = {amount: {f"{amount}_display", f"{amount.partition('_')[0]}_display"} for amount in amounts}
    said = amounts[:1] if "display" in fields else []
    return [f"{kind}.{amount}" for amount in amounts if amount not in said and not stems[amount] & fields.keys()]


def test_every_amount_is_in_minor_units_and_in_words() -> None:
    kinds = record_types()
    assert sum(map(len, map(amounts_of, kinds))) > 40
    assert {field for kind in kinds for field in unmarked_amounts(kind)} == NO_AMOUNTS
    assert [field for kind in kinds for field in unspoken_amounts(kind)] == []


def test_a_record_with_amounts_in_words_makes_them_itself() -> None:
    """Otherwise the fields would keep their defaults."""
    kinds = [kind for kind in record_types() if is_dataclass(kind) and amounts_in_words(kind)]
    assert len(kinds) > 8
    assert [kind for kind in kinds if not issubclass(kind, Priced)] == []


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """A record without display fields."""

    price: Minor | None
    fee_amount: int


def test_a_new_amount_cannot_be_forgotten() -> None:
    assert unmarked_amounts(Silent) == ["Silent.fee_amount"]
    assert unspoken_amounts(Silent) == [f"{Silent}.price"]


def row_types(hint: Any, *, in_list: bool = False) -> list[Any]:
    """Return the records inside lists anywhere in a type."""
    in_list = in_list or get_origin(hint) is list
    own = [hint] if in_list and is_dataclass(get_origin(hint) or hint) and isinstance(hint, type) else []
    return own + [row for part in get_args(hint) for row in row_types(part, in_list=in_list)]


def rows_without_kind(record: Any) -> list[str]:
    found = {row for hint in fields_of(record).values() for row in row_types(hint)}
    return [row.__name__ for row in found if "object" not in fields_of(row) and row.__name__ not in NO_ROWS]


NO_ROWS = {"Step", "PublicKey", "RetiredPlatformKey", "ChangelogEntry"}  # as the contract and RFC 7517 define them


@covers("second.shapes.rows")
def test_each_row_of_a_public_record_names_its_kind() -> None:
    public = [record for op in CATALOGUE.values() if op.auth in ("none", "optional") for record in op.output]
    waiting, seen = list(public), list[Any]()
    while waiting:
        kind = waiting.pop()
        if kind in seen or kind is Frame:
            continue
        seen.append(kind)
        for hint in fields_of(kind).values():
            waiting += [part for part in parts_of(hint) if part not in seen]
    assert len(seen) > 40
    assert [row for kind in seen for row in rows_without_kind(kind)] == []


def parts_of(hint: Any) -> list[Any]:
    """Return the records anywhere in a type."""
    own = [hint] if isinstance(get_origin(hint) or hint, type) and is_dataclass(get_origin(hint) or hint) else []
    return own + [found for part in get_args(hint) for found in parts_of(part)]
