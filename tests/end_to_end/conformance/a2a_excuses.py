"""The failures and skips of the A2A suites that are accepted, each with its reason. All others are findings.

An excused requirement that passes is a finding too.
"""

import re
from collections.abc import Mapping

FAILS: Mapping[str, str] = {
    "CORE-SEND-003": "it says what the market does (ContentTypeNotSupportedError), but its test wants an answer",
    "HTTP_JSON-SVC-001": "it wants application/json; the protocol has since named application/a2a+json, which the SDK sends",
}
SKIPS: Mapping[str, str] = {
    "^(Transport 'grpc'|gRPC transport) not configured": "the market is not served over gRPC",
    "^Agent supports (streaming|push notifications|extended agent card)": "a test of agents without",
    "^Agent card does not declare urn:a2a:tck:required-extension": "a test of agents that demand an extension",
    "^No requirements at this level$": "there is nothing to test",
}


def may_be_skipped(reason: str) -> bool:
    return any(re.search(excused, reason) for excused in SKIPS)
