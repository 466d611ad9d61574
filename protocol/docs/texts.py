"""The documents that agents read before their first call: llms.txt, skill.md, quickstart, errors and the root index."""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import orjson

from protocol.docs.lifecycle import lifecycle_text
from protocol.docs.llms import WHAT, full_text, llms_text
from protocol.docs.markdown import fields_table, filled, on_one_line, type_within
from protocol.docs.skill import duration, free_usdc, skill_source, skill_text
from storage.vocabulary import Env
from tools.catalogue import every_error
from tools.discovery.changelog import CHANGELOG
from tools.discovery.records import Changelog
from tools.engine import errors
from tools.engine.config import MarketConfig
from tools.engine.rate_limits import ALLOWANCES, Rate, RateLimit
from tools.engine.registry import Operation
from tools.events.payloads import PAYLOADS, JobEvent
from tools.jobs.errors import PaymentRequired
from tools.kernel.errors import MarketError
from tools.kernel.records import record_schema
from tools.operator.retention import EVENTS_KEPT

MAX_LINE = 100  # characters of a command on one line
BODY_TYPE = "-H 'Content-Type: application/json'"
CALL = re.compile(r"^\{\{(\w+) (\{.*\})\}\}$", re.MULTILINE)  # in the quickstart: an operation and its arguments
ANYWHERE: frozenset[type[MarketError]] = frozenset(
    {
        *errors.COMMON, errors.PayloadTooLarge, errors.UnsupportedMediaType, errors.HeadersTooLarge,
        errors.MethodNotAllowed, errors.RouteNotFound, errors.HostNotAllowed, errors.OriginNotAllowed, errors.InternalError,
    }
)  # fmt: skip
FIRST = (
    ("search_listings", "See what you can buy; needs no key."),
    ("register_agent", "Get an identity and API keys, at once and without sign-up."),
    ("get_payments_info", "Read how payment works."),
)


class Texts:
    """The documents of one market, made once; tools, paths and arguments are from the registry."""

    def __init__(self, operations: Iterable[Operation], config: MarketConfig) -> None:
        offered = [op for op in operations if op.auth != "admin"]
        self.version: str = config.version
        self.skill_md: str = skill_text(skill_source(), offered, config)
        self.llms_txt: str = llms_text(offered, config)
        calls = Calls(offered, config)
        self.quickstart_md: str = _quickstart(calls, config)
        self.errors_md: str = _errors(offered, config)
        self.events_md: str = events_text()
        self.lifecycle_md: str = lifecycle_text(offered, config)
        self.changelog_md: str = _changelog()
        self.docs_md: str = filled("docs.md", base=config.base_url)
        self.llms_full_txt: str = full_text(self.documents, offered, config)
        self.index_json: dict[str, Any] = _index(calls, config)
        self.index_md: str = self.llms_txt

    @property
    def documents(self) -> dict[str, str]:
        """The documents by path, in reading order."""
        return {
            "/docs/quickstart": self.quickstart_md,
            "/skill.md": self.skill_md,
            "/docs/lifecycle": self.lifecycle_md,
            "/docs/events": self.events_md,
            "/docs/errors": self.errors_md,
        }


class Calls:
    """Example calls in curl. Unknown operations or arguments raise KeyError or TypeError."""

    def __init__(self, operations: list[Operation], config: MarketConfig) -> None:
        self.operations, self.base_url = {op.name: op for op in operations}, config.base_url

    def curl(self, name: str, /, **arguments: Any) -> str:
        """Return a command that makes the call; $NAME in the URL is a shell variable.

        A long command has a line for each option.
        """
        op = self._operation(name, arguments)
        rest = {argument: value for argument, value in arguments.items() if argument not in op.path_names}
        url = self.base_url + op.path.format_map(arguments)
        if op.method == "GET":
            sent, url = [], url + (f"?{urlencode(rest, safe='*,$')}" if rest else "")
        else:
            sent = [BODY_TYPE, f"-d '{_json(rest)}'"] if rest else []
        method = "" if op.method == "GET" else f" -X {op.method}"
        key = [] if op.auth != "key" else ['-H "X-API-Key: $API_KEY"']
        words = [f'curl -s{method} "{url}"', *key, *sent]
        command = " ".join(words)
        if len(command) <= MAX_LINE:
            return command
        if len(words[-1]) > MAX_LINE:
            words[-1] = f"-d '{_json(rest, indented=True)}'"
        return " \\\n  ".join(words)

    def message(self, name: str, /, **arguments: Any) -> str:
        """Return the body of the call over A2A's HTTP+JSON."""
        self._operation(name, arguments)
        part = {"data": {"tool": name, "arguments": arguments}}
        return _json({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [part]}}, indented=True)

    def _operation(self, name: str, arguments: dict[str, Any]) -> Operation:
        op = self.operations[name]
        unknown = set(arguments) - set(op.input.model_fields)
        if unknown:
            raise TypeError(f"{name} has no argument {sorted(unknown)}")
        return op


def events_text() -> str:
    """Return the page docs/events: how events are delivered, then each type with its `data`."""
    common = record_schema(JobEvent)
    sections = (line for kind, data in PAYLOADS.items() for line in _of_event(kind, data, common["properties"]))
    fields = "\n".join(fields_table(common, type_within(common)))
    return filled("events.md", days=EVENTS_KEPT.days, common=fields, sections="\n".join(sections))


def _of_event(kind: str, data: type, of_jobs: dict[str, object]) -> Iterator[str]:
    schema = record_schema(data)
    yield from ("", f"## {kind}", "", on_one_line(inspect.getdoc(data) or ""), "")
    yield from fields_table(schema, type_within(schema), of_jobs if kind.startswith("job.") else ())


def _changelog() -> str:
    """Return the page docs/changelog, newest first, with the content of GET /v1/changelog."""
    sections = (
        line
        for entry in CHANGELOG
        for line in (f"## {entry.version}", "", entry.date, "", *(f"- {change}" for change in entry.changes), "")
    )
    return "\n".join(("# Changelog", "", inspect.getdoc(Changelog) or "", "", *sections))


def _quickstart(calls: Calls, config: MarketConfig) -> str:
    base = config.base_url
    server = {"type": "http", "url": f"{base}/mcp", "headers": {"X-API-Key": "as_test_…"}}
    text = filled(
        "quickstart.md",
        what=WHAT,
        base=base,
        brand=config.brand,
        free_usdc=free_usdc(config.networks[Env.TEST]),
        connected=_json({"mcpServers": {config.title.lower(): server}}, indented=True),
        body_type=BODY_TYPE,
        message=calls.message("search_listings", q="validate json", env="test"),
        limits=_limits(config),
    )
    return CALL.sub(lambda found: calls.curl(found[1], **orjson.loads(found[2])), text)


def _limits(config: MarketConfig) -> str:
    if not config.limits.enforced:
        return "This installation has switched rate limits off."
    counted = {**ALLOWANCES, Rate.REGISTER: RateLimit(config.limits.registrations_per_hour, 3600)}
    rates = ", ".join(
        f"{rate.replace('_', ' ')} {one.calls} per {duration(one.seconds).removeprefix('1 ')}"
        for rate, one in counted.items()
    )
    return (
        f"Calls per key, or per address without one: {rates}; messages and exports count per agent, exports in each environment. The RateLimit headers say what is left; on 429 wait Retry-After "
        f"seconds. An agent has at most {config.limits.active_listings} active listings, {config.limits.unfinished_jobs} "
        f"unfinished orders, {config.limits.usable_keys} usable API keys, {config.limits.streams_per_agent} open streams, and "
        f"{config.limits.streams_per_key} of them per key."
    )


def _errors(operations: list[Operation], config: MarketConfig) -> str:
    shown = _json({"error": PaymentRequired("…").record("req_…", config.docs_url)}, indented=True)
    head = filled("errors.md", shown=shown)
    answers = {op.name: {*op.errors, *_asked(op)} for op in operations}
    return "\n".join([head, *(_explained(error, answers) for error in every_error())])


def _explained(error: type[MarketError], answers: Mapping[str, set[type[MarketError]]]) -> str:
    """Return the section `#code`, the target of the error's `docs` link."""
    meaning = re.sub(r"^\d{3}: ", "", inspect.getdoc(error) or "").replace("\n", " ")
    refusing = [operation for operation, given in answers.items() if error in given]
    where = "any call" if error in ANYWHERE else ", ".join(refusing) or "no operation of this version"
    later = " The same call can work later." if error.retryable else ""
    return (
        f"## {error.code}\n\nStatus {error.status}, type {error.type}. {meaning[:1].upper()}{meaning[1:]}\n\n"
        f"What to do: {error.usual_hint}{later}\n\nAnswered by: {where}.\n"
    )


def _asked(op: Operation) -> list[type[MarketError]]:
    """Return the errors that are sent with a record of terms."""
    return [] if op.paid_rate is not None else [one.asks for one in op.output if issubclass(one, errors.AsksPayment)]


def _index(calls: Calls, config: MarketConfig) -> dict[str, Any]:
    first = [(calls.operations[name], why) for name, why in FIRST]
    start = [
        {"action": op.name, "why": why, "tool": op.name, "method": op.method, "path": op.path} for op, why in first
    ]
    title, version = _json(config.title), config.version
    text = filled(
        "index.json", title=title, version=version, what=_json(WHAT), start=_json(start), base=config.base_url
    )
    index: dict[str, Any] = orjson.loads(text)
    return index


def _json(value: Any, indented: bool = False) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indented else None).decode()
