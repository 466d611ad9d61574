"""The sandbox's chain: its identity, its clock, its refusals, and a replay with the same blocks."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import _hash_eip191_message, encode_defunct, encode_typed_data
from eth_account.signers.local import LocalAccount
from hypothesis import given, settings
from hypothesis import strategies as st

from server.sandbox.evm import DevChain, Refused, blocks_between
from server.sandbox.journal import Sealed
from server.sandbox.methods import METHODS, RpcError, answer
from tests.support import payment_flows
from tests.support.chain_nodes import ForkingChain
from tests.support.evm import ARTIFACTS, Evm, RpcFailed, pack

SOMEBODY = "0x" + "11" * 20
BEGINNING = 1_800_000_000


def still(moment: int) -> Callable[[], int]:
    return lambda: moment


@pytest.fixture
def chain() -> ForkingChain:
    return ForkingChain(84532, still(BEGINNING))


@pytest.mark.parametrize("chain_id, name", [(84532, "USDC"), (8453, "USD Coin")])
def test_the_token_stands_at_the_real_address_and_signs_under_the_real_domain(chain_id: int, name: str) -> None:
    with Evm(chain_id) as evm:
        document = {
            "types": {"EIP712Domain": payment_flows._DOMAIN_FIELDS, "Nothing": [{"name": "x", "type": "uint256"}]},
            "primaryType": "Nothing",
            "domain": {"name": name, "version": "2", "chainId": chain_id, "verifyingContract": evm.usdc},
            "message": {"x": 0},
        }
        separator = encode_typed_data(full_message=document).header
        assert evm.read(evm.usdc, "DOMAIN_SEPARATOR()", returns="bytes32") == separator
        assert evm.read(evm.usdc, "name()", returns="string") == name
        assert evm.read(evm.usdc, "decimals()", returns="uint8") == 6
        assert (evm.rpc("eth_chainId"), evm.rpc("net_version")) == (hex(chain_id), str(chain_id))
        assert (
            evm.usdc
            == {
                84532: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
                8453: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
            }[chain_id]
        )


def test_a_receipt_and_its_block_have_every_field_of_a_node(chain: DevChain) -> None:
    transaction = answer(chain, "dev_faucet", [SOMEBODY, 5])
    receipt = answer(chain, "eth_getTransactionReceipt", [transaction])
    block = answer(chain, "eth_getBlockByNumber", [receipt["blockNumber"], False])
    sent = answer(chain, "eth_getTransactionByHash", [transaction])
    place = {
        "transactionHash": transaction,
        "transactionIndex": "0x0",
        "blockHash": block["hash"],
        "blockNumber": "0x1",
    }
    bank, token = sent["from"], chain.usdc.lower()
    receiver, five = "0x" + "0" * 24 + "11" * 20, "0x" + f"{5:064x}"
    mint = "0xab8530f87dc9b59234c4623bf917212bb2536d647574c8e7e5da92c2ede0c9f8"
    transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    topics = [[mint, "0x" + "0" * 24 + bank[2:], receiver], [transfer, "0x" + "0" * 64, receiver]]
    logs = [
        {"address": token, "topics": one, "data": five, "logIndex": hex(index), "removed": False} | place
        for index, one in enumerate(topics)
    ]
    assert receipt == place | {
        "type": "0x2",
        "status": "0x1",
        "from": bank,
        "to": token,
        "contractAddress": None,
        "cumulativeGasUsed": block["gasUsed"],
        "gasUsed": block["gasUsed"],
        "effectiveGasPrice": hex(int(block["baseFeePerGas"], 16) + 10**9),
        "logs": logs,
        "logsBloom": block["logsBloom"],
    }
    assert (block["transactions"], block["timestamp"], len(block["logsBloom"])) == (
        [transaction],
        hex(BEGINNING + 1),
        514,
    )
    assert (sent["hash"], sent["nonce"], sent["chainId"], sent["to"]) == (transaction, "0x0", hex(84532), token)
    whole = answer(chain, "eth_getBlockByHash", [block["hash"], True])
    assert whole == block | {"transactions": [sent]}


def test_a_block_has_the_time_of_its_mining_however_long_the_chain_was_idle() -> None:
    clock = iter((0, 5, 3600, 10, 86400))
    chain = DevChain(84532, lambda: BEGINNING + next(clock))
    for _ in range(4):
        chain.mine()
    assert [block.header.timestamp - BEGINNING for block in blocks_between(chain, 1, 4)] == [5, 3600, 3601, 86400]


def test_a_call_sees_the_present_and_not_the_last_blocks_time() -> None:
    moment = BEGINNING
    with Evm(now=lambda: moment) as evm:
        payer, payee = evm.person(5), evm.person()
        signed = payment_flows.authorization(evm, payer, payee, 5, valid_before=BEGINNING + 1000)
        call = pack(
            "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
            *signed.arguments,
            signed.signature,
        )
        message = {"to": evm.usdc, "data": "0x" + call.hex()}
        assert evm.rpc("eth_call", message, "latest") == "0x"
        moment = BEGINNING + 2000
        with pytest.raises(RpcFailed, match="authorization is expired") as refused:
            evm.rpc("eth_call", message, "latest")
        assert refused.value.error["code"] == 3
        assert refused.value.error["data"].startswith("0x08c379a0")


def test_a_replayed_chain_has_the_same_bytes_in_every_block_and_receipt() -> None:
    sealed: list[Sealed] = []
    ticking = count(BEGINNING, 7)
    original = ForkingChain(84532, lambda: next(ticking), genesis_time=BEGINNING, on_block=sealed.append)
    sent = [answer(original, "dev_faucet", [SOMEBODY, amount]) for amount in (1, 2, 3)]
    original.automine = False
    sent += [answer(original, "dev_gas", [SOMEBODY]) for _ in range(2)]
    original.automine = True
    answer(original, "evm_mine", [3])
    again = DevChain(84532, still(0), genesis_time=BEGINNING)
    for one in sealed:
        assert again.replay(one) == one.hash
    assert whole(again, sent) == whole(original, sent)
    assert answer(again, "eth_getBalance", [SOMEBODY]) == hex(2 * 10**18)


def whole(chain: DevChain, transactions: list[str]) -> list[Any]:
    blocks = [answer(chain, "eth_getBlockByNumber", [number, True]) for number in range(chain.number + 1)]
    return blocks + [answer(chain, "eth_getTransactionReceipt", [one]) for one in transactions]


def test_a_block_that_comes_out_different_or_too_early_is_noticed() -> None:
    sealed: list[Sealed] = []
    chain = DevChain(84532, still(BEGINNING), on_block=sealed.append)
    answer(chain, "dev_gas", [SOMEBODY])
    again = DevChain(84532, still(BEGINNING), genesis_time=BEGINNING)
    assert again.replay(sealed[0]._replace(timestamp=BEGINNING + 50)) != sealed[0].hash
    with pytest.raises(Refused, match="not later"):
        again.replay(sealed[0])


def test_an_empty_block_on_another_branch_has_another_hash(chain: ForkingChain) -> None:
    hashes = []
    for _ in range(3):
        chain.mine()
        hashes.append(chain.head.hash)
        chain.rewind(0)
    assert (len(set(hashes)), chain.number) == (3, 0)
    assert [chain.header_by_hash(one) for one in hashes] == [None] * 3


def test_a_block_nobody_could_record_does_not_exist(chain: DevChain) -> None:
    def full(_: Sealed) -> None:
        raise OSError("disk full")

    chain.on_block = full
    with pytest.raises(OSError, match="disk full"):
        chain.gas(bytes.fromhex(SOMEBODY[2:]))
    assert (chain.number, answer(chain, "eth_getBalance", [SOMEBODY])) == (0, "0x0")
    chain.on_block = lambda _: None
    answer(chain, "dev_gas", [SOMEBODY])
    assert (chain.number, answer(chain, "eth_getBalance", [SOMEBODY])) == (1, hex(10**18))


def test_a_receipt_is_found_without_walking_the_chain(chain: DevChain, monkeypatch: pytest.MonkeyPatch) -> None:
    transaction = answer(chain, "dev_gas", [SOMEBODY])
    answer(chain, "evm_mine", [200])
    real, reads = chain._chain.get_block_by_header, []
    monkeypatch.setattr(chain._chain, "get_block_by_header", lambda header: reads.append(header) or real(header))
    assert answer(chain, "eth_getTransactionReceipt", [transaction])["blockNumber"] == "0x1"
    assert answer(chain, "eth_getTransactionReceipt", ["0x" + "22" * 32]) is None
    assert [header.block_number for header in reads] == [1]


def signed(someone: LocalAccount, **changes: Any) -> str:
    """Return a raw transaction of one wei to SOMEBODY. A change to None omits the field."""
    base = {"chainId": 84532, "nonce": 0, "gas": 21000, "gasPrice": 10**10, "to": SOMEBODY, "value": 1}
    fields = {name: value for name, value in (base | changes).items() if value is not None}
    return "0x" + bytes(someone.sign_transaction(fields).raw_transaction).hex()


def test_every_kind_of_transaction_is_taken(chain: DevChain) -> None:
    someone = Account.create()
    answer(chain, "dev_gas", [someone.address])
    access = [{"address": SOMEBODY, "storageKeys": ["0x" + "01" * 32]}]
    raw = [
        signed(someone),
        signed(someone, nonce=1, type=1, accessList=access, gas=50_000),
        signed(someone, nonce=2, type=2, gasPrice=None, maxFeePerGas=10**10, maxPriorityFeePerGas=1),
    ]
    sent = [answer(chain, "eth_sendRawTransaction", [one]) for one in raw]
    found = [answer(chain, "eth_getTransactionByHash", [one]) for one in sent]
    assert [one["type"] for one in found] == ["0x0", "0x1", "0x2"]
    assert [one["chainId"] for one in found] == [hex(84532)] * 3
    assert found[1]["accessList"] == access
    assert answer(chain, "eth_getBalance", [SOMEBODY]) == "0x3"
    assert answer(chain, "eth_getTransactionCount", [someone.address]) == "0x3"


def test_a_transaction_that_cannot_be_mined_is_refused_and_changes_nothing(chain: DevChain) -> None:
    rich, poor = Account.create(), Account.create()
    answer(chain, "dev_gas", [rich.address])
    good = signed(rich)
    refused = {
        signed(poor): "afford",
        signed(rich, nonce=5): "nonce",
        signed(rich, chainId=1): "chain id",
        signed(rich, chainId=8453): "chain id",
        signed(rich, chainId=None): "chain id",
        signed(rich, gas=20_999): "gas",
        signed(rich, gas=31_000_000): "gas limit",
        signed(rich, gasPrice=1): "fee",
        good[:-2]: "not a valid signed transaction",
        "0x": "not a valid signed transaction",
        "0x03c0": "blob",
        "0x7f00": "not a valid signed transaction",
        "0xc0": "not a valid signed transaction",
    }
    for raw, reason in refused.items():
        with pytest.raises(RpcError, match=f"(?i){reason}") as problem:
            answer(chain, "eth_sendRawTransaction", [raw])
        assert problem.value.code == -32000
    assert chain.number == 1
    answer(chain, "eth_sendRawTransaction", [good])
    with pytest.raises(RpcError, match="already known"):
        answer(chain, "eth_sendRawTransaction", [good])
    assert (chain.number, answer(chain, "eth_getBalance", [SOMEBODY])) == (2, "0x1")


def test_an_estimate_is_enough_and_close(evm: Evm) -> None:
    payer, payee = evm.person(10), evm.person()
    call = pack("transfer(address,uint256)", payee.address, 3)
    message = {"from": payer.address, "to": evm.usdc, "data": "0x" + call.hex()}
    estimated = int(evm.rpc("eth_estimateGas", message), 16)
    receipt = evm.receipt(evm.send(payer, evm.usdc, call, gas=estimated))
    assert receipt["status"] == "0x1"
    assert estimated <= int(receipt["gasUsed"], 16) * 1.25
    with pytest.raises(RpcFailed, match="exceeds balance"):
        evm.rpc(
            "eth_estimateGas", message | {"data": "0x" + pack("transfer(address,uint256)", payee.address, 11).hex()}
        )


def test_wallet_signatures_are_judged_by_deployed_and_undeployed_contracts(evm: Evm) -> None:
    owner, stranger = evm.person(), evm.person()
    message = encode_defunct(text="service:wallet:agt_1:0x00")
    digest, factory = bytes(_hash_eip191_message(message)), evm.shared("WalletFactory")
    signature, forged = (bytes(who.sign_message(message).signature) for who in (owner, stranger))
    wallet = evm.deploy("SmartWallet", owner.address)
    judge = "isValidSignature(bytes32,bytes)"
    assert evm.read(wallet, judge, digest, signature, returns="bytes4").hex() == "1626ba7e"
    assert evm.read(wallet, judge, digest, forged, returns="bytes4").hex() == "ffffffff"
    future = evm.read(factory, "predict(address,bytes32)", owner.address, bytes(32), returns="address")
    create = pack("create(address,bytes32)", owner.address, bytes(32))
    for inner, verdict in ((signature, 1), (forged, 0)):
        assert erc6492(evm, future, digest, factory, create, inner) == verdict
    assert evm.rpc("eth_getCode", future, "latest") == "0x"


def erc6492(evm: Evm, signer: str, digest: bytes, factory: str, create: bytes, inner: bytes) -> int:
    """Return the verdict of the validator, which runs as creation code without being deployed."""
    wrapped = pack("w(address,bytes,bytes)", factory, create, inner)[4:] + bytes.fromhex("6492" * 16)
    arguments = pack("v(address,bytes32,bytes)", signer, digest, wrapped)[4:]
    code = ARTIFACTS["Validator6492"]["bytecode"] + arguments.hex()
    return int(evm.rpc("eth_call", {"data": code}, "latest"), 16)


def test_logs_are_found_by_address_topic_and_block(evm: Evm) -> None:
    payer, payee = evm.person(10), evm.person()
    first = evm.head()
    hashes = [evm.transfer(payer, payee, amount) for amount in (1, 2)]
    payment_flows.fake_token(evm, payer, payee, 3)
    whom = "0x" + payee.address[2:].lower().rjust(64, "0")
    everything = {"fromBlock": hex(first), "toBlock": "latest"}
    found = evm.rpc("eth_getLogs", everything | {"address": evm.usdc, "topics": [None, None, [whom]]})
    assert [log["transactionHash"] for log in found] == hashes
    assert found == [evm.receipt(one)["logs"][0] for one in hashes]
    assert len(evm.rpc("eth_getLogs", everything | {"topics": [None, None, whom]})) == 3
    one = evm.receipt(hashes[1])
    assert [log["data"] for log in evm.rpc("eth_getLogs", {"blockHash": one["blockHash"]})] == ["0x" + f"{2:064x}"]


@pytest.fixture(scope="module")
def busy() -> DevChain:
    chain = DevChain(84532, still(BEGINNING))
    answer(chain, "dev_faucet", [SOMEBODY, 1])
    return chain


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(max_size=6),
    st.sampled_from(
        ["latest", "pending", "earliest", "0x", "0x0", "0x1", SOMEBODY, "0x" + "22" * 32, "0x60fe", "-0x1", "0x_1"]
    ),
)
_KEYS = st.sampled_from(
    ["from", "to", "data", "input", "value", "gas", "address", "topics", "fromBlock", "toBlock", "blockHash", "x"]
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=6
)


@settings(max_examples=400, deadline=None)
@given(method=st.sampled_from(sorted(set(METHODS) - {"evm_mine"})), params=st.lists(_VALUES, max_size=4))
def test_no_parameters_whatever_break_a_method(busy: DevChain, method: str, params: list[Any]) -> None:
    assert error_code(busy, method, params) in (None, -32000, -32602, 3)


def error_code(chain: DevChain, method: str, params: list[Any]) -> int | None:
    try:
        answer(chain, method, params)
    except RpcError as problem:
        return problem.code
    return None
