"""Whole trades over REST with real transfers on a chain in this process: order, work, pay, take and review."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import count, repeat
from threading import local
from typing import Any

from eth_account import Account

from benchmarks import shots
from benchmarks.data import Seeded
from benchmarks.processes import Child
from tests.support.evm import Evm

BASE_CHAIN = 8453  # the seeded market trades in the environment `live`
IN_FLIGHT = 8
DONE = "It is done, and here it stands."
REVIEW = {"rating": 5, "comment": "Exact and quick."}
OPEN, DELIVERED, COMPLETED = "open", "delivered", "completed"
Call = tuple[str, str, Any]  # a key, a path, a body


def chain_settings(evm: Evm) -> dict[str, str]:
    return {"EMPORION_LIVE_RPC_URL": evm.url, "EMPORION_LIVE_CONFIRMATIONS": "1"}


class Trades:
    """Trades between the seeded agents on one server.

    `spent` has the server's CPU seconds of each step.
    """

    def __init__(self, child: Child, data: Seeded, evm: Evm) -> None:
        self.child, self.data, self.evm = child, data, evm
        self.spent: dict[str, float] = defaultdict(float)
        self.lines, self.inputs = local(), count()

    def run(self, orders: Sequence[tuple[str, str]], until: str = COMPLETED) -> list[str]:
        """Trade these (buyer's key, listing) pairs; return the ids of the jobs."""
        buyers = [key for key, _ in orders]
        sellers = [self.data.sellers[listing].key for _, listing in orders]
        asked = [(key, "/v1/jobs", {"listing_id": listing, "input": self._input()}) for key, listing in orders]
        jobs = [job["id"] for job in self._step("order", asked)]
        if until == OPEN:
            return jobs
        self._step("accept", self._calls(sellers, jobs, "accept"))
        outputs = [{"output": {"text": f"{DONE} {next(self.inputs)}"}} for _ in jobs]  # no id: a copy keeps its hash
        self._step("deliver", self._calls(sellers, jobs, "deliver", outputs))
        if until == DELIVERED:
            return jobs
        terms = self._step("terms", self._calls(buyers, jobs, "pay", repeat({})))
        sent = [self._transfer(key, term) for key, term in zip(buyers, terms, strict=True)]
        proofs = [
            (key, f"/v1/jobs/{job}/pay", {"transaction": tx}) for key, job, tx in zip(buyers, jobs, sent, strict=True)
        ]
        self._step("pay", proofs)
        self._step("take", self._calls(buyers, jobs, "accept"))
        self._step("review", self._calls(buyers, jobs, "reviews", repeat(REVIEW)))
        return jobs

    def _input(self) -> Any:
        return shots.ORDERED | {"number": next(self.inputs)}

    def _calls(
        self, keys: Iterable[str], jobs: Iterable[str], action: str, bodies: Iterable[Any] = repeat(None)
    ) -> list[Call]:
        return [(key, f"/v1/jobs/{job}/{action}", body) for key, job, body in zip(keys, jobs, bodies, strict=False)]

    def _step(self, name: str, calls: Sequence[Call]) -> list[Any]:
        """Send these calls, some in flight; add the server's CPU to the step."""
        began = self.child.cpu_seconds()
        with ThreadPoolExecutor(IN_FLIGHT) as threads:
            answers = list(threads.map(self._post, calls))
        self.spent[name] += self.child.cpu_seconds() - began
        return answers

    def _post(self, call: Call) -> Any:
        key, path, body = call
        if not hasattr(self.lines, "wire"):
            self.lines.wire = HTTPConnection("127.0.0.1", self.child.port, timeout=60)
        headers = {"X-API-Key": key} | ({} if body is None else {"Content-Type": "application/json"})
        self.lines.wire.request("POST", path, None if body is None else json.dumps(body), headers)
        response = self.lines.wire.getresponse()
        answer = json.loads(response.read())
        if response.status not in (200, 201, 402):  # 402: the terms
            raise RuntimeError(f"{path}: {response.status} {answer}")
        return answer

    def _transfer(self, key: str, terms: Any) -> str:
        """Pay as the terms say, from the buyer's seeded wallet; return the hash."""
        buyer = next(trader for trader in self.data.traders if trader.key == key)
        account = Account.from_key(buyer.wallet.to_bytes())
        self.evm.node.give_gas(account.address)
        self.evm.fund(account, terms["amount"])
        return self.evm.transfer(account, terms["pay_to"], terms["amount"])


def model_jobs(trades: Trades) -> list[str]:
    """Make three jobs to copy: a completed one, a delivered one and an open one."""
    orders = shots.orders(trades.data)
    stages = zip((COMPLETED, DELIVERED, OPEN), orders[:3], strict=True)
    return [trades.run([order], until)[0] for until, order in stages]
