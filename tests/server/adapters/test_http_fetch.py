"""The guarded web client on real sockets: the addresses dialled, the answers accepted, hostile receivers."""

import asyncio
import gzip
import socket
import ssl
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from server.adapters.web import LOOK_UPS, LOOK_UPS_OF_ONE, MAX_READ_BYTES, AddrInfo, GuardedWeb
from tests.support.http_receiver import Receiver, hang, hang_up, huge, nonsense, slow_headers, status
from tools.engine.ports import Reply
from tools.kernel.ssrf_guard import NotAttempted, UrlUnreachable

PUBLIC = "93.184.216.34"
NAMED = "https://hook.example/in"


class Watched(GuardedWeb):
    """Records every address dialled; public addresses are not reached from a test."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.dialled: list[tuple[str, int]] = []

    def open_socket(self, info: AddrInfo) -> socket.socket:
        made = super().open_socket(info)
        self.dialled.append(info[4][:2])
        if info[4][0] == PUBLIC:
            made.close()
            raise ConnectionRefusedError("no test goes there")
        return made


def answering(*answers: list[str]) -> tuple[Callable[[str, int], Any], list[str]]:
    """Return a resolver that gives these answers in turn, and the list of requested names."""
    left, asked = list(answers), list[str]()

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return left.pop(0) if len(left) > 1 else left[0]

    return resolve, asked


@asynccontextmanager
async def web(**given: Any) -> AsyncIterator[Watched]:
    made = Watched(**given)
    yield made
    await made.close()


async def unreached(one: GuardedWeb, url: str) -> str:
    with pytest.raises(UrlUnreachable) as caught:
        await one.post(url, b"{}", {})
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    return caught.value.reason


async def test_an_answer_is_its_status_and_when_to_come_again(receiver: Receiver) -> None:
    receiver.answers = [status(204), status(429, "Retry-After: 7")]
    async with web(allow_private=True) as one:
        assert await one.post(receiver.url, b'{"a":1}', {"X-A": "b"}) == Reply(204)
        assert await one.post(receiver.url, b"{}", {}) == Reply(429, "7")
    first = receiver.got[0]
    assert (first.path, first.raw, first.headers["x-a"]) == ("/hook", b'{"a":1}', "b")
    assert not {"accept-encoding", "cookie", "authorization"} & first.headers.keys()
    assert receiver.connections == 1


async def test_a16_a_name_that_answers_public_first_and_loopback_then_is_dialled_once_at_the_public_address() -> None:
    resolve, asked = answering([PUBLIC], ["127.0.0.1"])
    async with web(resolve=resolve) as one:
        assert await unreached(one, NAMED) == "connection_failed"
        assert (one.dialled, asked) == ([(PUBLIC, 443)], ["hook.example"])
        assert await unreached(one, NAMED) == "blocked_address"
        assert (one.dialled, asked) == ([(PUBLIC, 443)], ["hook.example"] * 2)


@pytest.mark.parametrize(
    "answer",
    [[PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC], ["::ffff:127.0.0.1"], ["169.254.169.254"], ["fe80::1%lo"], []],
)
async def test_a16_one_answer_inside_refuses_all(answer: list[str]) -> None:
    resolve, _ = answering(answer)
    async with web(resolve=resolve) as one:
        assert await unreached(one, NAMED) == "blocked_address"
        assert one.dialled == []


async def test_a16_a_name_that_changes_is_asked_again_for_each_connection(receiver: Receiver) -> None:
    resolve, asked = answering(["127.0.0.1"], ["127.0.0.2"])
    url = receiver.url.replace("127.0.0.1", "localhost")
    receiver.always = status(200, "connection: close")
    async with web(allow_private=True, resolve=resolve) as one:
        assert await one.post(url, b"{}", {}) == Reply(200)
        assert await unreached(one, url) == "connection_failed"
        assert one.dialled == [("127.0.0.1", receiver.port), ("127.0.0.2", receiver.port)]
    assert asked == ["localhost"] * 2


async def test_a16_the_socket_itself_refuses_what_no_resolver_saw() -> None:
    async with web() as one:
        for place in (("127.0.0.1", 443), (PUBLIC, 80), ("::1", 443, 0, 0)):
            with pytest.raises(OSError, match="the socket"):
                one.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", place))
        assert one.dialled == []


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/", "https://127.0.0.1/", "https://[::1]/", "ftp://hook.example/", "x"]
)
async def test_an_url_is_judged_again_when_it_is_called(url: str) -> None:
    async with web() as one:
        assert await unreached(one, url) == "blocked_address"
        assert one.dialled == []


async def test_a_redirect_is_an_answer_and_is_not_followed(receiver: Receiver) -> None:
    async with Receiver() as inside, web(allow_private=True) as one:
        receiver.always = status(307, f"location: {inside.url}")
        assert await one.post(receiver.url, b"{}", {}) == Reply(307)
        assert inside.connections == 0


async def test_a_gigabyte_is_not_read(receiver: Receiver) -> None:
    receiver.always = huge
    async with web(allow_private=True) as one:
        assert await one.post(receiver.url, b"{}", {}) == Reply(200)
        assert await one.post(receiver.url, b"{}", {}) == Reply(200)
    assert receiver.connections == 2, "what was not read to its end is not used again"
    assert MAX_READ_BYTES == 65_536


async def test_a_compressed_bomb_is_not_unpacked(receiver: Receiver) -> None:
    bomb = gzip.compress(bytes(50_000_000))

    async def answer(writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(bomb)}\r\n\r\n"
        writer.write(head.encode() + bomb)
        await writer.drain()

    receiver.always = answer
    async with web(allow_private=True) as one:
        tracemalloc.start()
        assert await one.post(receiver.url, b"{}", {}) == Reply(200)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(hang, "timeout"), (slow_headers, "timeout"), (hang_up, "bad_response"), (nonsense, "bad_response")],
)
async def test_receivers_that_do_not_answer_are_unreached_in_one_word(
    receiver: Receiver, answer: Any, reason: str
) -> None:
    receiver.always = answer
    async with web(allow_private=True, timeout_in_seconds=0.3 if reason == "timeout" else 10.0) as one:
        assert await unreached(one, receiver.url) == reason
    assert len(receiver.got) == 1, "a fresh connection that is cut is not tried twice"


async def test_a_connection_closed_while_it_rested_is_replaced_within_the_attempt(receiver: Receiver) -> None:
    async with web(allow_private=True) as one:
        assert await one.post(receiver.url, b"{}", {}) == Reply(200)
        receiver.answers = [hang_up]
        assert await one.post(receiver.url, b"{}", {}) == Reply(200)
    assert receiver.connections == 2


async def test_nobody_listens_and_nobody_is_named_so() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/"
        async with web(allow_private=True) as one:
            assert await unreached(one, url) == "connection_failed"

    async def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    async with web(resolve=unknown) as one:
        assert await unreached(one, NAMED) == "name_not_found"


async def test_a_resolver_that_hangs_is_a_timeout() -> None:
    async def never(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    async with web(resolve=never, timeout_in_seconds=0.2) as one:
        assert await unreached(one, NAMED) == "timeout"


async def ended(one: GuardedWeb, url: str, by: str) -> Any:
    """Return the status of the answer, or the reason why there is none."""
    try:
        return (await one.post(url, b"{}", {}, by)).status
    except UrlUnreachable as unreached:
        return unreached.reason
    except NotAttempted:
        return "not tried"


async def test_names_that_hang_take_a_few_look_ups_of_one_agent_and_none_of_others(
    receiver: Receiver, hanging: Event
) -> None:
    url = receiver.url.replace("127.0.0.1", "localhost")
    receiver.always = status(200, "connection: close")
    async with web(allow_private=True, timeout_in_seconds=0.3) as one:

        async def hang_for(by: str) -> Counter[Any]:
            asked = (ended(one, f"https://hangs{n}.example/", by) for n in range(LOOK_UPS_OF_ONE + 1))
            return Counter(await asyncio.gather(*asked))

        assert await hang_for("ada") == {"timeout": LOOK_UPS_OF_ONE, "not tried": 1}
        assert [await ended(one, url, by) for by in ("ada", "bo")] == ["not tried", 200]
        others = [str(n) for n in range(LOOK_UPS // LOOK_UPS_OF_ONE - 1)]
        await asyncio.gather(*(hang_for(by) for by in others))
        assert await ended(one, url, "bo") == "not tried", "which is no failure of the receiver's"
        hanging.set()
        async with asyncio.timeout(20):
            last = "not tried"
            while last == "not tried":
                last = await ended(one, url, "bo")
        assert last == 200


async def test_no_proxy_of_the_environment_is_asked(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Receiver() as proxy, web(allow_private=True) as one:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert await one.post(receiver.url, b"{}", {}) == Reply(200)
        assert proxy.connections == 0


async def test_the_system_resolver_is_asked_where_none_is_given(receiver: Receiver) -> None:
    async with web(allow_private=True) as one:
        assert await one.post(receiver.url.replace("127.0.0.1", "localhost"), b"{}", {}) == Reply(200)
        assert one.dialled[-1] == ("127.0.0.1", receiver.port)


async def test_tls_is_checked_against_the_name_though_the_address_is_dialled(tmp_path: Path) -> None:
    serving, trusting = certified("hook.example", tmp_path)
    resolve, _ = answering(["127.0.0.1"])
    async with Receiver(tls=serving) as receiver, web(allow_private=True, resolve=resolve, tls=trusting) as one:
        assert await one.post(f"https://hook.example:{receiver.port}/in", b"{}", {}) == Reply(200)
        assert receiver.got[0].headers["host"] == f"hook.example:{receiver.port}"
        assert await unreached(one, f"https://other.example:{receiver.port}/in") == "tls_failed"
        assert len(receiver.got) == 1
    async with Receiver(tls=serving) as receiver, web(allow_private=True, resolve=resolve) as one:
        assert await unreached(one, f"https://hook.example:{receiver.port}/in") == "tls_failed"


def certified(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make TLS contexts for a server of this name and for a client that trusts its issuer."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)  # noqa: TID251 - a certificate's
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "tls.pem").write_bytes(pem + private)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(folder / "tls.pem")
    return serving, ssl.create_default_context(cadata=pem.decode())
