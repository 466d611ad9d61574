"""Records as MCP resources: jobs, their inputs and outputs, listings, receipts. Read with the connection's own key."""

import re
from dataclasses import dataclass
from functools import cached_property

import mcp_types as t
import orjson
from mcp.shared.exceptions import MCPError

from protocol.mcp.wording import Wording
from protocol.untrusted_markers import UntrustedMarkers, places_in
from tools.engine.archives import archived_error
from tools.engine.caller import CallRequest
from tools.engine.dispatch import Market
from tools.engine.errors import Archived
from tools.engine.registry import CATALOGUE
from tools.kernel.records import Json

JSON = "application/json"
OTHERWISE = "A resource takes the connection's own key; {operation} with detail full tells the same, and takes the argument api_key too."
ID, NUMBER = r"[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}", r"[0-9]{1,9}"


@dataclass(frozen=True)
class Template:
    """A type of resources.

    `uri` contains the arguments of the operation that reads it. With `member`, only that member of the record is shown.
    """

    uri: str
    name: str
    description: str
    operation: str
    member: str | None = None

    @property
    def listed(self) -> t.ResourceTemplate:
        return t.ResourceTemplate(uri_template=self.uri, name=self.name, description=self.description, mime_type=JSON)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        parts = (
            f"(?P<{part}>{ID if part.endswith('_id') else NUMBER})" if place % 2 else re.escape(part)
            for place, part in enumerate(re.split(r"[{}]", self.uri))
        )
        return re.compile("".join(parts))

    def arguments(self, uri: str) -> dict[str, str | int] | None:
        """Return the arguments in a URI of this type, None if it does not match."""
        found = self.pattern.fullmatch(uri)
        if found is None:
            return None
        return {name: value if name.endswith("_id") else int(value) for name, value in found.groupdict().items()}


TEMPLATES = (
    Template("job://{job_id}", "job", "A job you are a party to, as it stands.", "get_job"),
    Template("job://{job_id}/input", "input", "What a job was ordered with.", "get_job", "input"),
    Template("job://{job_id}/output", "output", "What a job delivered, once it is yours to read.", "get_job", "output"),
    Template(
        "job://{job_id}/deliveries/{revision}",
        "delivery",
        "One delivery of a job, by its revision: 0 is the first.",
        "get_delivery",
        "output",
    ),
    Template("listing://{listing_id}", "listing", "A listing, with its schemas and examples.", "get_listing"),
    Template("receipt://{job_id}", "receipt", "The signed receipt of a job.", "get_receipt"),
)


def link_to(place: tuple[str, int], wording: Wording) -> t.ResourceLink:
    """Return the link that replaces a value that is too large for a result.

    It also names the call that shows the value, because many hosts read no resources, and an argument's key cannot open
    them.
    """
    uri, size = place
    kind = next(template for template in TEMPLATES if template.arguments(uri))
    told = f"{kind.description} Or call {wording.name(kind.operation)} with detail full."
    return t.ResourceLink(uri=uri, name=kind.name, description=told, mime_type=JSON, size=size)


async def read_record(
    uri: str, market: Market, call_request: CallRequest, fences: UntrustedMarkers, wording: Wording
) -> t.ReadResourceResult | None:
    """Return the record of a URI; None if no template matches.

    Raises MCPError -32602 with the refusal if it cannot be read. Other agents' text in it is fenced and named in
    `_meta`, as in the text of a tool's result.
    """
    matching = ((template, template.arguments(uri)) for template in TEMPLATES)
    template, arguments = next((found for found in matching if found[1] is not None), (None, None))
    if template is None or arguments is None:
        return None
    op = CATALOGUE[template.operation]
    answer = await market.call(op, arguments, call_request)
    told = orjson.loads(answer.body)
    refusal = answer.refusal or (_archived(told) if template.member else None)
    if refusal is not None:
        otherwise = OTHERWISE.format(operation=wording.name(op.name))
        reason = f"Resource not found: {refusal.message}. {otherwise}"
        error = answer.error or refusal.record(call_request.request_id, market.config.docs_url)
        raise MCPError(t.INVALID_PARAMS, reason, data={"uri": uri, **wording.refusal({"error": error})})
    record = wording.record(op, told)
    body, places = orjson.dumps(record), places_in(op, record)
    if template.member is None:
        shown = fences.show(body, record, places, answer.caller_id)
    else:
        shown = fences.show_member(body, record, places, template.member, answer.caller_id)
    marked = {f"{market.config.brand}/untrusted": [*shown.untrusted]} if shown.untrusted else None
    content = t.TextResourceContents(uri=uri, mime_type=JSON, text=shown.text, _meta=marked)
    return t.ReadResourceResult(contents=[content], ttl_ms=0, cache_scope="private")


def _archived(record: dict[str, Json]) -> Archived | None:
    """Return the refusal of a text of a job that was archived, or None."""
    at = record.get("archived_at")
    return None if at is None else archived_error(record["id"], at)
