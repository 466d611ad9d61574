"""The tools, resources and prompts that the MCP conformance suite expects of any server.

Production never loads them. The same surface serves them and the market's own tools, so the suite tests the code that
agents use.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as t
from mcp.shared.exceptions import MCPError

from protocol.mcp.request import Request
from protocol.mcp.server import McpSurface
from server.app import Served, Service
from tests.end_to_end.conformance import tasks
from tests.support.mcp_client import Call, add_tools, extended

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
HEADERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "priority": {"type": "integer", "x-mcp-header": "Priority"},
    },
}
EVERY_KEYWORD: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text(words: str) -> t.TextContent:
    return t.TextContent(text=words)


def image() -> t.ImageContent:
    return t.ImageContent(data=PNG, mime_type="image/png")


def embedded(uri: str, kind: str, words: str) -> t.EmbeddedResource:
    return t.EmbeddedResource(resource=t.TextResourceContents(uri=uri, mime_type=kind, text=words))


def answering(*content: t.ContentBlock, fails: bool = False) -> Call:
    """Return a tool that always gives the same answer."""

    async def call(request: Request, asked: t.CallToolRequestParams) -> t.CallToolResult:
        return t.CallToolResult(content=list(content), is_error=fails)

    return call


async def report_progress(request: Request, asked: t.CallToolRequestParams) -> t.CallToolResult:
    for done in (0, 50, 100):
        await request.session.report_progress(done, 100, f"step {done}")
    return t.CallToolResult(content=[text("done")])


async def need_sampling(request: Request, asked: t.CallToolRequestParams) -> t.CallToolResult:
    declared = request.session.client_capabilities
    if declared is None or declared.sampling is None:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(t.MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling capability required", data=needed)
    return t.CallToolResult(content=[text("ok")])


CALLS: dict[str, Call] = {
    "test_simple_text": answering(text("This is a simple text response for testing.")),
    "test_image_content": answering(image()),
    "test_audio_content": answering(t.AudioContent(data=WAV, mime_type="audio/wav")),
    "test_embedded_resource": answering(
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": answering(
        text("Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    "test_error_handling": answering(text("This tool intentionally returns an error for testing"), fails=True),
    "test_tool_with_progress": report_progress,
    "test_streaming_elicitation": report_progress,
    "test_missing_capability": need_sampling,
    "test_logging_tool": answering(text("no logs unless asked")),
    "test_headers": answering(text("ok")),
    "json_schema_2020_12_tool": answering(text("ok")),
    **tasks.CALLS,
}
SCHEMAS = {"json_schema_2020_12_tool": EVERY_KEYWORD, "test_headers": HEADERS}


def document(uri: str) -> t.ReadResourceResult | None:
    """Return a resource of the suite, or None if it has none with this URI."""
    contents: t.TextResourceContents | t.BlobResourceContents
    if uri == "test://static-text":
        words = "This is the content of the static text resource."
        contents = t.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    elif uri == "test://static-binary":
        contents = t.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    elif uri.startswith("test://template/"):
        name = uri.split("/")[3]
        body = f'{{"id":"{name}","templateTest":true,"data":"Data for ID: {name}"}}'
        contents = t.TextResourceContents(uri=uri, mime_type="application/json", text=body)
    else:
        return None
    return t.ReadResourceResult(contents=[contents])


def messages(name: str, given: Mapping[str, str]) -> t.GetPromptResult | None:
    """Return a filled-in prompt of the suite, or None if it has none of this name."""
    content: dict[str, list[t.ContentBlock]] = {
        "test_simple_prompt": [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
        ],
        "test_prompt_with_embedded_resource": [
            embedded(given.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [image(), text("Please analyze the image above.")],
    }
    if name not in content:
        return None
    return t.GetPromptResult(messages=[t.PromptMessage(role="user", content=part) for part in content[name]])


def prompt(name: str, *arguments: str) -> t.Prompt:
    wanted = [t.PromptArgument(name=argument, required=True) for argument in arguments]
    return t.Prompt(name=name, description=f"{name} of the conformance suite", arguments=wanted or None)


TOOLS = tuple(
    t.Tool(name=name, description=f"{name} of the conformance suite", input_schema=SCHEMAS.get(name, NOTHING))
    for name in CALLS
)
RESOURCES = (
    t.Resource(uri="test://static-text", name="static-text", mime_type="text/plain"),
    t.Resource(uri="test://static-binary", name="static-binary", mime_type="image/png"),
)
TEMPLATE = t.ResourceTemplate(uri_template="test://template/{id}/data", name="template", mime_type="application/json")
PROMPTS = (
    prompt("test_simple_prompt"),
    prompt("test_prompt_with_arguments", "arg1", "arg2"),
    prompt("test_prompt_with_embedded_resource", "resourceUri"),
    prompt("test_prompt_with_image"),
)


def add_suite(surface: McpSurface) -> None:
    """Add what the suite expects to a surface that serves nobody yet."""
    server = surface.server
    add_tools(surface, TOOLS, CALLS)
    tasks.SuiteTasks(surface.tools).install(server)
    extended(server, "resources/list", "resources", RESOURCES)
    extended(server, "resources/templates/list", "resource_templates", [TEMPLATE])
    extended(server, "prompts/list", "prompts", PROMPTS)
    usual = {
        name: server.get_request_handler(name) for name in ("resources/read", "prompts/get", "completion/complete")
    }

    async def read(request: Request, asked: t.ReadResourceRequestParams) -> Any:
        return document(str(asked.uri)) or await usual["resources/read"].handler(request, asked)

    async def fill_in(request: Request, asked: t.GetPromptRequestParams) -> Any:
        return messages(asked.name, asked.arguments or {}) or await usual["prompts/get"].handler(request, asked)

    async def complete(request: Request, asked: t.CompleteRequestParams) -> Any:
        if getattr(asked.ref, "name", None) in [one.name for one in PROMPTS]:
            return t.CompleteResult(completion=t.Completion(values=[], total=0, has_more=False))
        return await usual["completion/complete"].handler(request, asked)

    server.add_request_handler("resources/read", t.ReadResourceRequestParams, read)
    server.add_request_handler("prompts/get", t.GetPromptRequestParams, fill_in)
    server.add_request_handler("completion/complete", t.CompleteRequestParams, complete)


class SuiteService(Service):
    """The real market, with what the suite expects."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Served]:
        async with super().running() as served:
            add_suite(served.mcp)
            yield served
