"""The story of a failed run: sentences about what was called, answered, sent and broken before the violation."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import orjson

IDS = re.compile(r"\b(?!agt_)[a-z]{3}_[0-9A-Z]{26}\b|\b0x[0-9a-f]{64}\b|\btaint[0-9]{8}\b")
LINES, FAULTS, LAST = 60, 20, 15  # about the things of the violation, faults among them, and the last ones of the run
CLOCKS = (
    "Times before the sentences are virtual time. Those in the violation and in records are of the market's clocks, "
    "which faults set up to 90 seconds off."
)
WIDE = 2_000  # characters of a record
ALIKE = 6  # lines in a row about one agent's calls of one operation; the others are counted
Line = dict[str, Any]
Calls = Mapping[int, Line]  # by number


def story(lines: Sequence[bytes], message: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences about the things that a message names, and about the end of the run.

    `names` are the handles of agents, by id.
    """
    read = [orjson.loads(line) for line in lines]
    calls = {line["number"]: line for line in read if line["kind"] == "call"}
    yield CLOCKS
    about, made = _about(read, lines, message)
    for heading, part in (("About the violation", about), ("The end of the run", read[-LAST:])):
        yield f"{heading}:"
        shown = [*_without_floods(part, calls)]
        for line in [*(one for one in shown[:-LINES] if one.get("number") in made), *shown[-LINES:]]:
            yield with_names(f"{line['at'][5:23].replace('T', ' ')}  {_sentence(line, calls)}", names)


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Replace the ids of agents by their handles."""
    return re.sub(r"agt_[0-9A-Z]{26}", lambda one: names.get(one[0], one[0]), text)


def _about(read: Sequence[Line], lines: Sequence[bytes], message: str) -> tuple[Sequence[Line], set[int]]:
    """Return the lines about the things that a message names, the last faults among them.

    The second part of the result are the numbers of the calls that made these things.
    """
    about = [one.encode() for one in dict.fromkeys(IDS.findall(message))]
    named = {one: [place for place, line in enumerate(lines) if one in line] for one in about}
    firsts = {places[0] for places in named.values() if places}
    told = {place for places in named.values() for place in places}
    numbers = _numbers(read, told)
    told |= {place for place, line in enumerate(read) if line.get("number") in numbers}
    first = min(told, default=len(lines))
    faults = [place for place in range(first, len(lines)) if read[place]["kind"] == "fault"]
    return [read[place] for place in sorted({*told, *faults[-FAULTS:]})], _numbers(read, firsts)


def _numbers(read: Sequence[Line], places: Iterable[int]) -> set[int]:
    """Return the numbers of the calls to which lines belong."""
    return {read[place]["number"] for place in places if "number" in read[place]}


def _without_floods(lines: Iterable[Line], calls: Calls) -> Iterator[Line]:
    """Yield the lines; of many alike in a row the first ones, their number and the last two."""

    def same(line: Line) -> tuple[str, str] | None:
        call = calls.get(line["number"]) if line["kind"] in ("call", "answer") else None
        return call and (call["agent"], call["operation"])

    for key, group in groupby(lines, same):
        alike = [*group]
        if key is None or len(alike) <= ALIKE:
            yield from alike
            continue
        yield from alike[: ALIKE - 2]
        yield {"at": alike[-2]["at"], "kind": "more", "agent": key[0], "operation": key[1], "lines": len(alike) - ALIKE}
        yield from alike[-2:]


def _sentence(line: Line, calls: Calls) -> str:
    number = f"#{line.get('number')}"
    match line["kind"]:
        case "call":
            given = orjson.dumps(line["given"]).decode()
            return f"{number} {_agent(line)} calls {line['operation']} over {line['wire']} with {given}."
        case "answer":
            call, what = calls.get(line["number"]), line["code"] or line["state"] or "a record"
            whose = f"{_agent(call)}'s {call['operation']}" if call else "An older call"
            return f"{number} {whose} is answered with {line['status']}, {what}."
        case "more":
            return f"There are {line['lines']} more lines about {_agent(line)}'s {line['operation']}."
        case "transfer":
            return f"{line['sender']} sends {line['amount']} to {line['payee']} in {line['hash']}."
        case "fault":
            more = {name: value for name, value in line.items() if name not in ("at", "kind", "fault")}
            return f"A fault: {line['fault']}{f' {more}' if more else ''}."
        case "record":
            return f"{number} This is the record: {orjson.dumps(line['record']).decode()[:WIDE]}"
        case "request":
            return f'{number} The cheat "{line["cheat"]}" sends {line["method"]} {line["path"]}.'
        case "reply":
            return f"{number} The request is answered with {line['status']}."
        case "abandoned":
            return f'The cheat "{line["cheat"]}" gives up: {line["why"]}.'
        case other:
            return f"{other}: {line}."


def _agent(line: Line) -> str:
    return str(line["agent"] or "a stranger")
