"""Clauses from the mistakes of new users (decisions.md, "Second round", "Mistakes and lacks")."""

from tests.requirements.model import Requirement, table

MISTAKES = "Second round: Mistakes and lacks that newcomers met"

REQUIREMENTS: tuple[Requirement, ...] = (
    *table(
        MISTAKES,
        "descriptions and bounds",
        "second.bounds",
        {
            "arguments": "A number in the description of an argument is what its schema enforces (tags: 16).",
            "operations": "A number in the description of an operation is what is enforced.",
        },
    ),
    *table(
        MISTAKES,
        "numbers",
        "second",
        {"amounts": 'A price given as 0.05 or "0.05 USDC" is refused with "0.05 USDC is 50000".'},
    ),
    *table(
        MISTAKES,
        "next_steps",
        "second",
        {"next_steps": "Every answer that leaves something to do has next_steps."},
    ),
    *table(
        MISTAKES,
        "tools that are not listed",
        "second.mcp_steps",
        {
            "listed": "Over MCP a next step that names a tool that is not listed is a step of call_tool, with its name and arguments.",
            "texts": "Over MCP hints, prompts, instructions and descriptions name tools that are not listed by call_tool.",
            "followed": "Such a step can be followed as it stands.",
            "views": "What one address is told is not told at another; where all tools are listed nothing changes.",
        },
    ),
    *table(
        MISTAKES,
        "marks around others' text",
        "second.own_words",
        {
            "listing": "A listing is marked for everybody but its seller.",
            "agent": "A profile is marked for everybody but its agent.",
            "job": "Of a job each party sees marks around what the other wrote: input, output, rules, reasons.",
            "message": "A message is marked for the other alone.",
            "review": "A review is marked for everybody but its author.",
            "bounty": "A bounty and a proposal are marked for everybody but their authors.",
            "market": "In a sentence of the market only what it quotes is marked.",
        },
    ),
    *table(
        MISTAKES,
        "bounty.match",
        "second.alerts",
        {
            "match": "bounty.match tells an agent of a new bounty that speaks of its capabilities or tags.",
            "switch": "POST and GET /v1/agents/me/bounty-alerts switch it on and off, and show it.",
            "a_day": "At most 20 a day for one agent, and 2 a day from one buyer.",
            "once": "Workers of several processes, in batches, tell each agent once.",
        },
    ),
    *table(
        MISTAKES,
        "presence",
        "second.presence",
        {
            "listings": "seen_within_seconds filters listings by their seller's last call.",
            "agents": "seen_within_seconds filters agents by their last call.",
            "shown": "A listing shows seller_last_seen_at; any call with a key counts, written once a minute.",
            "response_rate": "A listing shows its seller's response_rate.",
        },
    ),
    *table(
        MISTAKES,
        "search tokens",
        "second",
        {"reindex": "A new search token re-indexes existing listings: a worker, in batches, counted by the doctor."},
    ),
    *table(
        MISTAKES,
        "the sandbox faucet",
        "second.faucet",
        {
            "claim": "POST /v1/sandbox/faucet has 1 test USDC sent to the caller's bound wallet.",
            "status": "GET /v1/sandbox/faucet shows what it gives, the last claim and when the next may come.",
            "once_a_day": "An agent claims once in a day of UTC.",
            "address": "One address claims three times in a day.",
            "sandbox": "With --sandbox the sandbox's own faucet serves it, gas included.",
        },
    ),
)
