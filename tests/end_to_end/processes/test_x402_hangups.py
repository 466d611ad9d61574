"""Clients that disconnect before delivery: nothing is settled without them, and a repeat gets the ordered work."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable

import httpx
import orjson
import pytest

from tests.end_to_end.processes.test_x402_facilitators import check_paid, node, till
from tests.end_to_end.processes.till import Bought, Till, outcome
from tests.support.trade import PRICE

__all__ = ["node", "till"]
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset instead of a FIN
LONGER_SECONDS = 3.0  # longer than any remaining work takes

Leaves = Callable[[Till, Bought], Awaitable[None]]


async def after_a_second(till: Till, one: Bought) -> None:
    """Disconnect after a second, like a client with a short timeout, when the order is open."""
    call = till.begin(one)
    await till.job_of(one, "open")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call, timeout=1.0)


async def sent(till: Till, one: Bought) -> socket.socket:
    """Return a connection that has sent the request, when the order is open."""
    body, path = orjson.dumps(one.given), f"/v1/x402/{till.listing['id']}"
    host = httpx.URL(till.market.urls[0]).netloc
    head = [b"POST %s HTTP/1.1" % path.encode(), b"Host: " + host, b"PAYMENT-SIGNATURE: " + one.pay.encode()]
    whole = b"\r\n".join([*head, b"Content-Length: %d" % len(body), b"", body])
    name, port = host.decode().split(":")
    wire = await asyncio.to_thread(socket.create_connection, (name, int(port)), 10)
    await asyncio.to_thread(wire.sendall, whole)
    await till.job_of(one, "open")
    return wire


async def with_a_goodbye(till: Till, one: Bought) -> None:
    (await sent(till, one)).close()


async def with_a_reset(till: Till, one: Bought) -> None:
    wire = await sent(till, one)
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    wire.close()


@pytest.mark.parametrize("leaves", [after_a_second, with_a_goodbye, with_a_reset])
async def test_a_client_that_has_gone_is_charged_nothing_until_it_comes_back(till: Till, leaves: Leaves) -> None:
    one = await till.signed()
    await leaves(till, one)
    await till.work(one)
    await asyncio.sleep(LONGER_SECONDS)
    job, row = await till.job_of(one), await till.row_of(one)
    assert (row["status"], job["status"], till.held(one.wallet)) == ("working", "delivered", PRICE)
    assert till.between.bodies[one.wallet.address] == []
    await check_paid(till, one, posts=1)


async def test_a_client_that_comes_back_while_it_is_worked_on_waits_for_the_work(till: Till) -> None:
    one = await till.signed()
    await after_a_second(till, one)
    back = till.begin(one)
    await till.work(one)
    assert outcome(await back) == (200, None)
    await check_paid(till, one, posts=1)


async def test_a_client_that_leaves_while_the_facilitator_has_it_is_told_when_it_comes_back(till: Till) -> None:
    one = await till.signed("late")
    wire = await sent(till, one)
    await till.work(one)
    await till.row_of(one, "settling")
    wire.close()
    await asyncio.sleep(0.5)
    till.between.go_on.set()
    await till.job_of(one, "completed")  # without another request
    await check_paid(till, one, posts=1)
