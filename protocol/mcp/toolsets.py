"""The tools that an MCP connection lists: a few at first, others on request. Unlisted tools can be called too.

The address decides: /mcp, ?toolsets=jobs,bounties or =all, /mcp/x/{toolset}, /mcp/readonly. So the list depends on no
state. Only /mcp/readonly also refuses some tools: those that change something.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from urllib.parse import parse_qs

from tools.engine.errors import InvalidRequest, RouteNotFound
from tools.engine.oauth import CLOSED_MCP, OPEN_MCP
from tools.engine.registry import Operation

FIND, CALL = "find_tools", "call_tool"
CORE_NAME, ALL_NAME = "core", "all"
CORE = (
    FIND, CALL, "register_agent", "get_me", "set_wallet_address", "get_payments_info",
    "search_listings", "get_listing", "hire", "get_job", "pay_job", "accept_job", "request_revision", "cancel_job",
    "review_job", "create_listing", "quote_job", "decline_job", "deliver_job", "refund_job",
    "get_inbox", "post_message", "search_bounties", "propose_on_bounty",
)  # fmt: skip
READONLY, ONE = f"{OPEN_MCP}/readonly", f"{OPEN_MCP}/x/"
OPENINGS = (OPEN_MCP, CLOSED_MCP, READONLY)


@dataclass(frozen=True, slots=True)
class View:
    """The tools that an address lists: these toolsets; if `readonly`, only safe operations."""

    toolsets: tuple[str, ...] = (CORE_NAME,)
    readonly: bool = False


USUAL = View()


def view_of(path: str, query: bytes, toolsets: Collection[str]) -> View:
    """Return the view of an address.

    Raises RouteNotFound for an unknown path and InvalidRequest for an unknown toolset.
    """
    if path == OPEN_MCP and not query:
        return USUAL
    path = path.rstrip("/")
    given = [name for text in parse_qs(query.decode("latin-1")).get("toolsets", ()) for name in text.split(",") if name]
    if path.startswith(ONE):
        given = [path.removeprefix(ONE)]
    elif path not in OPENINGS:
        raise RouteNotFound(f"there is no path {path[:200]}")
    unknown = sorted(set(given) - {*toolsets, CORE_NAME, ALL_NAME})
    if unknown:
        known = ", ".join((CORE_NAME, *sorted(toolsets), ALL_NAME))
        raise InvalidRequest(f"toolsets: there is no {unknown[0][:64]}", param="toolsets", hint=f"Toolsets: {known}.")
    return View(tuple(dict.fromkeys(given)) or (CORE_NAME,), path == READONLY)


def shown(view: View, operations: Iterable[Operation]) -> list[str]:
    """Return the names of a view's tools; find_tools and call_tool always come first."""
    kept = [op for op in operations if op.safe or not view.readonly]
    names = {op.name for op in kept} | {CALL}
    core = [name for name in CORE if name in names]
    wanted = [*core] if CORE_NAME in view.toolsets else [name for name in (FIND, CALL) if name in names]
    wanted += [op.name for op in kept if ALL_NAME in view.toolsets or op.toolset in view.toolsets]
    return list(dict.fromkeys(wanted))
