"""Test /v1 against its own openapi.json with schemathesis: the real server, a seeded world, each party's key.

    python -m tests.end_to_end.conformance.run_api [--database sqlite|postgres] [--seed 2] [--examples 100]

All checks are on. excuses.py lists the accepted complaints, each with its reason.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from server.app import Service
from server.serve import Server, uvicorn_config
from server.settings import read_settings
from tests.end_to_end.conformance.excuses import EXCUSES, LEFT_OUT, NEVER_DONE, PUBLIC
from tests.end_to_end.conformance.hooks import COUNTED, SIGNER
from tests.end_to_end.conformance.world import EACH, LIMITS, SECRETS, Closed, Party, World, seed
from tests.support.databases import DATABASES, PostgresServer
from tests.support.evm import Evm
from tests.support.proofs import Zone
from tools.catalogue import CATALOGUE
from tools.engine.config import Limits
from tools.engine.context import Surface
from tools.kernel.keys import public_key_of

HERE = Path(__file__).parent
SECONDS = 600
EXAMPLES, SEED = 20, 1  # less than a minute for each database
CALLERS = ("seller", "buyer")
OFTEN = 0.7  # the share of ids from the world; the schema generates the others
ALWAYS = {"doomed", "doomed_domains"}  # all other records are still needed by other operations

SERVED = frozenset(name for name, op in CATALOGUE.items() if Surface.REST in op.surfaces)
PHASES = "examples,coverage,fuzzing,stateful"
# For each place of an id, its dictionary; some operations have their own.
IDS = {
    "path.job_id": "jobs",
    "path.listing_id": "listings",
    "path.bounty_id": "bounties",
    "path.agent_id": "agents",
    "path.key": "keys",
    "path.dispute_id": "disputes",
    "path.domain": "domains",
}
IDS_OF = {
    "accept_job": {"path.job_id": "to_accept"},
    "accept_quote": {"path.job_id": "to_accept_quote"},
    "award_bounty": {"path.bounty_id": "to_award", "body.proposal_id": "proposals"},
    "close_bounty": {"path.bounty_id": "to_close"},
    "create_job": {"body.listing_id": "kept"},
    "hire": {"body.listing_id": "kept"},
    "delete_webhook": {"path.webhook_id": "doomed"},
    "deliver_job": {"path.job_id": "to_deliver"},
    "dispute_job": {"path.job_id": "to_dispute"},
    "get_delivery": {"path.job_id": "to_review", "path.revision": "revisions"},
    "link_erc8004": {"body.agent_id": "tokens"},
    "remove_domain": {"path.domain": "doomed_domains"},
    "pay_job": {"path.job_id": "to_pay", "body.transaction": "payments"},
    "propose_on_bounty": {"path.bounty_id": "to_propose"},
    "quote_job": {"path.job_id": "to_quote"},
    "redeliver_webhook": {"path.webhook_id": "webhooks", "path.delivery_id": "deliveries"},
    "request_revision": {"path.job_id": "to_revise"},
    "refund_job": {"path.job_id": "to_refund", "body.transaction": "refunds"},
    "review_job": {"path.job_id": "to_review"},
    "submit_verdict": {"path.dispute_id": "judged"},
    "rotate_key": {"body.new_public_key": "own_key"},
    "set_wallet_address": {"body.address": "wallet", "body.signature": "signature"},
    "withdraw_proposal": {"path.bounty_id": "to_withdraw"},
}


@dataclass(frozen=True)
class RandomSource:
    """The parameters of a run. Equal parameters make equal calls."""

    seed: int = SEED
    examples: int = EXAMPLES


DICE = RandomSource()


@dataclass
class Counts:
    """The number of answers of each operation and status, and of uses of each excuse."""

    answered: Counter[tuple[str, int]] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)

    def add(self, counted: Any) -> None:
        self.answered.update({(name, status): times for name, status, times in counted["answered"]})
        self.excused.update(counted["excused"])

    def of(self, operation: str) -> str:
        found = sorted((status, times) for (name, status), times in self.answered.items() if name == operation)
        return " ".join(f"{status}x{times}" for status, times in found) or "not called"


def main(databases: Sequence[str] = DATABASES, dice: RandomSource = DICE) -> int:
    """Run on each database and print the answers; return the exit code.

    0: nothing was found, and every operation succeeded.
    """
    for name, why in LEFT_OUT.items():
        print(f"left out {name}: {why}")
    for name, why in PUBLIC.items():
        print(f"not private {name}: {why}")
    return max([on_database(database, dice) for database in databases])


def on_database(database: str, dice: RandomSource) -> int:
    started, faults, counts = monotonic(), list[str](), Counts()
    with tempfile.TemporaryDirectory(prefix="emporion-conformance-") as made, Evm() as evm:
        folder = Path(made)
        with database_url(database, folder) as url:
            listening = socket.create_server(("127.0.0.1", 0))
            world = asyncio.run(seed(url, evm, f"http://127.0.0.1:{listening.getsockname()[1]}"))
            with serving(url, folder, evm, listening) as served:
                for caller in CALLERS:
                    faults += run(served, configuration(world, caller, folder, dice), world, caller, folder, counts)
    faults += undone(counts)
    print_counts(database, counts)
    for fault in faults:
        print(f"FAIL {database}: {fault}")
    print(
        f"{database}: {counts.answered.total()} calls, {len(faults)} failed, {monotonic() - started:.0f} s", flush=True
    )
    return 1 if faults else 0


def run(url: str, told: str, world: World, caller: str, folder: Path, counts: Counts) -> list[str]:
    """Run schemathesis once with the caller's key. Its output is shown if it found something."""
    counted, config = folder / f"{caller}.json", folder / "schemathesis.toml"
    config.write_text(told)
    command: list[str | Path] = [
        Path(sys.executable).parent / "schemathesis", "--config-file", config, "run", f"{url}/openapi.json",
        "--checks", "all", "--phases", PHASES, "--continue-on-failure", "--no-color",
    ]  # fmt: skip
    agent = world.parties[caller].agent
    env = {
        **os.environ,
        COUNTED: str(counted),
        SIGNER: f"{agent.id}:{agent.seed.hex()}",
        "PYTHONPATH": str(HERE.parents[2]),
    }
    ran = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=SECONDS)
    if ran.returncode != 0:
        print(ran.stdout, ran.stderr)
    if not counted.exists():
        return [f"schemathesis as {caller} did not run: exit {ran.returncode}"]
    counts.add(json.loads(counted.read_text()))
    return [f"schemathesis as {caller}: exit {ran.returncode}"] if ran.returncode else []


def configuration(world: World, caller: str, folder: Path, dice: RandomSource) -> str:
    """Return schemathesis.toml for one run: generation, caller, known ids and excuses."""
    users = folder / "users.json"
    users.write_text(json.dumps({"auth": [_user(name, party) for name, party in world.parties.items()]}))
    known = dictionaries(world, world.parties[caller])
    lines = [
        f"hooks = {_toml('tests.end_to_end.conformance.hooks')}",
        f"seed = {dice.seed}",
        "warnings = false",
        "[generation]",
        f"max-examples = {dice.examples}",
        "allow-x00 = false",
        'database = "none"',
        "[auth.wfc]",
        f"path = {_toml(str(users))}",
        f"user = {_toml(caller)}",
        f"peers = {_toml([caller, 'stranger'])}",
        "[dictionaries]",
        *(f"{name} = {{ values = {_toml(values)} }}" for name, values in known.items()),
        "[parameters]",
        *(f"{_toml(place)} = {_bound(name)}" for place, name in IDS.items()),
    ]
    for name in sorted(SERVED):
        if changed := _of_operation(name):
            lines += ["[[operations]]", f"include-operation-id = {_toml(name)}", *changed]
    return "\n".join(lines) + "\n"


def dictionaries(world: World, caller: Party) -> dict[str, Sequence[str | int]]:
    """Return the values to draw ids from.

    Half of the jobs in each state are for all calls, the others for the one operation of that state.
    """
    shared = {state: ids[:EACH] for state, ids in world.jobs.items()}
    own = {state: ids[EACH:] for state, ids in world.jobs.items()}
    return {
        "jobs": [one for ids in shared.values() for one in ids],
        "to_accept": own["open"] + own["revealed"][:1],
        "to_accept_quote": own["quoted"],
        "to_deliver": own["in_progress"],
        "to_dispute": own["revealed"][1:2],
        "to_pay": own["payable"][:1],
        "to_quote": own["quote_requested"],
        "to_refund": own["owing"][:1],
        "to_review": own["completed"],
        "to_revise": own["revealed"][2:],
        "payments": world.payments[EACH:][:1],
        "refunds": world.refunds[EACH:][:1],
        "revisions": [0],
        "disputes": world.disputes,
        "judged": world.judged,
        "listings": world.listings,
        "bounties": [one for ids in world.bounties.values() for one in ids],
        "to_propose": world.bounties["kept"],
        "to_withdraw": world.bounties["left"],
        "to_award": world.bounties["award"],
        "to_close": world.bounties["close"],
        "proposals": world.proposals,
        "kept": world.kept,
        "agents": world.agents,
        "webhooks": [caller.webhook],
        "deliveries": caller.deliveries,
        "doomed": caller.doomed,
        "domains": caller.domains,
        "doomed_domains": caller.doomed_domains,
        "tokens": [caller.token],
        "keys": ["notes", "lease.1", "x:y_-"],  # generation fails if most keys from the pattern contain a slash
        "own_key": [public_key_of(caller.agent.seed).hex()],
        "wallet": [caller.wallet],
        "signature": [caller.signature],
    }


def undone(counts: Counts) -> Iterator[str]:
    """Yield operations without a 2xx and without a reason, and those with a reason and a 2xx."""
    done = {name for name, status in counts.answered if 200 <= status < 300}
    for name in sorted(SERVED - set(LEFT_OUT) - done - set(NEVER_DONE)):
        yield f"{name} never answered 2xx: {counts.of(name)}"
    yield from (f"{name} has a reason never to answer 2xx, and did" for name in sorted(set(NEVER_DONE) & done))


def print_counts(database: str, counts: Counts) -> None:
    done = {name for name, status in counts.answered if 200 <= status < 300}
    for name in sorted(SERVED - set(LEFT_OUT)):
        print(f"  {database} {name}: {counts.of(name)}")
    for excuse in EXCUSES:
        print(f"  {database} excused {counts.excused[excuse.why]}x {excuse.code} /{excuse.said}/: {excuse.why}")
    never = [f"{name} ({NEVER_DONE.get(name, 'no reason')})" for name in sorted(SERVED - set(LEFT_OUT) - done)]
    print(f"{database}: never answered 2xx: {', '.join(never) or 'none'}")


@contextmanager
def database_url(database: str, folder: Path) -> Iterator[str]:
    """Make an empty temporary database; return its URL."""
    if database == "sqlite":
        yield f"sqlite:///{folder / 'market.db'}"
        return
    server = PostgresServer()
    try:
        yield server.create("conformance")
    finally:
        server.stop()


@contextmanager
def serving(database: str, folder: Path, evm: Evm, listening: socket.socket) -> Iterator[str]:
    """Run the real service in a thread, without rate limits or outside services."""
    port = listening.getsockname()[1]
    settings = read_settings(
        _env_file=None, port=port, data_dir=folder, database_url=database, test_rpc_url=evm.url, test_faucet_url=evm.url,
        rate_limits=False,
        **SECRETS,
    )  # fmt: skip
    service = Service(settings, evm.url)
    service.world = replace(service.world, web=Closed(), dns=Zone())
    service.config = replace(service.config, limits=Limits(enforced=False, **LIMITS))
    server = Server(uvicorn_config(service, settings), service)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the market does not start")
            sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def _user(name: str, party: Party) -> Mapping[str, object]:
    return {"name": name, "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {party.key}"}]}


def _of_operation(name: str) -> list[str]:
    lines = ["enabled = false"] if name in LEFT_OUT else []
    if name in IDS_OF:
        bound = ", ".join(f"{_toml(place)} = {_bound(of)}" for place, of in IDS_OF[name].items())
        lines.append(f"parameters = {{ {bound} }}")
    return lines


def _bound(name: str) -> str:
    return f"{{ dictionary = {_toml(name)}, probability = {1.0 if name in ALWAYS else OFTEN} }}"


def _toml(value: object) -> str:
    """Encode a text, or a list of texts and numbers. JSON and TOML write them alike."""
    return json.dumps(value)


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    given = parser.parse_args()
    sys.exit(main(given.database or DATABASES, RandomSource(given.seed, given.examples)))
