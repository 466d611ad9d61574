"""Scopes: what an API key may do. `*` is everything; an operation names scopes of which a key needs one."""

from collections.abc import Collection
from typing import Literal, get_args

EVERYTHING = "*"
Scope = Literal["*", "read", "buy", "sell", "message", "admin:self"]
SCOPES: tuple[str, ...] = get_args(Scope)


def opens(own: Collection[str], needed: Collection[str]) -> bool:
    """Check whether a key with scopes `own` has one of `needed`; true if none is needed."""
    return not needed or EVERYTHING in own or not set(own).isdisjoint(needed)


def beyond(own: Collection[str], wanted: Collection[str]) -> list[str]:
    """Return the wanted scopes that a key does not have."""
    return [] if EVERYTHING in own else sorted(set(wanted) - set(own))
