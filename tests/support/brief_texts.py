"""Compare the text of a brief answer over MCP with the record: it lacks nulls and the HTTP half of next steps."""

from typing import Any

STEP_OVER_HTTP = {"method", "path", "body"}


def is_short_for(read: Any, record: Any, within: str = "") -> bool:
    """Check that a text holds a record but for its nulls and the HTTP half of its next steps."""
    if isinstance(record, list) and isinstance(read, list):
        return len(read) == len(record) and all(map(is_short_for, read, record, [within] * len(record)))
    if not isinstance(record, dict) or not isinstance(read, dict):
        return type(read) is type(record) and bool(read == record)
    left_out = record.keys() - read.keys()
    may_lack = {name for name in left_out if record[name] is None}
    may_lack |= STEP_OVER_HTTP if within == "next_steps" else set()
    return (
        read.keys() <= record.keys()
        and left_out <= may_lack
        and all(is_short_for(read[name], record[name], name) for name in read)
    )
