"""skill.md: text written by hand, and blocks between markers that are made from the registry and the settings."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from protocol.docs.markdown import filled, table
from storage.vocabulary import Env
from tools.catalogue import every_error
from tools.engine.config import MarketConfig, Network
from tools.engine.registry import Operation
from tools.kernel.keys import binding_message, rotation_message

SOURCES = (Path(__file__).parents[2] / "skill.md", Path(sys.prefix) / "share" / "emporion" / "skill.md")
EXAMPLE_URL = "http://127.0.0.1:8000"  # the URL in the file, replaced by the market's own
MARKS = {"none": "*", "optional": "°", "key": "", "signed": "§", "admin": ""}
BLOCK = re.compile(r"(<!-- generated: ([a-z]+) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)


def skill_source() -> str:
    """Read the file, at the top of a checkout or installed under the prefix's `share`."""
    found = next((path for path in SOURCES if path.exists()), SOURCES[0])
    return found.read_text(encoding="utf-8")


def skill_text(source: str, operations: Iterable[Operation], config: MarketConfig) -> str:
    """Return the skill for agents: with this market's URL and blocks, without markers."""
    blocks = _blocks(list(operations), config)
    return BLOCK.sub(lambda found: blocks[found[2]], source.replace(EXAMPLE_URL, config.base_url))


def refreshed(source: str, operations: Iterable[Operation], config: MarketConfig) -> str:
    """Return the file with updated blocks; the markers stay."""
    blocks = _blocks(list(operations), config)
    return BLOCK.sub(lambda found: f"{found[1]}{blocks[found[2]]}{found[4]}", source)


def duration(seconds: int) -> str:
    """Return a duration in the largest unit that divides it."""
    for size, unit in ((3600, "hour"), (60, "minute")):
        if seconds % size == 0:
            return f"{seconds // size} {unit}" + ("s" if seconds != size else "")
    return f"{seconds} seconds"


def free_usdc(network: Network) -> str:
    """Return where test money comes from; the sandbox's node also gives some."""
    if network.own_chain:
        asked = f'JSON-RPC `dev_faucet ["<address>", <amount>]`, gas by `dev_gas ["<address>"]`, at {network.rpc_hint}'
        return f"`claim_test_funds`, or {asked}"
    return network.faucet or "none"


def _blocks(operations: list[Operation], config: MarketConfig) -> dict[str, str]:
    return {
        "environments": _environments(config),
        "binding": _binding(config),
        "signing": _signing(config),
        "retries": _retries(),
        "tools": _tools([op for op in operations if op.auth != "admin"]),
    }


def _tools(operations: list[Operation]) -> str:
    """Return one line for each toolset; tools/list and llms.txt explain the tools."""
    marks = "`?` may be left out; * needs no key, ° takes none or one, § takes a signed request alone; all others need a key."
    toolsets = dict.fromkeys(op.toolset for op in operations)
    groups = [[op for op in operations if op.toolset == name] for name in toolsets]
    named = [f"- {group[0].toolset.capitalize()}: {'; '.join(map(_entry, group))}." for group in groups]
    alone = [op.name for op in operations if op.rest_only_reason]
    note = f"Only over HTTP: {', '.join(f'`{name}`' for name in alone)}."
    return "\n".join([marks, "", *named, *(["", note] if alone else []), ""])


def _entry(op: Operation) -> str:
    return f"`{call_reference(op)}`{MARKS[op.auth]} {op.method} {op.path}"


def call_reference(op: Operation) -> str:
    """Return the call with its arguments; optional ones come last and are marked."""
    arguments = [name if field.is_required() else f"{name}?" for name, field in op.input.model_fields.items()]
    return f"{op.name}({', '.join(sorted(arguments, key=lambda name: name.endswith('?')))})"


def _environments(config: MarketConfig) -> str:
    networks, windows = [config.networks[env] for env in Env], [config.windows[env] for env in Env]
    rows = {
        "keys begin with": [f"`as_{env}_`" for env in Env],
        "network": [f"{one.name}, chain id {one.chain_id}" for one in networks],
        "USDC contract": [f"`{one.asset}`" for one in networks],
        "confirmations asked for": [str(one.confirmations) for one in networks],
        "free USDC": [free_usdc(one) for one in networks],
        "time to accept an order, unless the listing says otherwise": [
            duration(one.accept_default_seconds) for one in windows
        ],
        "time to pay": [duration(one.payment_seconds) for one in windows],
        "time to review a delivery": [duration(one.review_seconds) for one in windows],
    }
    return "\n".join([*table(f"| | {' | '.join(Env)} |", ((name, *cells) for name, cells in rows.items())), ""])


def _binding(config: MarketConfig) -> str:
    names = {"binding": ("<agent_id>", "<address_lowercase>"), "python": ("{agent_id}", "{address_lowercase}")}
    return filled("skill_binding.md", **{name: binding_message(config.brand, *said) for name, said in names.items()})


def _signing(config: MarketConfig) -> str:
    text = rotation_message(config.brand, "{agent_id}", "{public_key}", "{new.verify_key.encode().hex()}")
    return filled("skill_signing.md", base=config.base_url, rotation=text)


def _retries() -> str:
    codes = ", ".join(f"`{error.code}`" for error in every_error() if error.retryable)
    return f"These can go away by themselves; wait `retry_after_seconds` or the Retry-After header, then repeat the call: {codes}.\n"
