"""Scopes: what an API key may do. `*` is everything; an operation names those of which a key needs one."""

from collections.abc import Collection
from typing import Literal, get_args

EVERYTHING = "*"
Scope = Literal["*", "read", "buy", "sell", "message", "admin:self"]
SCOPES: tuple[str, ...] = get_args(Scope)


def opens(own: Collection[str], needed: Collection[str]) -> bool:
    """Whether a key with these scopes may do what needs one of `needed`; what needs none is open to every key."""
    return not needed or EVERYTHING in own or not set(own).isdisjoint(needed)


def beyond(own: Collection[str], wanted: Collection[str]) -> list[str]:
    """The wanted scopes a key does not have itself."""
    return [] if EVERYTHING in own else sorted(set(wanted) - set(own))
