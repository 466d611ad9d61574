"""Domain proofs over real sockets: a name server over UDP and a web server over TLS, both hostile."""

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dns.message
import dns.rcode
import pytest

from server.adapters.dns import MAX_BYTES, NameServers
from server.adapters.web import MAX_READ_BYTES, GuardedWeb
from tests.server.adapters.test_http_fetch import PUBLIC, answering, certified, web
from tests.support.dns_server import Answer, NameServer, refusing, saying, sending
from tests.support.http_receiver import Receiver, hang, hang_up, huge, nonsense, slow_headers, status
from tests.support.market import Agent, TestMarket, house
from tests.support.proofs import DOMAIN, world_with
from tools.domains.logic import look_for_proof
from tools.domains.records import Check
from tools.engine.ports import Fetched, Unreachable
from tools.kernel.ssrf_guard import NotAttempted, UrlUnreachable

MINE = b"service=agt_1"
NAME = f"_service.{DOMAIN}"


@pytest.fixture
async def server() -> AsyncIterator[NameServer]:
    async with NameServer() as made:
        yield made


async def texts(server: NameServer, answer: Answer, seconds: float = 5.0) -> list[bytes] | str:
    """Return the records of a name, or the reason why there are none."""
    server.answer = answer
    try:
        return await NameServers([server.place], timeout_in_seconds=seconds).texts(NAME)
    except Unreachable as unanswered:
        return unanswered.reason


async def test_records_are_read_and_the_strings_of_one_are_joined(server: NameServer) -> None:
    assert await texts(server, saying('{name} TXT "service=" "agt_1"', '{name} TXT "v=spf1 -all"')) == [
        MINE,
        b"v=spf1 -all",
    ]
    assert server.asked == [f"{NAME}."]
    assert await texts(server, saying("{name} CNAME other.example.net.", "other.example.net. TXT service=agt_1")) == [
        MINE
    ]


@pytest.mark.parametrize(
    ("answer", "met"),
    [
        (refusing(dns.rcode.NXDOMAIN), []),
        (saying(), []),
        (saying("{name} A 127.0.0.1"), []),
        (saying("elsewhere.example.net. TXT service=agt_1"), []),
        (saying("{name} CNAME a.example.net.", "a.example.net. CNAME {name}"), "bad_answer"),
        (saying(*(f"a{n}.example.net. CNAME a{n + 1}.example.net." for n in range(30)), "{name} CNAME a0.example.net."), "bad_answer"),
        (refusing(dns.rcode.SERVFAIL), "server_failure"),
        (refusing(dns.rcode.REFUSED), "server_failure"),
        (saying(*(f"{{name}} TXT service=agt_{n}" for n in range(10_000)), whole=MAX_BYTES), "too_large"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)  # fmt: skip
async def test_a_zone_may_say_what_it_likes(server: NameServer, answer: Answer, met: Any) -> None:
    assert await texts(server, answer) == met


async def test_bytes_that_are_no_text_are_bytes(server: NameServer) -> None:
    assert await texts(server, saying('{name} TXT "\\255\\254\\000"', "{name} TXT service=agt_1")) == [
        b"\xff\xfe\x00",
        MINE,
    ]


@pytest.mark.parametrize(
    "wires",
    [
        [b""],
        [b"\x00"],
        [b"\x00" * 12],
        [b"\xff" * 512],
        [bytes.fromhex("0000818000010001000000000c") + b"\xc0\x0c" * 20],
        [bytes.fromhex("000081800001ffff00000000")],
    ],
    ids=["empty", "a byte", "no question", "ones", "a pointer to itself", "records it has not"],
)
async def test_bytes_that_are_no_answer_are_no_answer(server: NameServer, wires: list[bytes]) -> None:
    assert await texts(server, sending(*wires), seconds=0.5) in ("bad_answer", "timeout", "too_large")


async def test_a16_an_answer_to_another_question_is_not_taken(server: NameServer) -> None:
    def forged(question: dns.message.Message) -> list[bytes]:
        other = dns.message.make_query("_service.other.example.com", "TXT")
        other.id = question.id
        return list(saying("{name} TXT service=agt_1")(other))

    assert await texts(server, forged, seconds=0.5) in ("bad_answer", "timeout")
    wrong = dns.message.make_query(NAME, "TXT")
    assert await texts(server, lambda _: saying("{name} TXT service=agt_1")(wrong), seconds=0.5) in (
        "bad_answer",
        "timeout",
    )


async def test_a_server_that_is_silent_is_a_timeout_and_the_next_is_asked(server: NameServer) -> None:
    assert await texts(server, sending(), seconds=0.2) == "timeout"
    async with NameServer(saying("{name} TXT service=agt_1")) as second:
        both = NameServers([server.place, second.place], timeout_in_seconds=0.4)
        assert await both.texts(NAME) == [MINE]


async def test_no_server_and_no_name_are_said_in_a_word() -> None:
    with pytest.raises(Unreachable, match="no_name_server"):
        await NameServers([]).texts(NAME)
    for name in ("a..b", "a" * 64 + ".com", ".".join(["a" * 60] * 5)):
        with pytest.raises(Unreachable, match="bad_name"):
            await NameServers([]).texts(name)


def file(body: bytes, *headers: str, code: int = 200) -> Any:
    async def answer(writer: asyncio.StreamWriter) -> None:
        head = "\r\n".join([f"HTTP/1.1 {code} Said", f"content-length: {len(body)}", *headers, "", ""])
        writer.write(head.encode() + body)
        await writer.drain()

    return answer


async def endless(writer: asyncio.StreamWriter) -> None:
    """Send four megabytes without a content length."""
    writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
    for _ in range(64):
        writer.write(b"x" * 65_536)
        await writer.drain()
    writer.close()


async def drip(writer: asyncio.StreamWriter) -> None:
    """Send one byte at a time: no single read takes long."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def got(one: GuardedWeb, url: str) -> Any:
    """Return the fetched document, or the reason why there is none."""
    try:
        return await one.get(url)
    except UrlUnreachable as none:
        return none.reason


async def test_a_file_is_fetched_as_it_was_sent(receiver: Receiver) -> None:
    receiver.answers = [file(b"a\nb"), file(b"x" * MAX_READ_BYTES), file(b"gone", code=404)]
    async with web(allow_private=True) as one:
        assert await got(one, receiver.url) == Fetched(200, b"a\nb")
        assert await got(one, receiver.url) == Fetched(200, b"x" * MAX_READ_BYTES)
        assert await got(one, receiver.url) == Fetched(404, b"gone")
    sent = receiver.got[0].headers
    assert sent["accept-encoding"] == "identity"
    assert not {"cookie", "authorization", "referer"} & sent.keys()


@pytest.mark.parametrize(
    ("answer", "met"),
    [
        (file(b"x" * (MAX_READ_BYTES + 1)), "too_large"),
        (huge, "too_large"),
        (endless, "too_large"),
        (file(gzip.compress(bytes(50_000_000), 1), "content-encoding: gzip"), "compressed"),
        (file(b"x", "content-encoding: br, gzip"), "compressed"),
        (drip, "timeout"),
        (hang, "timeout"),
        (slow_headers, "timeout"),
        (hang_up, "bad_response"),
        (nonsense, "bad_response"),
        (file(b"x", "x: " + "y" * 100_000), "bad_response"),
    ],
)
async def test_a_file_that_is_no_small_plain_file_is_not_read(receiver: Receiver, answer: Any, met: str) -> None:
    receiver.always = answer
    async with web(allow_private=True, timeout_in_seconds=0.3 if met == "timeout" else 10.0) as one:
        tracemalloc.start()
        assert await got(one, receiver.url) == met
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
        tracemalloc.stop()


@pytest.mark.parametrize("code", [301, 302, 307, 308])
async def test_a16_a_redirect_to_the_inside_is_not_followed(receiver: Receiver, code: int) -> None:
    async with Receiver() as inside, web(allow_private=True) as one:
        for target in (inside.url, "http://169.254.169.254/latest/meta-data/"):
            receiver.always = status(code, f"location: {target}")
            assert await got(one, receiver.url) == Fetched(code, b"")
        assert inside.connections == 0
        assert {port for _, port in one.dialled} == {receiver.port}


async def test_a16_a_name_that_leads_inside_is_not_fetched_from_and_rebinding_finds_no_second_look_up() -> None:
    url = f"https://{DOMAIN}/.well-known/service.txt"
    for inside in (
        ["127.0.0.1"],
        [PUBLIC, "10.0.0.1"],
        ["::ffff:169.254.169.254"],
        ["fe80::1%lo"],
        ["64:ff9b::7f00:1"],
    ):
        resolve, _ = answering(inside)
        async with web(resolve=resolve) as one:
            assert await got(one, url) == "blocked_address"
            assert one.dialled == []
    resolve, asked = answering([PUBLIC], ["127.0.0.1"])
    async with web(resolve=resolve) as one:
        assert await got(one, url) == "connection_failed"
        assert (one.dialled, asked) == ([(PUBLIC, 443)], [DOMAIN])
        assert await got(one, url) == "blocked_address"


async def test_a_name_that_hangs_takes_one_agent_its_own_places(hanging: Any) -> None:
    async with web(timeout_in_seconds=0.2) as one:
        met = await asyncio.gather(
            *(one.get(f"https://hangs{n}.example.com/x", "ada") for n in range(5)), return_exceptions=True
        )
        assert sorted(type(error).__name__ for error in met) == [NotAttempted.__name__] + [UrlUnreachable.__name__] * 4


class Elsewhere(GuardedWeb):
    """Connects to another local port instead of 443."""

    def __init__(self, port: int, **given: Any) -> None:
        super().__init__(allow_private=True, **given)
        self.port = port

    async def get(self, url: str, by: str = "") -> Fetched:
        return await super().get(url.replace(".com/", f".com:{self.port}/"), by)


async def registered(market: TestMarket) -> Agent:
    ada = await market.register("Ada")
    await market.call("add_domain", by=ada, domain=DOMAIN)
    return ada


async def test_a_domain_is_proven_over_real_dns_and_tls(market: TestMarket, server: NameServer, tmp_path: Path) -> None:
    ada = await registered(market)
    serving, trusting = certified(DOMAIN, tmp_path)
    resolve, _ = answering(["127.0.0.1"])
    async with Receiver(tls=serving, always=file(b"# us\r\nservice=%s\r\n" % ada.id.encode())) as site:
        sites = Elsewhere(site.port, resolve=resolve, tls=trusting)
        with world_with(market, dns=NameServers([server.place]), web=sites):
            checked = await market.call("verify_domain", by=ada, domain=DOMAIN)
            assert (checked["verified"], checked["method"]) == (True, "https")
            (request,) = site.got
            assert request.path == "/.well-known/service.txt"
            server.answer = saying(f"{{name}} TXT service={ada.id}")
            checked = await market.call("verify_domain", by=ada, domain=DOMAIN)
            assert (checked["verified"], checked["method"], len(site.got)) == (True, "dns", 1)
        await sites.close()


@pytest.mark.parametrize("certificate", ["other.example.com", "nobody's"])
async def test_a_wrong_certificate_proves_nothing(
    market: TestMarket, server: NameServer, tmp_path: Path, certificate: str
) -> None:
    ada = await registered(market)
    serving, trusting = certified(DOMAIN if certificate == "nobody's" else certificate, tmp_path)
    resolve, _ = answering(["127.0.0.1"])
    async with Receiver(tls=serving, always=file(b"service=" + ada.id.encode())) as site:
        sites = Elsewhere(site.port, resolve=resolve, tls=None if certificate == "nobody's" else trusting)
        with world_with(market, dns=NameServers([server.place]), web=sites):
            checked = await market.call("verify_domain", by=ada, domain=DOMAIN)
        await sites.close()
    assert (checked["verified"], checked["check"]) == (False, {"dns_error": "no_record", "https_error": "tls_failed"})
    assert site.got == []


async def test_the_market_does_not_look_for_a_file_of_its_own(market: TestMarket, server: NameServer) -> None:
    own = replace(house(), base_url="https://m.example.com")
    with world_with(market, dns=NameServers([server.place])):
        proof = await look_for_proof(market.market.world, own, "agt_1", "m.example.com")
    assert isinstance(proof, Check)
    assert proof.https_error == "blocked_address"


async def test_no_lookup_is_a_wait_and_not_a_failure(market: TestMarket, server: NameServer) -> None:
    class Crowded:
        async def get(self, url: str, by: str) -> Fetched:
            raise NotAttempted

    ada = await registered(market)
    with world_with(market, dns=NameServers([server.place]), web=Crowded()):
        error = await market.refusal("verify_domain", by=ada, domain=DOMAIN)
    assert (error["code"], error["details"]) == ("overloaded", {"retry_after_seconds": 5})
