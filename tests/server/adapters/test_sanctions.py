"""Sanctions lists: several files and URLs, reloaded when they change; an unreadable list keeps the last good one."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from eth_account import Account

from server.adapters import sanctions
from server.adapters.sanctions import MAX_BYTES, RETRY_SECONDS, BadList, SanctionsLists, addresses_in
from server.settings import BadSettings, read_settings
from tests.requirements import covers
from tests.support.market import TestMarket
from tests.tools.wallets.test_operations import signed
from tools.engine.ports import Screening

ONE, TWO, THREE = (f"0x{digit * 40}" for digit in "aBc")
SIX_HOURS = 6 * 3600


@dataclass
class Mirror:
    """A server of a list, or of something else."""

    url: str = ""
    status: int = 200
    body: bytes = b""
    heads: list[str] = field(default_factory=list)
    promised: int | None = None  # a false Content-Length
    asked: int = 0


@asynccontextmanager
async def mirror() -> AsyncIterator[Mirror]:
    made = Mirror()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        made.asked += 1
        length = len(made.body) if made.promised is None else made.promised
        head = [f"HTTP/1.1 {made.status} Said", f"content-length: {length}", "connection: close", *made.heads]
        writer.write("\r\n".join([*head, "", ""]).encode() + made.body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/list?key=secret"
    async with server:
        yield made


@dataclass
class Ticking:
    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.mark.parametrize(
    "text",
    [
        f"# addresses\n{ONE}\n{TWO.lower()}  # a note with {THREE}\n",
        f'["{ONE}", "{TWO}"]',
        f'{{"sdn": [{{"eth": "{ONE}"}}, {{"eth": "{TWO}"}}]}}',
        f"name,address\r\nx,{ONE}\r\ny,{TWO}\r\n",
        f"<list><id>{ONE}</id><id>{TWO}</id></list>",
    ],
)
def test_a_list_is_read_in_whatever_form_it_comes(text: str) -> None:
    assert addresses_in(text) == {ONE.lower(), TWO.lower()}


@pytest.mark.parametrize("text", ["<html>Not found</html>", f'["{ONE}", "', "0xabc", ONE + "a", "[null]"])
def test_what_holds_no_address_or_half_a_document_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match=r"address|Unterminated|Expecting|Invalid"):
        addresses_in(text)


def test_an_empty_list_is_one() -> None:
    assert addresses_in("") == addresses_in("[]\n") == frozenset()


async def test_several_lists_are_one_union(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(ONE)
    (tmp_path / "b").write_text(f"{ONE}\n{TWO}")
    async with mirror() as web:
        web.body = THREE.encode()
        lists = SanctionsLists((tmp_path / "a", tmp_path / "b"), (web.url,), tmp_path)
        assert [lists.names(one) for one in (ONE, TWO.lower(), THREE)] == [True, True, False]
        await lists.refresh()
        assert [lists.names(one) for one in (ONE, TWO, THREE.upper().replace("X", "x"))] == [True, True, True]
        state = lists.state()
        assert isinstance(state, Screening)
        assert state.addresses == 3


async def test_a_file_is_read_again_when_it_changes_and_kept_when_it_breaks(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(ONE)
    lists = SanctionsLists((path,), (), tmp_path)
    path.write_text(f"{ONE}\n{TWO}")
    await lists.refresh()
    assert lists.names(TWO)
    path.write_text("the disk is broken")
    await lists.refresh()
    assert lists.names(TWO)
    path.unlink()
    await lists.refresh()
    assert lists.names(TWO)


async def test_a_url_is_asked_every_six_hours_and_sooner_after_a_failure(tmp_path: Path) -> None:
    clock = Ticking()
    async with mirror() as web:
        web.body = ONE.encode()
        lists = SanctionsLists((), (web.url,), tmp_path, clock)
        assert lists.state() is None  # payments are allowed until a list is loaded
        await lists.refresh()
        await lists.refresh()
        assert (web.asked, lists.names(ONE)) == (1, True)
        clock.seconds = SIX_HOURS - 1
        await lists.refresh()
        assert web.asked == 1
        clock.seconds, web.status = SIX_HOURS, 503
        await lists.refresh()
        await lists.refresh()
        assert (web.asked, lists.names(ONE)) == (2, True)
        clock.seconds, web.status, web.body = SIX_HOURS + RETRY_SECONDS, 200, TWO.encode()
        await lists.refresh()
        assert (web.asked, lists.names(ONE), lists.names(TWO)) == (3, False, True)


@pytest.mark.parametrize(
    "broken",
    [
        {"status": 404},
        {"status": 302, "heads": ["location: http://127.0.0.1:9/"]},
        {"body": b"<html>moved</html>"},
        {"body": b"# maintenance"},
        {"body": b""},
        {"body": b"\xff\xfe"},
        {"body": f'["{TWO}"'.encode()},
        {"body": TWO.encode(), "promised": 5000},
        {"body": TWO.encode() + b"\n" * MAX_BYTES},
    ],
    ids=["gone", "to nowhere", "a page", "a remark", "nothing", "no text", "half a document", "cut short", "too much"],
)
async def test_what_a_url_answers_badly_leaves_the_last_good_list(tmp_path: Path, broken: dict[str, object]) -> None:
    clock = Ticking()
    async with mirror() as web:
        web.body = ONE.encode()
        lists = SanctionsLists((), (web.url,), tmp_path, clock)
        await lists.refresh()
        for name, value in broken.items():
            setattr(web, name, value)
        clock.seconds = SIX_HOURS
        await lists.refresh()
        assert (web.asked, lists.names(ONE), lists.names(TWO)) == (2, True, False)


async def test_a_list_is_parsed_once_and_lists_are_counted_once_both_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    parse = sanctions.addresses_in
    monkeypatch.setattr(
        sanctions, "addresses_in", lambda text: threads.append(threading.current_thread()) or parse(text)
    )
    (tmp_path / "a").write_text("")
    async with mirror() as web:
        web.body = ONE.encode()
        lists = SanctionsLists((tmp_path / "a",), (web.url,), tmp_path)
        threads.clear()
        (tmp_path / "a").write_text(f"{ONE}\n{TWO}")
        await lists.refresh()
        await lists.refresh()
    assert len(threads) == 2
    assert threading.main_thread() not in threads
    counted = lists._counted
    assert [lists.state(), lists.state()] == [Screening(2, lists.sources[1].updated_at)] * 2  # type: ignore[arg-type]
    assert lists._counted is counted


async def test_what_was_fetched_last_is_in_force_after_a_restart_while_the_place_is_down(tmp_path: Path) -> None:
    async with mirror() as web:
        web.body = ONE.encode()
        await SanctionsLists((), (web.url,), tmp_path).refresh()
    again = SanctionsLists((), (web.url,), tmp_path)
    assert again.names(ONE)
    await again.refresh()
    assert again.names(ONE)
    assert SanctionsLists((), ("http://127.0.0.1:9/another",), tmp_path).state() is None


def test_a_file_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(BadList, match="none"):
        SanctionsLists((tmp_path / "none",), (), tmp_path)


def test_settings_take_files_and_urls() -> None:
    found = read_settings(_env_file=None, sanctions_lists="lists/a.txt, https://lists.example/sdn.json?x=1")
    assert found.sanctions_files == (Path("lists/a.txt"),)
    assert found.sanctions_urls == ("https://lists.example/sdn.json?x=1",)
    with pytest.raises(BadSettings, match="EMPORION_SANCTIONS_LISTS"):
        read_settings(_env_file=None, sanctions_lists="ftp://lists.example/sdn")


@covers("invariant.7.at_binding")
async def test_a_wallet_that_a_fetched_list_names_is_not_bound(market: TestMarket, tmp_path: Path) -> None:
    ada, wallet = await market.register("Ada"), Account.create()
    async with mirror() as web:
        web.body = wallet.address.encode()
        lists = SanctionsLists((), (web.url,), tmp_path)
        await lists.refresh()
    await market.workers.check_health()
    market.market.world = replace(market.market.world, sanctions=lists)
    text = f"service:wallet:{ada.id}:{wallet.address.lower()}"
    error = await market.refusal("set_wallet_address", by=ada, address=wallet.address, signature=signed(wallet, text))
    assert error["code"] == "address_sanctioned"
    assert (await market.call("get_health"))["sanctions"]["addresses"] == 1
