"""The documents for agents name only what exists, name all of it, and their instructions work."""

import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson
import pytest
import skills_ref
from eth_account import Account
from nacl.signing import SigningKey

from protocol.docs.skill import BLOCK, duration, free_usdc, refreshed
from protocol.docs.texts import MAX_LINE, Calls, Texts, events_text
from protocol.mcp.texts import Texts as McpTexts
from server.settings import Settings, config_of
from tests.support.documented_names import HOUSE, OPENAPI, OPERATIONS, ROOT, TEXTS, pages, routed
from tests.support.fixed_market import house
from tests.support.html_reader import words
from tools.catalogue import CATALOGUE, every_error
from tools.chain.wallet_proof import recover
from tools.engine.arguments import read_arguments
from tools.engine.config import Limits, MarketConfig
from tools.engine.json_schemas import output_schema
from tools.engine.registry import Operation
from tools.events.payloads import PAYLOADS
from tools.events.types import KINDS
from tools.jobs.lifecycle import MOVES
from tools.kernel.keys import verify_ed25519

SKILL = ROOT / "skill.md"
DOCUMENTS = {"skill.md": TEXTS.skill_md, "llms.txt": TEXTS.llms_txt, "llms-full.txt": TEXTS.llms_full_txt}
CODE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


@pytest.fixture
def defaults(monkeypatch: pytest.MonkeyPatch) -> MarketConfig:
    """The default settings, which skill.md in the repository is written for."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"EMPORION_{name.upper()}", raising=False)
    return config_of(Settings(_env_file=None), bytes(32))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_operation_stands_in_the_document(name: str) -> None:
    missing = [op.name for op in OPERATIONS if op.auth != "admin" and not re.search(rf"\b{op.name}\b", DOCUMENTS[name])]
    assert missing == []


def test_the_files_blocks_are_fresh(defaults: MarketConfig) -> None:
    """If this fails, run the following lines:

    path, config = Path("skill.md"), config_of(Settings(_env_file=None), bytes(32))
    path.write_text(refreshed(path.read_text(), CATALOGUE.values(), config))
    """
    text = SKILL.read_text(encoding="utf-8")
    assert text == refreshed(text, OPERATIONS, defaults)
    assert [found[2] for found in BLOCK.finditer(text)] == ["environments", "binding", "signing", "retries", "tools"]


def test_a_stale_block_is_rewritten_and_the_prose_is_kept(defaults: MarketConfig) -> None:
    text = SKILL.read_text(encoding="utf-8")
    assert refreshed(text.replace("`get_me(address?)`", "`get_you(address?)`"), OPERATIONS, defaults) == text


def test_the_served_skill_is_of_this_market_alone() -> None:
    assert "127.0.0.1" not in TEXTS.skill_md
    assert "service:wallet" not in TEXTS.skill_md
    assert "<!--" not in TEXTS.skill_md
    assert "emporion:wallet:<agent_id>:<address_lowercase>" in TEXTS.skill_md
    assert "https://market.example/mcp" in TEXTS.skill_md


@pytest.mark.parametrize("text", [TEXTS.skill_md, SKILL.read_text(encoding="utf-8")], ids=["served", "file"])
def test_the_skill_is_valid_for_agents_that_load_skills(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "emporion"
    folder.mkdir()
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    assert skills_ref.validate(folder) == []
    assert len(text.split("---\n", 2)[2].splitlines()) < 500


def test_every_call_of_the_skill_is_accepted_as_it_stands() -> None:
    calls = [orjson.loads(body) for language, body in CODE.findall(TEXTS.skill_md) if language == "json"]
    assert len(calls) >= 14
    for call in calls:
        op = CATALOGUE[call["tool"]]
        if "<" in str(call["arguments"].get("signature")):
            assert set(call["arguments"]) == {
                name for name, field in op.input.model_fields.items() if field.is_required()
            }
            continue
        read_arguments(op.input, call["arguments"])


def test_signing_as_the_skill_says_binds_the_wallet() -> None:
    binding, changing = [
        body for language, body in CODE.findall(TEXTS.skill_md) if "proof = " in body or "Account" in body
    ]
    wallet, agent = Account.create(), SigningKey(b"\x09" * 32)
    place = {"agent_id": "agt_1", "address": wallet.address, "wallet_key": wallet.key}
    place["secret_key"] = bytes(agent).hex()
    exec(binding + changing, place)
    assert place["text"] == f"emporion:wallet:agt_1:{wallet.address.lower()}"
    assert recover(place["text"], place["signature"]) == wallet.address
    assert verify_ed25519(bytes(agent.verify_key), place["text"].encode(), place["proof"])


def test_llms_txt_has_the_shape_its_readers_parse() -> None:
    lines = TEXTS.llms_txt.splitlines()
    assert lines[:3] == ["# emporion", "", lines[2]]
    assert lines[2].startswith("> ")
    first = next(at for at, line in enumerate(lines) if line.startswith("## "))
    assert not any(line.startswith("#") for line in lines[1:first])
    for line in lines[first:]:
        assert re.fullmatch(r"|## \w[\w ]*|- \[[^\]]+\]\([^ )]+\): .+", line), line


def test_each_operation_in_llms_txt_links_to_its_entry() -> None:
    linked = dict(re.findall(r"- \[(\w+)\]\(https://market\.example/openapi\.json#([^)]+)\)", TEXTS.llms_txt))
    assert {name: at_pointer(pointer)["operationId"] for name, pointer in linked.items()} == {
        op.name: op.name for op in CATALOGUE.values() if op.auth != "admin"
    }


def test_every_error_has_its_anchor_and_says_what_to_do() -> None:
    assert re.findall(r"^## (\w+)$", TEXTS.errors_md, re.MULTILINE) == [error.code for error in every_error()]
    for error in every_error():
        section = TEXTS.errors_md.split(f"\n## {error.code}\n")[1].split("\n## ")[0]
        assert f"Status {error.status}, type {error.type}. " in section
        assert error.usual_hint in section
        assert ("The same call can work later." in section) is error.retryable


def test_an_error_names_the_operations_that_answer_with_it() -> None:
    answered = dict(re.findall(r"^## (\w+)\n.*?^Answered by: ([^\n]*)\.$", TEXTS.errors_md, re.MULTILINE | re.DOTALL))
    assert answered["wallet_signature_invalid"] == "set_wallet_address, claim_x402_account"
    assert answered["payment_required"] == "pay_job"
    assert answered["rate_limited"] == answered["overloaded"] == answered["host_not_allowed"] == "any call"


def test_every_kind_of_event_that_can_happen_is_described_and_typed_for_webhooks() -> None:
    described = re.findall(r"^## (\w+\.\w+)$", TEXTS.events_md, re.MULTILINE)
    assert described == list(PAYLOADS)
    assert set(OPENAPI["webhooks"]) == {"event", *PAYLOADS}
    assert {move.event for move in MOVES} - {None, "job.resolved"} <= set(PAYLOADS) <= KINDS
    section = TEXTS.events_md.split("\n## job.paid\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == [
        "settlement_id", "transaction", "network", "amount", "amount_display", "output_revealed",
    ]  # fmt: skip


def test_every_command_of_the_quickstart_reaches_an_operation() -> None:
    shell = [body for language, body in CODE.findall(TEXTS.quickstart_md) if language == "sh"]
    assert max(len(line) for body in shell for line in body.splitlines()) <= MAX_LINE + len("  \\ ")
    commands = [one for body in shell for one in re.split(r"\n(?=curl )", body.replace("\\\n", " ").strip())]
    called = [operation_of(shlex.split(command)) for command in commands]
    assert [op.name for op in called if op] == [
        "search_listings", "register_agent", "get_me", "set_wallet_address", "get_listing", "create_job", "get_job",
        "pay_job", "pay_job", "accept_job", "review_job", "get_receipt", "create_listing", "list_events", "list_jobs",
        "list_events", "accept_job", "deliver_job",
    ]  # fmt: skip
    assert len([op for op in called if op is None]) == 1  # the message over A2A


def test_a_long_command_has_a_line_for_each_option_and_means_the_same() -> None:
    calls, text = Calls(OPERATIONS, HOUSE), "x" * MAX_LINE
    short, long = calls.curl("get_me"), calls.curl("post_message", thread_id="$THREAD", body=text)
    assert "\n" not in short
    assert long.startswith('curl -s -X POST "https://market.example/v1/threads/$THREAD/messages" \\\n  -H ')
    words = shlex.split(long.replace("\\\n", " "))
    assert words[4:] == [
        "https://market.example/v1/threads/$THREAD/messages", "-H", "X-API-Key: $API_KEY",
        "-H", "Content-Type: application/json", "-d", words[-1],
    ]  # fmt: skip
    assert orjson.loads(words[-1]) == {"body": text}


def test_every_text_on_waiting_teaches_the_same() -> None:
    """A seller waits with list_events and reads list_jobs; a buyer waits with get_job."""
    told = {
        name: f"{name} {CATALOGUE[name].description}" for name in ("list_events", "get_job", "get_inbox", "create_job")
    }
    for text in (TEXTS.skill_md, TEXTS.quickstart_md, TEXTS.events_md, told["list_events"]):
        assert {"list_events", "list_jobs", "wait_seconds", "since"} <= {*words(text)}
    for text in (TEXTS.skill_md, TEXTS.quickstart_md, told["get_job"], told["create_job"]):
        assert {"get_job", "wait_seconds"} <= {*words(text)}
    for text in (TEXTS.skill_md, told["get_inbox"]):
        assert {"get_inbox", "since", "next_since", "wait_seconds"} <= {*words(text)}
    assert not [name for name, text in DOCUMENTS.items() if "every few seconds" in text]


def test_a_call_that_is_not_registered_cannot_be_written_down() -> None:
    calls = Calls(OPERATIONS, HOUSE)
    with pytest.raises(KeyError, match="sell_soul"):
        calls.curl("sell_soul")
    with pytest.raises(TypeError, match="get_job has no argument"):
        calls.curl("get_job", id="job_1")


def test_limits_that_are_off_are_said_to_be_off() -> None:
    assert "writes 120 per minute" in TEXTS.quickstart_md
    assert "register 20 per hour" in TEXTS.quickstart_md
    assert "switched rate limits off" in Texts(OPERATIONS, house(Limits(enforced=False))).quickstart_md


def test_the_sandbox_says_how_its_faucet_is_asked(defaults: MarketConfig) -> None:
    sandbox = config_of(Settings(_env_file=None), bytes(32), "http://127.0.0.1:8545")
    live, test = sandbox.networks.values()
    assert free_usdc(live) == "none"
    assert free_usdc(test).startswith('`claim_test_funds`, or JSON-RPC `dev_faucet ["<address>", <amount>]`')
    assert [free_usdc(network) for network in defaults.networks.values()] == ["none", "https://faucet.circle.com"]


def test_the_form_that_is_signed_is_told_under_both_its_names() -> None:
    canonical = output_schema(CATALOGUE["get_receipt"])["$defs"]["Signature"]["properties"]["canonical"]
    assert canonical["const"] == "json-sorted-keys"
    assert "RFC 8785" in canonical["description"]
    assert "RFC 8785 form of `receipt` (its `canonical` says json-sorted-keys" in TEXTS.skill_md


@pytest.mark.parametrize(
    "seconds, said", [(3600, "1 hour"), (259_200, "72 hours"), (900, "15 minutes"), (90, "90 seconds")]
)
def test_spans_are_said_in_whole_units(seconds: int, said: str) -> None:
    assert duration(seconds) == said


def test_the_index_leads_to_everything() -> None:
    index = TEXTS.index_json
    assert (index["object"], index["name"], index["version"]) == ("platform", "emporion", HOUSE.version)
    for start in index["start"]:
        op = CATALOGUE[start["tool"]]
        assert (start["method"], start["path"]) == (op.method, op.path)
        assert op.auth != "key"
    assert {urlsplit(url).path for url in index["docs"].values()} <= set(pages())
    assert TEXTS.index_md.startswith("# emporion\n")


def test_mcp_can_serve_the_texts() -> None:
    served: McpTexts = TEXTS
    assert (served.version, served.skill_md[:4], served.llms_txt[:2]) == (HOUSE.version, "---\n", "# ")


def test_the_states_of_the_skill_are_states_of_the_table() -> None:
    rows = re.findall(r"^\| `(\w+)`.*\| `(\w+)`.*\|$", TEXTS.skill_md, re.MULTILINE)
    waits = [row for row in rows if row[0] not in CATALOGUE]
    moves = {(str(move.source), str(move.target)) for move in MOVES if move.actor == "clock"}
    assert waits
    assert set(waits) == moves - {("quote_requested", "expired"), ("quoted", "expired")}


def operation_of(words: list[str]) -> Operation | None:
    """Return the operation that a curl command calls."""
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    (url,) = [word for word in words if word.startswith("https://")]
    op = routed(method, urlsplit(url).path)
    if op and "-d" in words:
        sent = orjson.loads(words[words.index("-d") + 1])
        assert set(sent) <= set(op.input.model_fields)
    return op


def at_pointer(pointer: str) -> Any:
    place: Any = OPENAPI
    for name in unquote(pointer).removeprefix("/").split("/"):
        place = place[name.replace("~1", "/").replace("~0", "~")]
    return place


def test_every_kind_of_event_is_told_in_a_sentence_of_its_own() -> None:
    text = events_text()
    assert "The data of" not in text
    assert "| ; " not in text
    assert text.count("may be absent |") == 3


def test_what_strangers_stumbled_over_is_said() -> None:
    hints = {error.code: error.usual_hint for error in every_error()}
    skill = " ".join(TEXTS.skill_md.split())
    for text in (hints["wallet_address_required"], skill):
        assert "once per environment" in text
    assert "the most votes decide, even a single one; a tie or no vote goes to the operator" in skill
    assert "(a `rotate_key` with the new key)" in skill
    assert "0: only where there is nothing yet" in skill
