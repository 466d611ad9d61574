"""Hooks for schemathesis: count the answers of each operation and drop excused failures.

Both are written to a file.
"""

import atexit
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import schemathesis
from requests import PreparedRequest
from requests.auth import AuthBase
from schemathesis.core.parameters import ParameterLocation
from schemathesis.openapi.checks import ObjectLevelAuthorizationViolation, RejectedPositiveData

from rest.arguments import DRY_RUN
from server.adapters.clock import SystemClock
from tests.end_to_end.conformance.excuses import PUBLIC, excuses_of
from tests.support.signed_requests import Signing
from tools.catalogue import CATALOGUE
from tools.engine.arguments import MAX_WAITED

COUNTED = "CONFORMANCE_COUNTED"  # the variable with the file's name
SIGNER = "CONFORMANCE_SIGNER"  # the variable with the signer's agent id and seed, separated by a colon
ENDS_KEYS = re.compile(rb'"revoke_existing"\s*:\s*true')
answered: Counter[tuple[str, int]] = Counter()
excused: Counter[str] = Counter()


class Signs(AuthBase):
    """Signs a request, because schemathesis does not implement RFC 9421.

    It signs no request that would revoke the key of the run.
    """

    def __init__(self, agent_id: str, seed: str) -> None:
        self.agent_id, self.seed = agent_id, bytes.fromhex(seed)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        body = request.body or b""
        body = body.encode() if isinstance(body, str) else body
        if not ENDS_KEYS.search(body):
            created, nonce = int(SystemClock().now().timestamp()), uuid4().hex
            made = Signing(str(request.method), str(request.url), body, self.agent_id, created, nonce=nonce)
            request.headers.update(made.headers(self.seed))
        return request


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Replace a generated signature by a valid one, unless the case tests a wrong one.

    Dry runs become real ones, because the next calls would not find their results. Waits are set to zero.
    """
    query = case.query or {}
    if query.get(DRY_RUN) in (True, "true"):
        query[DRY_RUN] = "false"
    if waits(query.get("wait_seconds")):
        query["wait_seconds"] = "0"
    wrong = case.meta is not None and case.meta.is_negative_at(ParameterLocation.HEADER)
    op = CATALOGUE.get(operation_of(case))  # the login is no operation
    if op is not None and op.poll is not None and isinstance(case.body, dict):
        wanted = case.body.get("wait_seconds")
        # The market reads null as a missing argument, so it waits for the default.
        if wanted is None or (type(wanted) in (int, float) and waits(wanted)):
            case.body["wait_seconds"] = 0
    if op is not None and op.auth == "signed" and not wrong:
        case._has_explicit_auth = True
        kwargs["auth"] = Signs(*os.environ[SIGNER].split(":"))


def waits(seconds: Any) -> bool:
    """Tell whether a call with this wait_seconds waits; the market takes 5.0 for 5."""
    try:
        return 0 < float(seconds) <= MAX_WAITED
    except (TypeError, ValueError):
        return False


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    # A check may send a request with another method. That one is not counted.
    if response.request.method == case.operation.method.upper():
        answered[operation_of(case), response.status_code] += 1


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Check whether a failure remains: it has no excuse."""
    if isinstance(failure, ObjectLevelAuthorizationViolation):
        return operation_of(case) not in PUBLIC
    if not isinstance(failure, RejectedPositiveData):
        return True
    excuses = excuses_of(response.json())
    excused.update(one.why for one in excuses)
    return not excuses


def operation_of(case: Any) -> str:
    return str(case.operation.definition.raw["operationId"])


def write(path: Path) -> None:
    answers = [[name, status, times] for (name, status), times in answered.items()]
    path.write_text(json.dumps({"answered": answers, "excused": excused}))


if COUNTED in os.environ:  # only in the process of schemathesis, not in the runner
    atexit.register(write, Path(os.environ[COUNTED]))
