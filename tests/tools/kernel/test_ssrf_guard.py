"""Allowed targets of outgoing requests: the published vectors, and the effect of the two settings."""

import ipaddress
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.kernel.ssrf_guard import BadTarget, Target, is_allowed_address, judge_target, parse_target

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "ssrf.json").read_text(encoding="utf-8"))
PRIVATE = ["127.0.0.1", "127.8.9.1", "::1", "10.1.2.3", "172.31.0.1", "192.168.1.1", "fd00::1", "::ffff:10.0.0.1"]
NEVER = [
    "169.254.169.254",
    "fe80::1",
    "0.0.0.0",
    "224.1.2.3",
    "255.255.255.255",
    "::",
    "64:ff9b::7f00:1",
    "100.100.0.0",
]


def spelled(address: str) -> str:
    return f"https://[{address}]/" if ":" in address else f"https://{address}/"


@pytest.mark.parametrize("address", VECTORS["allowed_addresses"])
def test_public_addresses_are_dialled_on_443(address: str) -> None:
    assert is_allowed_address(address, 443, allow_private=False)
    assert judge_target(spelled(address), allow_private=False).port == 443
    assert not is_allowed_address(address, 22, allow_private=True)
    assert not is_allowed_address(address, 80, allow_private=True)


@pytest.mark.parametrize("address", VECTORS["blocked_addresses"])
def test_a16_no_address_that_leads_inside_or_nowhere_is_dialled(address: str) -> None:
    assert not is_allowed_address(address, 443, allow_private=False)
    with pytest.raises(BadTarget):
        judge_target(spelled(address), allow_private=False)


@pytest.mark.parametrize("url", VECTORS["urls_that_must_never_connect"])
def test_a16_no_spelling_of_an_url_leads_inside(url: str) -> None:
    for tried in (url, url.replace("http:", "https:")):
        with pytest.raises(BadTarget):
            judge_target(tried, allow_private=False)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_networks_are_dialled_on_any_port_where_they_are_allowed(address: str) -> None:
    assert is_allowed_address(address, 8080, allow_private=True)
    assert not is_allowed_address(address, 443, allow_private=False)


@pytest.mark.parametrize("address", NEVER)
def test_what_is_neither_public_nor_private_is_never_dialled(address: str) -> None:
    assert not is_allowed_address(address, 443, allow_private=True)


@pytest.mark.parametrize("address", ["", "a.example", "127.1", "fe80::1%eth0", "1.2.3.4.5"])
def test_what_is_no_address_is_not_dialled(address: str) -> None:
    assert not is_allowed_address(address, 443, allow_private=True)


@given(st.ip_addresses())
def test_nothing_is_dialled_that_python_calls_private(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    kinds = ("is_private", "is_loopback", "is_link_local", "is_reserved", "is_multicast", "is_unspecified")
    seen = getattr(address, "ipv4_mapped", None) or address
    if is_allowed_address(str(address), 443, allow_private=False):
        assert [kind for kind in kinds if getattr(seen, kind)] == []


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/x", "http://localhost:9/", "http://[::1]/", "http://a.localhost:9"]
)
def test_http_is_taken_for_loopback_alone(url: str) -> None:
    assert judge_target(url, allow_private=True).scheme == "http"
    for other in ("http://10.0.0.1/", "http://agent.example/", "http://[fd00::1]/"):
        with pytest.raises(BadTarget, match="https is needed"):
            judge_target(other, allow_private=True)


def test_names_are_public_and_on_443_unless_private_networks_are_allowed() -> None:
    assert judge_target("https://Agent.Example./a?b=c", allow_private=False) == Target("https", "agent.example", 443)
    for url in ("https://agent.example:8443/", "https://intranet/", "https://localhost/", "https://a.localhost/"):
        with pytest.raises(BadTarget, match="public"):
            judge_target(url, allow_private=False)
        judge_target(url, allow_private=True)


def test_the_market_does_not_call_itself() -> None:
    own = {("market.example", 443), ("127.0.0.1", 8000)}
    for url in ("https://market.example/v1/webhooks", "https://MARKET.example.:443/", "http://127.0.0.1:8000/"):
        with pytest.raises(BadTarget, match="the market itself"):
            judge_target(url, allow_private=True, own=own)
    judge_target("http://127.0.0.1:8001/", allow_private=True, own=own)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://",
        "HTTPS://agent.example/",
        "https://agent.example:0/",
        "https://agent.example:65536/",
        "https://agent.example/ x",
        "https://agent.example/\u00e9",
        "https://\u00e9.example/",
        "https://-agent.example/",
        "https://agent..example/",
        "https://[::1/",
        "https://[agent.example]/",
        "https://" + "a" * 64 + ".example/",
        "https://" + "a." * 130 + "example/",
        "https://agent.example/" + "a" * 2048,
        "https://agent.example/\r\nHost: x",
    ],
)
def test_there_is_one_spelling(url: str) -> None:
    with pytest.raises(BadTarget):
        parse_target(url)
