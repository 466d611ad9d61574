"""Services that are no Python functions: a command, and an HTTP API."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from emporion_client.errors import Decline, EmporionError
from emporion_client.selling import Order

UNWORKABLE = 65  # EX_DATAERR: the input is at fault, not the service
TRY_AGAIN = (408, 409, 425, 429)


def command(argv: list[str], timeout: float = 300) -> Callable[..., Any]:
    """Return a function that runs a command: JSON in on stdin, JSON or text out on stdout.

    Exit code 65 declines the order with the last line of stderr. The command gets no key of this home.
    """
    if not argv or shutil.which(argv[0]) is None:
        raise EmporionError(f"{argv[0] if argv else 'An empty command'} cannot be run: there is no such program")

    def work(order: Order, **given: Any) -> Any:
        own = {"EMPORION_JOB_ID": order.id, "EMPORION_KEY": order.key, "EMPORION_ATTEMPT": str(order.attempt)}
        env = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")} | own
        done = subprocess.run(  # noqa: S603 - the seller names the command; the buyer's input is on stdin only
            argv, input=json.dumps(given), capture_output=True, text=True, timeout=timeout, env=env, check=False
        )
        if done.returncode == UNWORKABLE:
            raise Decline((done.stderr.strip().splitlines() or ["This input cannot be worked."])[-1])
        done.check_returncode()
        return _json_or_text(done.stdout)

    return work


def http_api(url: str, headers: Mapping[str, str] | None = None, timeout: float = 300) -> Callable[..., Any]:
    """Return a function that posts the input to an HTTP API.

    4xx declines the order. 5xx and no answer are tried again.
    """
    client = httpx.Client(timeout=timeout, headers=dict(headers or {}))

    def work(order: Order, **given: Any) -> Any:
        answer = client.post(url, json=given, headers={"Idempotency-Key": order.key})
        if 400 <= answer.status_code < 500 and answer.status_code not in TRY_AGAIN:
            raise Decline(f"The service refused this input (HTTP {answer.status_code}).")
        if answer.status_code >= 300:
            raise RuntimeError(f"the service answered HTTP {answer.status_code}")
        return _json_or_text(answer.text)

    return work


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"text": text}
