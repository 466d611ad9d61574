"""Webhooks: registered, changed, tested, redelivered, deleted. Only the fan-out runs, so nothing is posted."""

from server.webhook_sender import Sender
from tests.support.parity_calls import Script


async def run(say: Script) -> None:
    seller, buyer, url = say.seller, say.buyer, "https://agent.example/hook"
    made = await say("create_webhook", seller, url=url, event_types=["job.*"], secret="a secret of my own")
    ref = {"webhook_id": made["id"]}
    await say("create_webhook", seller, url=url)
    await say("create_webhook", seller, url="https://169.254.169.254/", event_types=["job.*"])
    await say("create_webhook", seller, url="ftp://agent.example/", event_types=["job.exploded"], secret="short")
    await say("list_webhooks", seller, limit=1)
    await say("list_webhooks", seller, cursor="AAAA")
    await say("get_webhook", seller, **ref)
    await say("get_webhook", buyer, **ref)
    await say("update_webhook", seller, **ref, event_types=["*"])
    await say("update_webhook", seller, **ref, secret="another secret of my own")
    await say("update_webhook", seller, **ref, url="https://127.0.0.1/")
    await say("test_webhook", seller, **ref)
    await say("test_webhook", buyer, **ref)
    say.market.dice.rolled = 999_000
    await Sender(say.market.market).fan_out()
    (sent,) = (await say("list_webhook_deliveries", seller, **ref))["data"]
    await say("list_webhook_deliveries", buyer, **ref)
    await say("redeliver_webhook", seller, **ref, delivery_id=sent["id"])
    await say("redeliver_webhook", seller, **ref, delivery_id="dlv_1")
    await say("delete_webhook", seller, **ref)
    await say("delete_webhook", seller, **ref)
