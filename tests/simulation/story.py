"""The story of a failed run: sentences about what was called, answered, sent and broken before the violation."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

IDS = re.compile(r"\b(?!agt_)[a-z]{3}_[0-9A-Z]{26}\b|\b0x[0-9a-f]{64}\b")
LINES, FAULTS, LAST = 60, 20, 15  # about the things of the violation, faults among them, and the last ones of the run


def story(lines: Sequence[bytes], message: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences about the things that a message names, and about the end of the run.

    `names` are the handles of agents, by id.
    """
    parts = {"About the violation": _about(lines, message), "The end of the run": lines[-LAST:]}
    read = {heading: [orjson.loads(line) for line in part] for heading, part in parts.items()}
    calls = {line["number"]: line for part in read.values() for line in part if line["kind"] == "call"}
    for heading, part in read.items():
        yield f"{heading}:"
        for line in part:
            text = f"{line['at'][5:23].replace('T', ' ')}  {_sentence(line, calls)}"
            yield re.sub(r"agt_[0-9A-Z]{26}", lambda one: names.get(one[0], one[0]), text)


def _about(lines: Sequence[bytes], message: str) -> list[bytes]:
    """Return the last lines about the things that a message names, with the faults among them."""
    about = [one.encode() for one in dict.fromkeys(IDS.findall(message))]
    places = [place for place, line in enumerate(lines) if any(one in line for one in about)][-LINES:]
    first = places[0] if places else len(lines)
    faults = [place for place in range(first, len(lines)) if b'"fault"' in lines[place]]
    return [lines[place] for place in sorted({*places, *faults[-FAULTS:]})]


def _sentence(line: dict[str, Any], calls: Mapping[int, dict[str, Any]]) -> str:
    number = f"#{line.get('number')}"
    match line["kind"]:
        case "call":
            given = orjson.dumps(line["given"]).decode()
            return (
                f"{number} {line['agent'] or 'a stranger'} calls {line['operation']} over {line['wire']} with {given}."
            )
        case "answer":
            what = line["code"] or line["state"] or "a record"
            call = calls.get(line["number"])
            whose = f"{call['agent'] or 'a stranger'}'s {call['operation']}" if call else "the call"
            return f"{number} {whose} is answered with {line['status']}, {what}."
        case "transfer":
            return f"{line['sender']} sends {line['amount']} to {line['payee']} in {line['hash']}."
        case "fault":
            more = {name: value for name, value in line.items() if name not in ("at", "kind", "fault")}
            return f"A fault: {line['fault']}{f' {more}' if more else ''}."
        case "request":
            return f'{number} The cheat "{line["cheat"]}" sends {line["method"]} {line["path"]}.'
        case "reply":
            return f"{number} The request is answered with {line['status']}."
        case "abandoned":
            return f'The cheat "{line["cheat"]}" gives up: {line["why"]}.'
        case other:
            return f"{other}: {line}."
