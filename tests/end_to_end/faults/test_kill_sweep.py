"""SIGKILL before and after each commit of a purchase.

After a restart, repeats reach the same end on both databases.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.end_to_end.faults.chain import OwnChain, wallet_of
from tests.end_to_end.faults.forge import KILLED, Forge
from tests.end_to_end.faults.purchase import SCRIPT, Answered, Call, Died, Purchase, Transfer
from tests.end_to_end.faults.standing import Standing, half_states, standing
from tests.support.databases import SQLiteTemplate
from tests.support.trade import PRICE

Serving = Callable[[], None]
CALLS = pytest.mark.parametrize("call", SCRIPT, ids=str)


@dataclass(frozen=True, slots=True)
class Reference:
    """A purchase without kills: the rows after each call, each answer, and the final reads."""

    after: dict[str, Standing]
    answers: dict[str, Answered]
    reads: dict[str, Answered]

    def before(self, call: Call) -> Standing:
        place = SCRIPT.index(call)
        return self.after[SCRIPT[place - 1].name if place else "start"]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnChain]:
    with OwnChain(tmp_path_factory.mktemp("chain")) as running:
        yield running


@pytest.fixture(scope="module")
def transfer(chain: OwnChain) -> Transfer:
    buyer, seller = wallet_of("buyer"), wallet_of("seller")
    chain.fund(buyer, PRICE)
    transaction = chain.transfer(buyer, seller.address, PRICE)
    return Transfer(buyer, seller, transaction, chain.mined_at(transaction))


@pytest.fixture(scope="module")
def forge() -> Iterator[Forge]:
    made = Forge()
    yield made
    made.close()


@pytest.fixture(scope="module")
def http(forge: Forge) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{forge.port}", trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def reference(
    forge: Forge, http: httpx.Client, chain: OwnChain, transfer: Transfer, tmp_path_factory: pytest.TempPathFactory,
    sqlite_template: SQLiteTemplate,
) -> Reference:  # fmt: skip
    url = sqlite_template.copy(tmp_path_factory.mktemp("reference"))
    forge.start("stepped", url=url, rpc_url=chain.url)
    run, after = Purchase(http, transfer), {"start": standing(url)}
    for call in SCRIPT:
        run.make(call)
        after[call.name] = standing(url)
    made = Reference(after, run.answers, run.read())
    forge.kill()
    return made


@pytest.fixture
def serve(forge: Forge, chain: OwnChain, database_url: str) -> Iterator[Serving]:
    """A function that starts or restarts a server on the test's database.

    It is killed at the end.
    """

    def start() -> None:
        forge.start("stepped", url=database_url, rpc_url=chain.url)

    yield start
    if forge.running:
        forge.kill()


@pytest.fixture
def purchase(http: httpx.Client, transfer: Transfer) -> Purchase:
    return Purchase(http, transfer)


def die(forge: Forge, purchase: Purchase, call: Call, when: str) -> None:
    """Make a call that kills its server at this fault point."""
    with pytest.raises(Died):
        purchase.make(call, (when, call.unit))
    assert forge.ended() == KILLED


def check_end(url: str, purchase: Purchase, reference: Reference) -> None:
    """Check that every row, answer and read is as in the purchase without kills."""
    end = standing(url)
    assert half_states(end) == []
    assert end == reference.after["sweep"]
    assert bodies(purchase.answers) == bodies(reference.answers)
    assert purchase.read() == reference.reads


def bodies(answers: dict[str, Answered]) -> dict[str, tuple[int, bytes]]:
    return {name: (answer.status, answer.body) for name, answer in answers.items()}


def test_m7_every_call_of_a_purchase_is_one_commit_and_both_databases_end_alike(
    serve: Serving, purchase: Purchase, reference: Reference, database_url: str
) -> None:
    serve()
    for call in SCRIPT:
        assert half_states(standing(database_url)) == []
        committed = purchase.make(call)
        assert call.operation == "sweep" or committed == [call.unit]
        assert standing(database_url) == reference.after[call.name]
    assert [one["status"] for one in standing(database_url)["jobs"]] == ["completed", "expired"]
    check_end(database_url, purchase, reference)


@CALLS
def test_m7_killed_before_its_commit_a_call_has_left_nothing_and_is_done_once_when_repeated(
    call: Call, serve: Serving, forge: Forge, purchase: Purchase, reference: Reference, database_url: str
) -> None:
    serve()
    place = SCRIPT.index(call)
    for earlier in SCRIPT[:place]:
        purchase.make(earlier)
    die(forge, purchase, call, "before")
    serve()
    assert standing(database_url) == reference.before(call)
    for later in SCRIPT[place:]:
        purchase.make(later)
    assert not any(answer.replayed for answer in purchase.answers.values())
    check_end(database_url, purchase, reference)


@CALLS
def test_m18_killed_after_its_commit_a_call_is_whole_and_repeated_gets_the_lost_answer(
    call: Call, serve: Serving, forge: Forge, purchase: Purchase, reference: Reference, database_url: str
) -> None:
    serve()
    place = SCRIPT.index(call)
    for earlier in SCRIPT[:place]:
        purchase.make(earlier)
    die(forge, purchase, call, "after")
    serve()
    assert standing(database_url) == reference.after[call.name]
    for later in SCRIPT[place:]:
        purchase.make(later)
    replayed = [name for name, answer in purchase.answers.items() if answer.replayed]
    assert replayed == ([] if call.operation == "sweep" else [call.name])
    check_end(database_url, purchase, reference)


def test_m7_m18_killed_before_and_after_every_commit_of_one_purchase_it_ends_as_if_nobody_had_been(
    serve: Serving, forge: Forge, purchase: Purchase, reference: Reference, database_url: str
) -> None:
    serve()
    for call in SCRIPT:
        die(forge, purchase, call, "before")
        serve()
        die(forge, purchase, call, "after")
        serve()
        purchase.make(call)
    assert all(answer.replayed for answer in purchase.answers.values())
    check_end(database_url, purchase, reference)


def test_every_row_of_a_purchase_that_is_taken_away_is_missed(reference: Reference) -> None:
    """The torture run needs this: each row of these tables has a related row."""
    end = reference.after["sweep"]
    unmissed = [
        (table, row)
        for table, rows in end.items()
        for place, row in enumerate(rows)
        if row.get("number") != 0  # without it the count is zero too
        and half_states(end | {table: rows[:place] + rows[place + 1 :]}) == []
    ]
    assert (half_states(end), unmissed) == ([], [])
