"""The desk of a sandbox and all child processes end with their market, however it ends."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from emporion_client.home import Home
from tests.end_to_end.processes.test_demo import environment, free_ports
from tests.server.desk.test_model_services import ORDERS, SCHEMA
from tests.server.sandbox.test_process import has_ended, wait_for
from tests.support.commands import Started, start
from tests.support.desk_buyer import Buyer
from tests.support.http_receiver import Receiver, hang
from tests.support.model_answers import ARTICLE, page

GONE_SECONDS = 60.0


@contextmanager
def spawned(own: dict[str, str]) -> Iterator[tuple[Started, list[psutil.Process]]]:
    """Run `serve --sandbox --desk`; give an empty list for its child processes.

    Those still running at the end are killed.
    """
    serving = start(["serve", "--sandbox", "--desk"], own, new_session=True)
    begun: list[psutil.Process] = []
    try:
        assert serving.stdout is not None
        while b"The desk is open" not in (said := serving.stdout.readline()):
            assert said, "it ended"
        yield serving, begun
    finally:
        for one in begun:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        serving.kill()
        serving.communicate()


async def work(buyer: Buyer, site: Receiver, endpoint: Receiver) -> None:
    """Make the desk check a document, read a page and wait for a model.

    Then all its processes run.
    """
    listings = await buyer.listings(at_least=6)
    for name, given in (("validate-json", {"schema": SCHEMA, "data": {}}), ("extract-web", {"url": site.url})):
        await buyer.until(await buyer.order(listings[name]["id"], given), "delivered")
    await buyer.order(listings["translate"]["id"], dict(ORDERS["translate"][0].input))
    async with asyncio.timeout(GONE_SECONDS):
        await endpoint.has(1)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
async def test_whoever_ends_the_market_ends_its_desk(tmp_path: Path, how: signal.Signals) -> None:
    async with Receiver() as endpoint, Receiver() as site:
        endpoint.always, site.always = hang, page(ARTICLE)
        with free_ports(2) as ports:
            own = environment(tmp_path, ports)
        own |= {"EMPORION_DESK_LLM_URL": f"http://127.0.0.1:{endpoint.port}/v1", "EMPORION_DESK_LLM_MODEL": "m-1"}
        with spawned(own) as (serving, begun):
            async with Buyer(f"http://127.0.0.1:{ports[0]}", tmp_path / "buyer") as buyer:
                await work(buyer, site, endpoint)
            begun += psutil.Process(serving.pid).children(recursive=True)
            words = [" ".join(one.cmdline()) for one in begun]
            serving.send_signal(how)
            await asyncio.to_thread(serving.wait, GONE_SECONDS)
            await asyncio.to_thread(wait_for, lambda: all(has_ended(one.pid) for one in begun), GONE_SECONDS)
            left = [said for one, said in zip(begun, words, strict=True) if not has_ended(one.pid)]
    for part in ("desk run", "server.sandbox", "server.adapters.checker"):
        assert any(part in one for one in words), f"{part} was never begun"
    assert left == []
    with closing(Home(tmp_path / "desk-test")) as home, home.lock("seller"):
        """No process sells with the desk's keys, so the next market's desk can."""
