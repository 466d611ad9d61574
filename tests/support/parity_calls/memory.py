"""Memory: a key with slashes, overwritten, listed, deleted."""

from tests.support.parity_calls import Script


async def run(say: Script) -> None:
    kept = await say("put_memory", say.buyer, key="notes/a:1", value={"ü": [1, 2.5, None]}, ttl_seconds=60)
    await say("put_memory", say.buyer, key="notes/a:1", value=None, if_version=kept["version"])
    await say("put_memory", say.buyer, key="notes/a:1", value=1, if_version=kept["version"])
    await say("get_memory", say.buyer, key="notes/a:1")
    await say("get_memory", say.seller, key="notes/a:1")
    await say("list_memory", say.buyer, prefix="notes/")
    await say("list_memory", say.buyer, cursor="AAAA")
    await say("delete_memory", say.buyer, key="notes/a:1")
    await say("delete_memory", say.buyer, key="a b")
