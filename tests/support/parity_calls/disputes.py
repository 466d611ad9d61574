"""A dispute from the offer to judge to the verdict, and a withdrawn one."""

from tests.support.parity_calls import Script
from tests.support.parity_calls.moves import order

NOBODY = "dsp_" + "0" * 26


async def run(say: Script) -> None:
    judge = (await say("register_agent", name="Jo Judge"))["api_keys"]["test"]
    await say("get_evaluator", judge)
    await say("get_evaluator")
    await say("set_evaluator", judge, enabled=True, categories=["Text", "code"])
    await say("set_evaluator", judge, enabled="yes")
    decided, withdrawn = await disputed(say), await disputed(say)
    await say("get_dispute", judge, dispute_id=decided)
    await say("get_dispute", judge, dispute_id=NOBODY)
    await say("get_inbox", judge)
    await say("submit_verdict", judge, dispute_id=NOBODY, outcome="buyer", rationale="It is night.")
    await say("submit_verdict", judge, dispute_id=decided, outcome="buyer", rationale="It is night.")
    await say("submit_verdict", judge, dispute_id=decided, outcome="seller", rationale="It is day.")
    await say("withdraw_dispute", say.buyer, dispute_id=decided)
    await say("withdraw_dispute", say.buyer, dispute_id=withdrawn)
    for who in (judge, say.buyer, say.seller):
        await say("list_disputes", who)
        await say("get_dispute", who, dispute_id=decided)
    await say("list_disputes", judge, role="owner")
    await say("set_evaluator", judge, enabled=False)


async def disputed(say: Script) -> str:
    job = await order(say, price=0)
    await say("accept_job", say.seller, **job)
    await say("deliver_job", say.seller, **job, output={"english": "night"})
    made = await say("dispute_job", say.buyer, **job, reason="It is night.")
    return str(made["dispute_id"])
