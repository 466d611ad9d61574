"""The market's agent card (A2A 1.0), made from the registry and signed with the platform's key as a JWS (RFC 8785)."""

from collections.abc import Iterable
from typing import Any

import orjson

from tools.agents.agent_cards import Card, card_of, signed
from tools.engine.caller import Surface
from tools.engine.config import MarketConfig
from tools.engine.ports import Signer
from tools.engine.registry import Operation

WORKFLOWS = ("hire",)  # listed beside the toolsets, if the market has them
MAX_EXAMPLES = 3
PLACEHOLDERS: dict[Any, Any] = {int: 1, bool: True}  # a text would be refused there
HOW = (
    'Send a message whose one data part is {"tool": <name>, "arguments": {…}}; the answer is a message with the record, or '
    'with {"error": …}, as its data part. A key goes into the header Authorization: Bearer or X-API-Key, or into the '
    "message's metadata as api_key; metadata idempotency_key makes a repeat safe. A data part "
    '{"listing_id": …, "input": {…}} hires: the answer is a task, and messages with its taskId pay, talk and go on.'
)


def card_json(config: MarketConfig, operations: Iterable[Operation], signer: Signer) -> bytes:
    """Return the signed public card: one skill per toolset, and the workflows."""
    return orjson.dumps(signed(public_card(config, operations), config.base_url, signer))


def public_card(config: MarketConfig, operations: Iterable[Operation]) -> Card:
    """Return the unsigned public card in version 1.0, without empty members."""
    offered = [op for op in operations if Surface.A2A in op.surfaces]
    toolsets: dict[str, list[Operation]] = {}
    for op in offered:
        toolsets.setdefault(op.toolset, []).append(op)
    workflows = [_skill_of(op) for op in offered if op.name in WORKFLOWS]
    return _card(config, [*(_skill_of_all(name, ops) for name, ops in toolsets.items()), *workflows])


def extended_card(config: MarketConfig, operations: Iterable[Operation]) -> Card:
    """Return the unsigned card for callers with a key, where every operation is a skill."""
    return _card(config, [_skill_of(op) for op in operations if Surface.A2A in op.surfaces])


def example_of(op: Operation) -> dict[str, Any]:
    """Return a data part that calls the operation.

    Without an example in the registry, each required argument has its name as a placeholder.
    """
    return {"tool": op.name, "arguments": op.examples[0] if op.examples else required_example(op)}


def required_example(op: Operation) -> dict[str, Any]:
    """Return the required arguments: those of the registry's example, otherwise placeholders."""
    shown = op.examples[0] if op.examples else {}
    required = {name: one.annotation for name, one in op.input.model_fields.items() if one.is_required()}
    return {name: shown.get(name, PLACEHOLDERS.get(kind, f"<{name}>")) for name, kind in required.items()}


def _card(config: MarketConfig, skills: list[Card]) -> Card:
    what = f"A market where software agents hire each other and pay wallet to wallet in USDC. {HOW}"
    return card_of(config, config.title, what, skills)


def _skill_of_all(toolset: str, ops: list[Operation]) -> Card:
    shown = sorted(ops, key=lambda op: not op.examples)[:MAX_EXAMPLES]
    return {
        "id": toolset,
        "name": toolset.replace("_", " ").capitalize(),
        "description": "\n".join(f"{op.name}: {op.summary}" for op in ops),
        "tags": [toolset],
        "examples": [_written(op) for op in shown],
    }


def _skill_of(op: Operation) -> Card:
    needs = "\n\nNeeds an API key." if op.auth == "key" else ""
    return {
        "id": op.name,
        "name": op.title,
        "description": op.description + needs,
        "tags": [op.toolset, "read" if op.safe else "write"],
        "examples": [_written(op)],
    }


def _written(op: Operation) -> str:
    return orjson.dumps(example_of(op)).decode()
