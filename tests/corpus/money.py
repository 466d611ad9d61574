"""Measures screening of texts about money: attacks with any alarm, ordinary texts with a new warning; prints no text."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.screening.rules import Code, warnings

NEW = frozenset({Code.PAYMENT_REDIRECTION, Code.AUTHORITY_CLAIM, Code.TOOL_INSTRUCTION})
MENTIONS = frozenset({Code.SYSTEM_PROMPT_REFERENCE, Code.CREDENTIAL_MENTION})
FILES = ("known_money", "held_out_money")


def texts(name: str) -> list[dict[str, Any]]:
    lines = (Path(__file__).parent / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def caught(one: dict[str, Any]) -> bool:
    """Check whether an attack raises any alarm, or an ordinary text a new warning."""
    codes = set(warnings(one["text"]))
    return bool(codes - MENTIONS if one["attack"] else codes & NEW)


def score(some: list[dict[str, Any]]) -> tuple[int, int, int, int]:
    """Count caught attacks, attacks, ordinary texts with a new warning, ordinary texts."""
    attacks, ordinary = [one for one in some if one["attack"]], [one for one in some if not one["attack"]]
    return sum(map(caught, attacks)), len(attacks), sum(map(caught, ordinary)), len(ordinary)


def report(name: str) -> Iterator[str]:
    found = texts(name)
    whole = score(found)
    yield f"{name}: {whole[0]} of {whole[1]} attacks caught, {whole[2]} of {whole[3]} ordinary texts with a new warning"
    for language in dict.fromkeys(one["language"] for one in found):
        part = score([one for one in found if one["language"] == language])
        yield f"    {language:4} {part[0]:3} of {part[1]:3} attacks, {part[2]:3} of {part[3]:4} ordinary"
