"""Call the operator's operations of a served market over HTTP from the command line, with X-Admin-Token."""

import json
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from server.secrets import known_operator_secret
from server.settings import LOOPBACK, BadSettings, Settings
from tools.catalogue import CATALOGUE

PATIENCE_SECONDS = 60.0
SECRET = "EMPORION_OPERATOR_SECRET"  # noqa: S105 - the name of the setting


class Refused(Exception):
    """The market answered with an error or not at all; the message is for the operator."""


def call_operation(settings: Settings, url: str | None, name: str, **given: Any) -> str:
    """Call an operation and return its record as JSON.

    The JSON is ASCII, so that texts in it cannot send control sequences to a terminal. Raises as read_operation does.
    """
    return json.dumps(read_operation(settings, url, name, **given), indent=2)


def read_operation(settings: Settings, url: str | None, name: str, **given: Any) -> dict[str, Any]:
    """Call an operation and return its record.

    Raises BadSettings if the secret is missing or would be sent unencrypted, and Refused with the market's message.
    """
    base = _safe(url or settings.url)
    secret = settings.operator_secret or known_operator_secret(settings.data_dir)
    if secret is None:
        raise BadSettings(
            f"{SECRET}: unset. Set it as a variable or in .env: {SECRET}=<the secret that {base} is served with>. A sandbox keeps its "
            f"secret in its data folder; EMPORION_DATA_DIR names that folder (it is {settings.data_dir} now)"
        )
    op, said = CATALOGUE[name], {key: value for key, value in given.items() if value is not None}
    path = op.path.format(**{part: quote(str(said.pop(part)), safe="") for part in op.path_names})
    query, body = (said, None) if op.safe else (None, said)
    headers = {"X-Admin-Token": secret}
    try:
        with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False) as http:
            answer = http.request(op.method, base + path, headers=headers, params=query, json=body)
            record = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise Refused(
            f"{base} does not answer as a market does ({type(error).__name__}). Is it served there?"
        ) from None
    if not answer.is_success:
        advice = f" {SECRET} must be the secret that {base} is served with." if answer.status_code == 401 else ""
        raise Refused(_sentence(record, answer.status_code) + advice)
    if not isinstance(record, dict):
        raise Refused(f"{base} does not answer as a market does. Is it served there?")
    return record


def _safe(url: str) -> str:
    """Check that the secret is sent encrypted or to this machine; return the base URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadSettings(f"--url {url}: begins with http:// or https://")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise BadSettings(f"--url {url}: the operator's secret is sent over https only, or to this machine")
    return url.rstrip("/")


def _sentence(record: Any, status: int) -> str:
    error = record.get("error") if isinstance(record, dict) else None
    if not isinstance(error, dict):
        return f"HTTP {status}, which is no answer of a market"
    sentences = [str(error[name]).removesuffix(".") + "." for name in ("message", "hint") if error.get(name)]
    return json.dumps(" ".join([f"{error.get('code')}:", *sentences]), ensure_ascii=True)[1:-1]
