"""The cheats: each finding has one, none gains anything, and each bites if its protection is taken away."""

import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import accumulate
from operator import attrgetter
from typing import Any

import pytest
from sqlalchemy import select

from protocol.a2a.push_notifications import PushBodies
from storage.disputes import statements
from storage.query import Query
from storage.tables import PurchaseRow, SettlementRow, WalletRow
from storage.transaction import Tx
from tests.simulation.cheats import accounts, load, payments, purchases, trust
from tests.simulation.cheats.base import Cheat
from tests.simulation.cheats.roster import CHEATS
from tests.simulation.records import Result
from tests.simulation.run import Failure, Plan, run
from tests.simulation.scenarios import Scenario
from tools.chain.x402_payments import Payment
from tools.engine.context import ReadContext
from tools.jobs.panel_rules import MAX_BYTES, MAX_MESSAGES, Statement
from tools.jobs.snapshot import JobSnapshot
from tools.purchases.payment_verification import enter

SEED, TURNS = 12, 900
ALONE = Scenario(sellers=1, buyers=1, evaluators=3, clients=0, cheats=1.0)
ALLOWED = {"relays payments": {"work"}, "captures panels": {"verdict"}}  # docs/limits.md states both


def unsalted(_: str, text: bytes) -> str:
    return f"sha256:{sha256(text).hexdigest()}"


def no(*_: Any, **__: Any) -> bool:
    return False


def yes(*_: Any, **__: Any) -> bool:
    return True


def nothing(*_: Any, **__: Any) -> None:
    return None


def as_written(address: str) -> str:
    return address


def unconstrained(**columns: Any) -> SettlementRow:
    """Return a settlement that may have the transaction of another one."""
    return SettlementRow(**columns | {"tx_hash": f"{columns['tx_hash']} {columns['job_id'].lower()}"})


def anybody(tx: Tx, seen: JobSnapshot, _: Any) -> set[str]:
    """Return the wallets of all agents but the seller as those that may pay for a job."""
    return {row.address for row in tx.all(Query(select(WalletRow))) if row.agent_id != seen.row.seller_id}


async def unverified(read_ctx: ReadContext, payment: Payment, **columns: Any) -> tuple[PurchaseRow, None]:
    """Enter a payment without asking the facilitator whether it would be taken."""
    entered = await read_ctx.store.write(lambda tx: enter(read_ctx, tx, payment.authorization, columns), "enter")
    return entered[0], None


def of_another_brand(_: str, agent_id: str, address: str) -> str:
    return f"agora:wallet:{agent_id}:{address.lower()}"


def shown_together(tx: Tx, seen: JobSnapshot, party: str, ends: int) -> tuple[set[str], int]:
    """Return the messages of a party among the newest of both that fit into one limit."""
    here = {"thread_id": seen.row.thread_id, "ends": ends, "limit": MAX_MESSAGES}
    found = [
        (Statement(*one), side) for side in seen.parties for one in tx.all(statements(True), sender_id=side, **here)
    ]
    newest = sorted(found, key=lambda one: one[0].id, reverse=True)
    sizes = accumulate(one.size for one, _ in newest)
    return {one.id for (one, side), size in zip(newest, sizes, strict=True) if side == party and size <= MAX_BYTES}, 0


PUSH = PushBodies.__call__


def whole_push(bodies: PushBodies, record: bytes, agent_id: str, form: str, **_: Any) -> bytes:
    return PUSH(bodies, record, agent_id, form)


WITHOUT: list[tuple[type[Cheat], dict[str, Any]]] = [
    (payments.ReusesHashes, {
        "tools.jobs.payments.logic.known_settlement": nothing, "tools.jobs.payment_operations.known_settlement": nothing,
        "tools.jobs.payments.logic.SettlementRow": unconstrained,
    }),
    (payments.StealsPayments, {"tools.jobs.payments.terms.payers_of": anybody}),
    (payments.GuessesOutputs, {"tools.jobs.delivery_operations.commitment": unsalted}),
    (payments.PaysBeforeOrdering, {"tools.chain.transfer_verification.is_too_old": no}),
    (payments.HoldsPlaces, {"tools.jobs.open_job_limits._judge_newcomer": nothing}),
    (payments.RaisesPrices, {"tools.bounties.award_operations._hold_to_offer": nothing}),
    (purchases.RelaysPayments, {"tools.purchases.operations.is_for": yes}),
    (purchases.ReplaysAuthorizations, {"tools.purchases.operations._fingerprint": lambda _: "equal"}),
    (purchases.BuysWithEmptyWallets, {"tools.purchases.operations.check": unverified}),
    (accounts.BindsForeignSignatures, {"tools.wallets.operations.binding_message": of_another_brand}),
    (accounts.UsesRevokedKeys, {"tools.engine.caches.KeyFacts.is_usable": yes}),
    (accounts.SquatsKeys, {"tools.agents.operations._proven": yes}),
    (accounts.ImitatesOperator, {"tools.agents.handles.reserved_word": nothing}),
    (accounts.UsesTestKeysOnLive, {"tools.credentials.operations.holds_test_key": no}),
    (accounts.ReplaysSignatures, {"tools.engine.request_signatures.insert_use": yes}),
    (accounts.ReadsFiles, {"server.cli.OWN_UMASK": 0o022}),
    (trust.SybilRaters, {"tools.jobs.contribution_rules.DUST_MINOR": 0}),
    (trust.WashTraders, {"tools.jobs.contribution_rules.kept_minor": attrgetter("paid_minor")}),
    (trust.BribesEvaluators, {"tools.agents.relations.RelationsInCase.bought": no}),
    (trust.FloodsEvidence, {"tools.jobs.disputes.case_file._shown": shown_together}),
    (trust.CapturesPanels, {"tools.agents.relations.Relations.hold": no}),
    (trust.RedirectsPayments, {"tools.screening.rules.demands": lambda _: set()}),
    (load.FloodsHosts, {"protocol.a2a.push_notifications.PushBodies.__call__": whole_push}),
    (load.FillsDisk, {"storage.transaction.Tx.count_bytes": nothing}),
    (load.FloodsWithKeys, {"tools.engine.rate_limits._windows_of": lambda allowance, caller: [(allowance, str(caller.key_id))]}),
    (load.FloodsDocuments, {"server.app.count_document": nothing}),
    (load.SpellsAddresses, {"server.http_identity.bare_address": as_written, "tools.engine.rate_limits.bare_address": as_written}),
    (load.HoldsBodies, {"server.http_limits.BODY_SECONDS": 10_000}),
]  # fmt: skip


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A small market, for one cheat."""
    monkeypatch.setattr("tests.simulation.run.named", lambda _: ALONE)
    monkeypatch.setattr("tests.simulation.contracted.Contracted.observe", nothing)  # it may see the fault first
    return monkeypatch


def test_each_cheat_bites_without_a_protection() -> None:
    assert [kind for kind, _ in WITHOUT if kind not in CHEATS] == []
    assert {kind for kind, _ in WITHOUT} == {*CHEATS}


def test_each_finding_has_a_cheat() -> None:
    assert {kind.finding for kind in CHEATS} - {None} == set(range(1, 21))
    assert len({kind.name for kind in CHEATS}) == len(CHEATS)


def test_no_cheat_gains_more_than_the_contract_states() -> None:
    found = run(Plan(SEED, TURNS, "cheats"))
    assert isinstance(found, Result), found.message
    known = found.ledger.accounts
    assert [kind.name for kind in CHEATS if kind.name not in known or not known[kind.name].attempts] == []
    for name, account in known.items():
        assert account.gains.keys() <= ALLOWED.get(name, set()), name


@pytest.mark.parametrize(("kind", "changes"), WITHOUT, ids=lambda given: getattr(given, "__name__", ""))
def test_a_cheat_gains_without_the_protection_and_is_named(
    kind: type[Cheat], changes: dict[str, Any], alone: pytest.MonkeyPatch
) -> None:
    alone.setattr("tests.simulation.cheats.roster.CHEATS", (kind,))
    for name, instead in changes.items():
        alone.setattr(name, instead)
    found = run(Plan(SEED, 250, "cheats"))
    assert isinstance(found, Failure)
    assert re.match(rf"the cheat {re.escape(kind.name)}( \(finding \d+\))? gained \w+ \d+: ", found.message)
