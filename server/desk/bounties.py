"""The operator's bounties: read from a file and posted once each by the desk's agent.

Proposals are shown, and the operator awards. The market knows which bounties are posted: the name of each is its first tag.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from emporion_client import AsyncMarket, MarketError
from server.desk.offers import JsonObject
from server.settings import BadSettings
from tools.bounties.operations import BountyWork, CreateBounty
from tools.engine.arguments import read_arguments
from tools.engine.documents import judge_schema
from tools.engine.errors import InvalidRequest
from tools.listings.acceptance import judge_rules

NAME = re.compile(r"[a-z0-9][a-z0-9-]{1,47}")
SAID = ("title", "description", "category", "tags", "budget_max", "input")
CHANGED = "The file says otherwise than what is open: `emporion desk close` it, then post again."
OVER = "It was {status}. Under another name, or in other words, it is posted anew."


@dataclass(frozen=True, slots=True)
class Wanted:
    """A bounty of the file, as create_bounty takes it; its name is the first of its tags."""

    name: str
    body: JsonObject

    def is_said_in(self, bounty: JsonObject) -> bool:
        return all(bounty[part] == self.body[part] for part in SAID)

    def is_due(self, last: JsonObject | None) -> bool:
        """Tell whether to post it, given the last bounty of its name.

        An expired bounty is posted again. A decided one is not.
        """
        if last is None or last["status"] == "expired":
            return True
        return last["status"] != "open" and not self.is_said_in(last)

    def repeat(self, last: JsonObject | None) -> str:
        """Return the Idempotency-Key, so that a repeated or concurrent post makes one bounty."""
        after = None if last is None else last["id"]
        return f"desk-bounty-{sha256(orjson.dumps([self.body, after], option=orjson.OPT_SORT_KEYS)).hexdigest()}"


def read_bounties(path: Path) -> list[Wanted]:
    """Read the bounties of a file; raise BadSettings with a line for each fault in it."""
    try:
        told = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise BadSettings(f"{path}: no JSON: {error}") from None
    if not isinstance(told, list):
        raise BadSettings(f"{path}: a JSON array of bounties, each with a name and what create_bounty takes")
    wanted, faults = list[Wanted](), list[str]()
    for place, one in enumerate(told):
        found = list(_faults(one, [known.name for known in wanted]))
        faults += [f"{path}: [{place}] {fault}" for fault in found]
        if not found:
            asked = read_arguments(CreateBounty, _body(one))
            wanted.append(Wanted(one["name"], asked.model_dump(mode="json", exclude_unset=True)))
    if faults:
        raise BadSettings("\n".join(faults))
    return wanted


async def post_bounties(market: AsyncMarket, wanted: Sequence[Wanted]) -> list[JsonObject]:
    """Post the bounties that are due; return those of the file, then the desk's other open ones.

    Each has the proposals on it.
    """
    last, other = await _posted(market, {one.name for one in wanted})
    told = [await _post(market, one, last.get(one.name)) for one in wanted]
    told += [{"name": None, "did": "kept", "bounty": bounty} for bounty in other]
    for one in told:
        if one.get("bounty"):
            proposals = market.pages("list_proposals", bounty_id=one["bounty"]["id"], limit=100)
            one["proposals"] = [proposal async for proposal in proposals]
    return told


async def _posted(market: AsyncMarket, names: set[str]) -> tuple[dict[str, JsonObject], list[JsonObject]]:
    """Return the last bounty of each name, and the open bounties with other names."""
    last, other = dict[str, JsonObject](), list[JsonObject]()
    async for brief in market.pages("list_my_bounties", limit=100):
        name = next(iter(brief["tags"]), None)
        if name in names:
            if name not in last:  # the newest comes first; lists cut descriptions
                last[name] = dict(await market.get_bounty(bounty_id=brief["id"]))
        elif brief["status"] == "open":
            other.append(brief)
    return last, other


async def _post(market: AsyncMarket, one: Wanted, last: JsonObject | None) -> JsonObject:
    if one.is_due(last):
        try:
            bounty = await market.create_bounty(**one.body, idempotency_key=one.repeat(last))
        except MarketError as refused:
            return {"name": one.name, "did": "refused", "note": str(refused)}
        return {"name": one.name, "did": "posted", "bounty": bounty}
    assert last is not None
    if last["status"] != "open":
        return {"name": one.name, "did": "nothing", "note": OVER.format(status=last["status"]), "bounty": last}
    note = {} if one.is_said_in(last) else {"note": CHANGED}
    return {"name": one.name, "did": "kept", **note, "bounty": last}


def _body(one: JsonObject) -> JsonObject:
    """Return the arguments of create_bounty for an entry."""
    body = {name: value for name, value in one.items() if name != "name"}
    tags = body.get("tags") or []
    return {**body, "tags": [one["name"], *tags] if isinstance(tags, list) else tags}


def _faults(one: Any, taken: Sequence[str]) -> Iterator[str]:
    """Yield the faults of an entry, in the words of the market if it has some."""
    if not isinstance(one, dict):
        yield "not an object"
        return
    name = one.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield "name: 2 to 48 of a-z, 0-9 and -; it is the bounty's first tag, and tells it from the others for good"
        return
    if name in taken:
        yield f"name: {name} stands before in this file"
    try:
        asked = read_arguments(CreateBounty, _body(one))
        assert isinstance(asked, CreateBounty)
        yield from _unheld(asked.input or BountyWork.model_validate({}))
    except InvalidRequest as refused:
        yield from (f"{fault['param']}: {fault['message']}" for fault in refused.details["violations"])


def _unheld(given: BountyWork) -> Iterator[str]:
    """Yield what is wrong with the acceptance rules of a bounty; it must have some."""
    for name, schema in (("deliverable_schema", given.deliverable_schema), ("preview_schema", given.preview_schema)):
        if schema is None:
            yield f"input.{name}: missing; an operator's bounty says what a delivery and its preview must hold"
        judge_schema(schema, f"input.{name}")
    judge_rules(given.acceptance, "input.acceptance")
