"""docs/lifecycle contains the whole table of transitions; llms-full.txt contains each document and operation."""

import re
from collections.abc import Iterator

import pytest

from protocol.docs.lifecycle import MEANS, TOOLS, diagram
from protocol.docs.skill import call_reference, skill_source
from protocol.docs.texts import Texts
from storage.vocabulary import FINAL, SELLER_FAILURES, Actor, JobStatus
from tests.support.fixed_market import house
from tools.catalogue import CATALOGUE
from tools.engine.config import Limits
from tools.engine.registry import Operation
from tools.jobs.lifecycle import LISTING_MOVES, MOVES, OPENINGS, WAITS

HOUSE = house(Limits())
TEXTS = Texts(CATALOGUE.values(), HOUSE)
OFFERED = [op for op in CATALOGUE.values() if op.auth != "admin"]


def section(text: str, title: str) -> str:
    return re.split(r"\n## ", text.split(f"\n## {title}\n", 1)[1], maxsplit=1)[0]


def rows(text: str, columns: int) -> Iterator[tuple[str, ...]]:
    for line in text.splitlines():
        cells = [cell.strip(" `") for cell in line.split("|")[1:-1]]
        if len(cells) == columns and not cells[0].startswith("-"):
            yield tuple(cells)


@pytest.mark.parametrize("status", [None, *JobStatus])
def test_a_state_has_a_row_for_every_move_out_of_it(status: JobStatus | None) -> None:
    text = section(TEXTS.lifecycle_md, status or "How a job begins")
    told = [(who, action, to, event) for who, action, _, _, to, event, _ in rows(text, 7)][1:]
    assert told == [
        (str(move.actor), move.action, str(move.target), str(move.event))
        for move in (*OPENINGS, *MOVES)
        if move.source is status
    ]
    assert ("Final. " in text) is (status in FINAL)


def test_every_state_is_explained_and_says_what_silence_brings() -> None:
    assert MEANS.keys() == {*JobStatus}
    assert re.findall(r"^## ([a-z_]+)$", TEXTS.lifecycle_md, re.MULTILINE) == [str(status) for status in MEANS]
    for status in JobStatus:
        told = [row[-1] for row in rows(section(TEXTS.lifecycle_md, status), 5)][1:]
        assert told == [wait.then for wait in WAITS if wait.status is status]


def test_what_an_agent_does_stands_there_as_a_call() -> None:
    """This includes moves of the panel and the buyer that are no action of the job itself."""
    calls = {(row[0], row[1]): row[2] for row in rows(TEXTS.lifecycle_md, 7) if row[0] in (*Actor,)}
    assert {who for (who, _), call in calls.items() if call == "—"} == {"clock", "operator"}
    assert calls["seller", "deliver"] == "deliver_job(job_id, output, message?, preview?, worker?)"
    assert calls["panel", "resolve"] == call_reference(CATALOGUE["submit_verdict"])
    moves = {(move.action, move.actor) for move in (*OPENINGS, *MOVES)}
    assert TOOLS.keys() <= moves
    assert all({*names} & CATALOGUE.keys() for names in TOOLS.values())


def test_what_a_move_needs_is_said_in_the_words_of_its_guard() -> None:
    told = {row[3] for row in rows(TEXTS.lifecycle_md, 7)}
    assert {"sealed, past pay_by", "revealed, past review_by", "upfront and not free", "past deliver_by + 1 h"} <= told


def test_what_stands_on_somebodys_record_is_said() -> None:
    counted = {row[6] for row in rows(TEXTS.lifecycle_md, 7)} - {"counts as", "—"}
    assert counted == {"the seller's failure", "unpaid by the buyer"}
    failures = [row for row in rows(TEXTS.lifecycle_md, 7) if row[6] == "the seller's failure"]
    assert len(failures) == len([move for move in MOVES if move.closes in SELLER_FAILURES])


def test_the_picture_has_an_arrow_for_every_move_that_is_offered() -> None:
    _, drawn = re.findall(r"```mermaid\n(.*?)\n```", TEXTS.lifecycle_md, re.DOTALL)
    assert drawn == diagram()
    picture = drawn.splitlines()
    assert picture[0] == "stateDiagram-v2"
    assert "    delivered --> completed: clock complete (revealed, past review_by)" in picture
    arrows = [move for move in (*OPENINGS, *MOVES) if move.listed]
    assert len(picture) == len(arrows) + 1
    assert not [line for line in picture if ";" in line or line.count(":") > 1]  # either would end the label


def test_the_usual_way_is_made_of_moves_of_the_table() -> None:
    usual, _ = re.findall(r"```mermaid\n(.*?)\n```", TEXTS.lifecycle_md, re.DOTALL)
    assert usual.splitlines() == [
        "flowchart TD",
        "    step1[buyer order] -->|open| step2[seller accept]",
        "    step2[seller accept] -->|in_progress| step3[seller deliver]",
        "    step3[seller deliver] -->|delivered, sealed| step4[buyer pay]",
        "    step4[buyer pay] -->|delivered, revealed| step5[buyer accept]",
        "    step5[buyer accept] -->|completed| step6[both review]",
    ]


def test_deadlines_are_this_markets_own() -> None:
    text = section(TEXTS.lifecycle_md, "Deadlines")
    windows = {row[0]: row[2:] for row in rows(text, 4)}
    assert windows["review_by"] == ("15 minutes", "15 minutes")
    assert windows["verdict_by"] == ("10 minutes", "10 minutes")
    listed = {wait.deadline for wait in WAITS if wait.deadline} | {move.deadline for move in MOVES if move.deadline}
    assert listed <= windows.keys()


def test_every_move_of_a_listing_has_its_row() -> None:
    told = list(rows(section(TEXTS.lifecycle_md, "Listings"), 4))[1:]
    assert told == [(move.source, move.actor, move.action, move.target) for move in LISTING_MOVES]


def test_the_full_text_holds_every_document_under_its_address() -> None:
    parts = TEXTS.llms_full_txt.split("\n\n---\n\n")
    sources = [part.split("\n", 1)[0] for part in parts[1:-1]]
    assert sources == [f"Source: {HOUSE.base_url}{path}" for path in TEXTS.documents]
    for part, text in zip(parts[1:-1], TEXTS.documents.values(), strict=True):
        body = part.split("\n\n", 1)[1].strip()
        assert body
        assert text.strip().endswith(body)
    assert skill_source().startswith("---\n")
    assert "\nname: emporion\n" not in TEXTS.llms_full_txt


@pytest.mark.parametrize("op", OFFERED, ids=lambda op: op.name)
def test_the_full_text_describes_each_operation_with_all_it_takes(op: Operation) -> None:
    reference = TEXTS.llms_full_txt.split("\n# Operations\n")[1]
    text = section(reference, op.name)
    assert f"`{op.method} {op.path}`" in text
    assert op.description in text
    fields = [name for name, *_ in rows(text, 3)][1:]
    assert sorted(fields) == sorted(op.input.model_fields)
    assert all(error.code in text for error in op.errors)
    assert all(f"`{scope}`" in text for scope in op.scopes if op.auth == "key")


def test_the_operators_own_are_in_neither() -> None:
    admin = [op.name for op in CATALOGUE.values() if op.auth == "admin"]
    assert admin
    assert not [name for name in admin if name in TEXTS.llms_full_txt]
