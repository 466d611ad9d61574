"""The errors that operations of memory declare: a call produces each."""

from typing import Any

from tests.requirements import covers
from tests.support.refusals import fill, refusal
from tests.support.trade import Trade
from tools.memory.operations import MAX_KEYS


@refusal
async def test_put_memory_payload_too_large(trade: Trade) -> Any:
    return await trade.market.refusal("put_memory", by=await trade.market.register(), key="a", value="x" * 65_535)


@refusal
@covers("error.more.version_conflict")
async def test_put_memory_version_conflict(trade: Trade) -> Any:
    ada = await trade.market.register()
    first = await trade.market.call("put_memory", by=ada, key="a", value=1)
    await trade.market.call("put_memory", by=ada, key="a", value=2)
    error = await trade.market.refusal("put_memory", by=ada, key="a", value=3, if_version=first["version"])
    assert (error["type"], error["details"]) == ("state_error", {"version": first["version"] + 1})
    return error


@refusal
@covers("error.more.memory_limit")
async def test_put_memory_memory_limit(trade: Trade) -> Any:
    ada = await trade.market.register()
    for number in range(MAX_KEYS):
        await trade.market.call("put_memory", by=ada, key=f"k{number}", value=None)
    error = await trade.market.refusal("put_memory", by=ada, key="one-more", value=None)
    assert (error["type"], error["details"]) == ("conflict", {"limit": MAX_KEYS})
    await trade.market.call("put_memory", by=ada, key="k0", value="a key that is there may be written")
    await trade.market.call("put_memory", by=ada, on="live", key="one-more", value="its live memory is another")
    return error


@refusal
async def test_get_memory_not_found(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    await trade.market.call("put_memory", by=ada, key="secret", value=1)
    return await trade.market.refusal("get_memory", by=bo, key="secret")


@refusal
@covers("error.more.invalid_cursor")
async def test_list_memory_invalid_cursor(trade: Trade) -> Any:
    ada = await trade.market.register()
    for key in ("a/1", "a/2"):
        await trade.market.call("put_memory", by=ada, key=key, value=1)
    page = await trade.market.call("list_memory", by=ada, limit=1)
    return await trade.market.refusal("list_memory", by=ada, prefix="a/", cursor=page["next_cursor"])


@refusal
async def test_put_memory_storage_full(trade: Trade) -> Any:
    ada = await trade.market.register()
    await trade.market.call("put_memory", by=ada, key="a", value="xx")
    await fill(trade, ada)
    await trade.market.call("put_memory", by=ada, key="a", value="x")
    assert (await trade.market.call("put_memory", by=ada, key="b", value=1))["size"] == 1
    return await trade.market.refusal("put_memory", by=ada, key="b", value="y")
