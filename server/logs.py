"""Logs: one JSON object a line on stderr, without secrets, arguments or bodies."""

import json
import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import orjson
import structlog

SECRETS = re.compile(r"as_(live|test)_[0-9A-Za-z]{8,}|oat_[\w.-]{8,}|(?<=api_key=)[^&\s\"']+|(?<=Bearer )\S+|whsec_\S+")


def set_up(level: str = "INFO") -> None:
    """Configure structlog and the standard library's loggers for the process."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            redact,
            structlog.processors.JSONRenderer(serializer=_dumps),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(Redacting("%(message)s"))


def redact(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Redact credentials in all texts of a log event, tracebacks included."""
    return {
        name: SECRETS.sub("[redacted]", value) if isinstance(value, str) else value for name, value in event.items()
    }


class Redacting(logging.Formatter):
    """A formatter that redacts a whole line, because the text of an error is in the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return SECRETS.sub("[redacted]", super().format(record))


def _dumps(value: Any, **_: Any) -> str:
    try:
        return orjson.dumps(value, default=str).decode()
    except (TypeError, ValueError):  # such as a lone surrogate: an ASCII line is better than a lost response
        return json.dumps(value, default=str)
