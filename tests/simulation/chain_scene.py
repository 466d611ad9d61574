"""The parties of the simulated chain's tests, their transfers on it, and the questions of a market."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from eth_account import Account
from eth_account.signers.local import LocalAccount

from tests.simulation.blocks import BLOCK_SECONDS, Window
from tests.simulation.chain import FAKE_TOKEN, SimulatedChain
from tests.simulation.nodes import Faults, Lie, Nodes
from tools.chain.chain_reads import look_up
from tools.chain.transfer_verification import ChainDown, Terms, Verification, verify
from tools.chain.wallet_proof import eip1271_call
from tools.engine.config import Network
from tools.engine.ports import Chain

ONE = 1_000_000
CONFIRMATIONS = 3
NETWORK = Network(
    id="eip155:84532",
    chain_id=84532,
    name="Base Sepolia",
    asset="0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    asset_name="USDC",
    asset_version="2",
    explorer_tx=None,
    faucet=None,
    confirmations=CONFIRMATIONS,
    facilitator_url=None,
    rpc_hint="",
    identity_registry="0x8004A818BFB912233c491871b3d84c89A494BD9e",
)
BUYER, SELLER, STRANGER = (Account.from_key(f"0x{place * 32}") for place in ("11", "22", "33"))
NONCE = f"0x{7:064x}"
WALLET = "0x" + "c0de" * 10
ALL = Faults(nodes=4, lag=5, forked=True, down=0.1, slow=0.1, lies=0.3)


class Clock:
    """A clock that moves only when a test moves it."""

    at = datetime(2026, 11, 27, tzinfo=UTC)
    seconds = 0.0

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.seconds

    def pass_seconds(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.seconds += seconds


@dataclass
class Model:
    """The simulated chain with its nodes, and the actions of the parties on it."""

    seed: int = 1
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.chain = SimulatedChain(NETWORK, self.clock, Random(self.seed))
        self.nodes = Nodes(self.chain, Random(self.seed + 1), self.sleep)
        self.reader = self.nodes.reader(self.clock)
        for one in (BUYER, SELLER, STRANGER):
            self.chain.fund(one.address, 10 * ONE)

    async def sleep(self, seconds: float) -> None:
        self.clock.pass_seconds(seconds)

    def mined(self, transaction: str) -> str:
        """Wait until a block has the transaction; return its hash."""
        while not self.chain.confirmations(transaction):
            self.mine(1)
        return transaction

    def head(self) -> int:
        return self.chain.head()

    def mine(self, blocks: int) -> None:
        self.clock.pass_seconds(blocks * BLOCK_SECONDS)

    def pay(self, payer: LocalAccount, payee: LocalAccount, amount: int) -> str:
        return self.mined(self.chain.send_transfer(payer.address, payee.address, amount))

    def pay_too_much(self, payer: LocalAccount, payee: LocalAccount) -> str:
        return self.pay(payer, payee, self.chain.balance(payer.address) + 1)

    def pay_fake(self, payer: LocalAccount, payee: LocalAccount, amount: int) -> str:
        return self.mined(self.chain.send_transfer(payer.address, payee.address, amount, FAKE_TOKEN))

    def pay_several(self, payer: LocalAccount, shares: list[tuple[LocalAccount, int]]) -> str:
        moves = [(payer.address, payee.address, amount) for payee, amount in shares]
        return self.mined(self.chain.send_several(payer.address, moves))

    def pay_and_return(self, payer: LocalAccount, payee: LocalAccount, amount: int, back: int) -> str:
        moves = [(payer.address, payee.address, amount), (payee.address, payer.address, back)]
        return self.mined(self.chain.send_several(payer.address, moves))

    def authorize(self, payer: LocalAccount, payee: LocalAccount, amount: int, seconds: int = 3600) -> str:
        """Relay an authorization that expires after a number of seconds."""
        window = Window(NONCE, 0, int(self.clock.now().timestamp()) + seconds)
        return self.mined(self.chain.authorize(payer.address, payee.address, amount, window, relayer=STRANGER.address))

    def used(self) -> str:
        return NONCE


async def verdict(reader: Chain, transaction: str, after_block: int = 0, confirmations: int = 1) -> Verification:
    """Return the market's verdict on a payment from the buyer to the seller."""
    terms = Terms(NETWORK.asset, (BUYER.address,), (SELLER.address,), 0, after_block, confirmations)
    return verify(transaction, await look_up(reader, transaction, confirmations), terms)


async def asked(model: Model, times: int = 400) -> list[str]:
    """Ask every question of the market many times; return the answers and failures."""
    model.chain.register_wallet(WALLET, BUYER.address)
    found, sent = [], [model.pay(BUYER, SELLER, 1) for _ in range(5)]
    for place in range(times):
        transaction, number = sent[place % 5], model.head() - place % 9
        if place % 40 == 0:
            model.chain.reorg(3)
        model.clock.pass_seconds(1)
        for question in (
            model.reader.receipt(transaction),
            model.reader.head(),
            model.reader.block(number),
            model.reader.whole_block(number),
            model.reader.call(WALLET, eip1271_call(b"1" * 32, "0x" + "11" * 65)),
        ):
            try:
                found.append(repr(await question))
            except ChainDown as down:
                found.append(f"down: {down}")
    return found


async def under_faults() -> tuple[list[str], list[Lie]]:
    """Return the answers of faulty nodes, and their lies."""
    model = Model()
    model.nodes.faults = ALL
    return await asked(model), model.nodes.lies
