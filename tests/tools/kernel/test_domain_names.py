"""Domains that an agent can prove: which texts name a domain, its normalised spelling, and what counts as a proof."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tools.kernel.domain_names import (
    RESERVED,
    BadDomain,
    claim_text,
    dns_name,
    domain_of,
    https_url,
    in_file,
    in_records,
)
from tools.kernel.ssrf_guard import address_in

SSRF = json.loads((Path(__file__).parents[2] / "vectors" / "ssrf.json").read_text())
MINE = "service=agt_1"


@pytest.mark.parametrize(
    ("given_text", "kept"),
    [
        ("example.com", "example.com"),
        ("EXAMPLE.Com.", "example.com"),
        ("https://agent.example.com", "agent.example.com"),
        ("HTTPS://agent.example.com/about/", "agent.example.com"),
        ("http://agent.example.com/", "agent.example.com"),
        ("münchen.de", "xn--mnchen-3ya.de"),
        ("MÜNCHEN.DE", "xn--mnchen-3ya.de"),
        ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("例え.jp", "xn--r8jz45g.jp"),
        ("例え。jp", "xn--r8jz45g.jp"),
        ("faß.de", "xn--fa-hia.de"),
        ("ｅｘａｍｐｌｅ.com", "example.com"),
        ("1and1.com", "1and1.com"),
        (("a" * 63 + ".") * 3 + "com", ("a" * 63 + ".") * 3 + "com"),
    ],
)
def test_a_url_or_a_bare_host_is_kept_as_one_spelling_of_its_name(given_text: str, kept: str) -> None:
    assert domain_of(given_text) == kept
    assert domain_of(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        *SSRF["blocked_addresses"],
        *SSRF["allowed_addresses"],
        *SSRF["urls_that_must_never_connect"],
        *(f"agent.{word}" for word in sorted(RESERVED)),
        "",
        "com",
        "localhost",
        ".com",
        "a..com",
        "example.com..",
        "-a.com",
        "a-.com",
        "a_b.com",
        "_service.example.com",
        "*.example.com",
        "exa mple.com",
        " example.com",
        "example.com\n",
        "example.com\x00",
        "a.com\u202e",
        "exam\u200dple.com",
        "user@example.com",
        "user:pw@example.com",
        "example.com:443",
        "https://example.com:443/",
        "https://example.com?x=1",
        "https://example.com#x",
        "https://example.com/a\\b",
        "https://https://example.com",
        "ftp://example.com",
        "example.com/../x y",
        "a.1",
        "1.2.3.4",
        "1.2.3.4.",
        "127.1",
        "0x7f.0x1",
        "①②⑦.⓪.⓪.①",
        "１２７。０。０。１",
        "example.٣",
        "xn--a.com",
        "xn--zzzzzzzzzzzz.com",
        "a" * 64 + ".com",
        ("a" * 63 + ".") * 4 + "com",
        "é" * 250 + ".fr",
    ],
)
def test_a16_what_is_no_public_name_is_refused(text: str) -> None:
    with pytest.raises(BadDomain):
        domain_of(text)


@given(st.text(max_size=300) | st.from_regex(r"[a-z0-9.:/@-]{1,40}", fullmatch=True))
@example("." * 253)
@example("a." * 126 + "a")
def test_every_text_is_a_name_or_refused_and_a_name_is_its_own_spelling(text: str) -> None:
    try:
        domain = domain_of(text)
    except BadDomain:
        return
    assert domain_of(domain) == domain
    assert domain.isascii()
    assert domain == domain.lower()
    assert "." in domain
    assert len(domain) <= 253
    assert address_in(domain) is None


def test_the_places_and_the_text_of_a_proof_carry_the_brand() -> None:
    assert claim_text("market-1", "agt_1") == "market-1=agt_1"
    assert dns_name("market-1", "example.com") == "_market-1.example.com"
    assert https_url("market-1", "example.com") == "https://example.com/.well-known/market-1.txt"


@pytest.mark.parametrize(
    ("records", "proven"),
    [
        ([b"service=agt_1"], True),
        ([b"v=spf1 -all", b"  service=agt_1 "], True),
        ([b"service=agt_2 service=agt_1"], True),
        ([], False),
        ([b""], False),
        ([b"service=agt_12"], False),
        ([b"xservice=agt_1"], False),
        ([b"SERVICE=agt_1"], False),
        ([b"service = agt_1"], False),
        ([b'"service=agt_1"'], False),
        ([b"\xff\xfe service=agt_1\xff"], False),
        ([b"\xff", b"\xff service=agt_1"], True),
    ],
)
def test_a_record_proves_by_a_whole_word(records: list[bytes], proven: bool) -> None:
    assert in_records(records, MINE) is proven


@pytest.mark.parametrize(
    ("body", "proven"),
    [
        (b"service=agt_1", True),
        (b"# us\r\nservice=agt_1\r\n", True),
        (b"\xef\xbb\xbfservice=agt_1\n", True),
        (b"\xff\xfe\n  service=agt_1\t\n", True),
        (b"", False),
        (b"service=agt_12", False),
        (b"not service=agt_1", False),
        (b"service=agt_1 service=agt_2", False),
        (b"<p>service=agt_1</p>", False),
        (b"service=\nagt_1", False),
    ],
)
def test_a_file_proves_by_a_whole_line(body: bytes, proven: bool) -> None:
    assert in_file(body, MINE) is proven
