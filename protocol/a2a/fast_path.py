"""A fast path before the a2a-sdk: it answers a message that calls one tool without the cost of the SDK's protobuf.

It answers with the same JSON as the SDK's path would. It refuses nothing: every request that is not plainly such a call
is left to the SDK, so that errors are made in one place. Without this module (see FAST_PATHS) the SDK answers
everything.
"""

from dataclasses import dataclass

import orjson
from starlette.types import Scope, Send

from protocol.a2a import payment as x402
from protocol.a2a.errors import guarded
from protocol.a2a.message_replies import MessageReplies, RenderedReply
from protocol.a2a.sdk_bodies import CallState
from protocol.http import header, send_response
from tools.kernel.errors import Json

SENDING = "/a2a/message:send"
VERSION = b"a2a-version"
ENVELOPE = {"jsonrpc", "id", "method", "params"}
PARAMS = {"message", "configuration", "metadata"}
MESSAGE = {"messageId", "role", "parts", "contextId", "metadata"}
MAX_WORD_LENGTH = 1_000  # characters of an id


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a message that calls a tool in one version of the protocol, without its data.

    `fixed`: members of the message that have one possible value. `switch`: the member of the configuration that says
    whether to wait; it does not matter to a call.
    """

    versions: tuple[str, ...]
    method: str
    fixed: dict[str, str]
    parts: tuple[list[dict[str, Json]], ...]
    switch: str


NEW = Form(
    ("1.0",),
    "SendMessage",
    {"role": "ROLE_USER"},
    ([{"data": {}}], [{"data": {}, "mediaType": "application/json"}]),
    "returnImmediately",
)
OLD = Form(
    ("", "0.3"), "message/send", {"role": "user", "kind": "message"}, ([{"kind": "data", "data": {}}],), "blocking"
)


class FastPath:
    """The fast path for calls of tools; `replies` also serves the SDK's handler."""

    def __init__(self, replies: MessageReplies) -> None:
        self.replies, self.dice = replies, replies.market.world.dice

    async def serve(self, scope: Scope, body: Json, call: CallState, send: Send) -> bool:
        """Answer a request if it is plainly a call; return False to leave it to the SDK.

        `body` is the parsed body; the data parts and keys of `call` have been taken out of it.
        """
        if not self._calls(call) or not _plainly_sent(scope, body, call):
            return False
        call.reached = True
        shown = await guarded(call, self.replies.called(*self.replies.call_of(call.wanted[0]), call))
        asked = (body["params"] if call.over_rpc else body)["message"]
        message = self._message(asked.get("contextId"), shown, call.old)
        if call.over_rpc:
            result = message if call.old else {"message": message}
            await send_response(send, 200, orjson.dumps({"result": result, "id": body["id"], "jsonrpc": "2.0"}))
        else:
            await send_response(send, 200, orjson.dumps({"message": message}), kind=b"application/a2a+json")
        return True

    def _calls(self, call: CallState) -> bool:
        """Return True if the request calls one known tool of the market and nothing else."""
        if call.seller is not None or call.refusal is not None or len(call.data) != 1:
            return False
        (wanted,) = call.data
        name, arguments = wanted.get("tool"), wanted.get("arguments")
        known = isinstance(name, str) and name in self.replies.operations
        return known and isinstance(arguments, dict | None) and wanted.keys() <= {"tool", "arguments"}

    def _message(self, context: str | None, shown: RenderedReply, old: bool) -> dict[str, Json]:
        identity, record = self.dice.random_bytes(16).hex(), orjson.Fragment(shown.document)
        members = {"contextId": context, "metadata": shown.metadata}
        beside = {name: value for name, value in members.items() if value}
        if old:
            words = [{"kind": "text", "text": shown.text}] if shown.text else []
            parts = [*words, {"data": record, "kind": "data"}]
            return {**beside, "kind": "message", "messageId": identity, "parts": parts, "role": "agent"}
        words = [{"text": shown.text, "mediaType": "text/plain"}] if shown.text else []
        parts = [*words, {"data": record, "mediaType": "application/json"}]
        return {"messageId": identity, **beside, "role": "ROLE_AGENT", "parts": parts}


def _plainly_sent(scope: Scope, body: Json, call: CallState) -> bool:
    """Return True if the request has only the usual headers and members."""
    form, sent = OLD if call.old else NEW, [name for name, _ in scope["headers"]]
    if (
        not set(x402.ACTIVATION).isdisjoint(sent)
        or sent.count(VERSION) > 1
        or (header(scope, VERSION) or "") not in form.versions
    ):
        return False
    if not call.over_rpc:
        return scope["path"] == SENDING and not call.old and _plain(body, form)
    if not isinstance(body, dict) or body.keys() != ENVELOPE or type(body["id"]) not in (str, int):
        return False
    return (body["jsonrpc"], body["method"]) == ("2.0", form.method) and _plain(body["params"], form)


def _plain(params: Json, form: Form) -> bool:
    """Return True if the parameters beside the call make no difference to it."""
    if not isinstance(params, dict) or not params.keys() <= PARAMS or params.get("metadata", {}) != {}:
        return False
    message, settings = params.get("message"), params.get("configuration", {})
    if not isinstance(message, dict) or not message.keys() <= MESSAGE | form.fixed.keys():
        return False
    words = (message.get("messageId"), message.get("contextId", "none"))
    if not all(isinstance(word, str) and 0 < len(word) <= MAX_WORD_LENGTH for word in words):
        return False
    usual = all(message.get(name) == value for name, value in form.fixed.items()) and message.get("metadata", {}) == {}
    return usual and message.get("parts") in form.parts and _immaterial(settings, form)


def _immaterial(settings: Json, form: Form) -> bool:
    """Return True if the configuration contains nothing that matters to a call."""
    if not isinstance(settings, dict) or not settings.keys() <= {"acceptedOutputModes", form.switch}:
        return False
    modes = settings.get("acceptedOutputModes", [])
    named = isinstance(modes, list) and all(isinstance(mode, str) for mode in modes)
    return named and isinstance(settings.get(form.switch, True), bool)
