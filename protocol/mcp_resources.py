"""Records as MCP resources: a job, its output, a listing, a receipt. Read through the door with the connection's own key."""

import re
from dataclasses import dataclass

import mcp_types as t
import orjson
from mcp.shared.exceptions import MCPError

from protocol.fence import Fences, places_in
from tools.context import Approach
from tools.dispatch import Market
from tools.registry import CATALOGUE

JSON = "application/json"
ID = re.compile(r"[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}")


@dataclass(frozen=True, slots=True)
class Template:
    """Resources of one kind: `uri` holds one `{argument}` of the operation that reads them; `member`: only this of its record."""

    uri: str
    name: str
    description: str
    operation: str
    argument: str
    member: str | None = None

    @property
    def listed(self) -> t.ResourceTemplate:
        return t.ResourceTemplate(uri_template=self.uri, name=self.name, description=self.description, mime_type=JSON)

    def named_by(self, uri: str) -> str | None:
        """The id in a URI of this kind."""
        before, _, after = self.uri.partition(f"{{{self.argument}}}")
        named = uri.removeprefix(before).removesuffix(after) if uri.startswith(before) and uri.endswith(after) else ""
        return named if ID.fullmatch(named) else None


TEMPLATES = (
    Template(
        "job://{job_id}/output",
        "output",
        "What a job delivered, once it is yours to read.",
        "get_job",
        "job_id",
        "output",
    ),
    Template("job://{job_id}", "job", "A job you are a party to, as it stands.", "get_job", "job_id"),
    Template(
        "listing://{listing_id}", "listing", "A listing, with its schemas and examples.", "get_listing", "listing_id"
    ),
    Template("receipt://{job_id}", "receipt", "The signed receipt of a job.", "get_receipt", "job_id"),
)


async def read_record(uri: str, market: Market, approach: Approach, fences: Fences) -> t.ReadResourceResult | None:
    """The record behind a URI; None for a URI of no template. MCPError -32602 with the refusal where it may not be read.

    Others' text in it is fenced and named in `_meta`, as in the text of a tool's result.
    """
    for template in TEMPLATES:
        named = template.named_by(uri)
        if named is None:
            continue
        op = CATALOGUE[template.operation]
        answer = await market.call(op, {template.argument: named}, approach)
        if answer.refused:
            raise MCPError(t.INVALID_PARAMS, "Resource not found", data={"uri": uri, "error": answer.error})
        record = orjson.loads(answer.body)
        places = places_in(op, record)
        if template.member is None:
            shown = fences.show(answer.body, record, places)
        else:
            shown = fences.show_member(answer.body, record, places, template.member)
        told = {f"{market.house.brand}/untrusted": [*shown.untrusted]} if shown.untrusted else None
        content = t.TextResourceContents(uri=uri, mime_type=JSON, text=shown.text, _meta=told)
        return t.ReadResourceResult(contents=[content], ttl_ms=0, cache_scope="private")
    return None
