"""Loaded by schemathesis: counts what each operation answered and drops what is excused; both go into a file."""

import atexit
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis.openapi.checks import ObjectLevelAuthorizationViolation, RejectedPositiveData

from tests.conformance.excuses import PUBLIC, excuses_of

COUNTED = "CONFORMANCE_COUNTED"  # the variable that names the file
answered: Counter[tuple[str, int]] = Counter()
excused: Counter[str] = Counter()


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    if response.request.method == case.operation.method.upper():  # not what a check sends with another method
        answered[operation_of(case), response.status_code] += 1


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Whether the failure stays: only what is excused goes."""
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


if COUNTED in os.environ:  # not where the runner imports the name
    atexit.register(write, Path(os.environ[COUNTED]))
