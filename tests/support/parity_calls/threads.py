"""Messages between the parties of a job, and the inbox of one of them."""

from tests.support.parity_calls import Script


async def run(say: Script) -> None:
    seller, buyer = say.seller, say.buyer
    said = await say("start_thread", buyer, to="sela", body="Do you take longer texts?", data={"words": [1, 2.5, None]})
    await say("start_thread", buyer, to="bo", body="Do I?")
    await say("start_thread", buyer, to="nobody", body="")
    ref = {"thread_id": said["thread"]["id"]}
    message = await say("post_message", seller, **ref, body="Up to 100 characters.\nMore on request.")
    await say("post_message", seller, **ref, body=f"Use my key {seller}.")
    await say("list_messages", buyer, **ref, order="desc", limit=1)
    await say("list_messages", buyer, thread_id="thr_1")
    await say("list_threads", seller, limit=1)
    await say("list_threads", seller, kind="loud")
    await say("get_inbox", seller)
    await say("get_inbox")
    await say("mark_thread_read", buyer, **ref, up_to_message_id=message["id"])
    await say("mark_thread_read", buyer, **ref, up_to_message_id="msg_1")
    await say("get_thread", buyer, **ref)
    await say("get_thread", buyer, thread_id="thr_1")
