"""Receipts of the served market are verified offline, and changed ones refused."""

from copy import deepcopy
from typing import Any

import pytest
from client_market import Clerk, eventually

from emporion_client import Market, WrongSignature
from emporion_client.paying import pay
from emporion_client.purchase import begun
from emporion_client.receipts import is_revealed, verified_receipt
from emporion_client.transport import drive


def test_a_receipt_is_verified_and_a_changed_one_refused(buyer: Market, clerk: Clerk) -> None:
    bought = buyer.buy(clerk.listing("count"), {"text": "one two"}, "0.01")
    signed: Any = buyer.get_receipt(job_id=bought.id)
    keys: Any = buyer.get_platform_keys()
    assert verified_receipt(signed, keys)["settlements"][0]["transaction"] == bought.transaction
    for path, value in (
        (("receipt", "job_id"), "job_x"),
        (("signature", "sig"), "00" * 64),
        (("signature", "sig"), "zz"),
    ):
        changed = deepcopy(signed)
        changed[path[0]][path[1]] = value
        with pytest.raises(WrongSignature):
            verified_receipt(changed, keys)
    with pytest.raises(WrongSignature):
        verified_receipt(signed, {"keys": []})


def test_a_revealed_output_is_compared_with_the_sealed_one(buyer: Market, clerk: Clerk) -> None:
    hired = buyer.hire(listing_id=clerk.listing("count"), input={"text": "one two"})
    sealed = eventually(lambda: (job := buyer.get_job(job_id=hired["job"]["id"]))["output_sealed"] and job)
    assert sealed["output"] is None
    with begun(buyer.account, {"job": sealed["id"]}, None) as purchase:
        purchase.job_id = sealed["id"]
        job = drive(buyer.http, pay(buyer.account, purchase, None, 10_000, 0))
    assert job["output"] == {"words": 2}
    assert is_revealed(sealed, job)
    assert not is_revealed(sealed, job | {"output": {"words": 3}})
    assert not is_revealed(sealed, job | {"output_salt": "no"})
    assert not is_revealed(sealed | {"output_commitment": "sha256:" + "0" * 64}, job)
