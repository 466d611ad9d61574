"""The page docs/events: every type of event and its `data`, from the models that events are checked against."""

import inspect
from collections.abc import Iterator

from protocol.docs.markdown import fields_table, filled
from tools.events.payloads import PAYLOADS, JobEvent
from tools.kernel.records import record_schema
from tools.operator.retention import EVENTS_KEPT


def events_text() -> str:
    """Return the page as markdown: how events are delivered, then a section for each type."""
    common = record_schema(JobEvent)
    sections = (line for kind, data in PAYLOADS.items() for line in _section(kind, data, common["properties"]))
    return filled(
        "events.md", days=EVENTS_KEPT.days, common="\n".join(fields_table(common)), sections="\n".join(sections)
    )


def _section(kind: str, data: type, of_jobs: dict[str, object]) -> Iterator[str]:
    yield from ("", f"## {kind}", "", " ".join((inspect.getdoc(data) or "").split()), "")
    yield from fields_table(record_schema(data), of_jobs if kind.startswith("job.") else ())
