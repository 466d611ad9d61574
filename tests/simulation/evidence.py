"""The oracle of evidence: a case file has the parties' messages up to the first vote."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from sqlalchemy import select

from storage.query import Query
from storage.tables import DisputeRow, JobRow
from tests.simulation.oracles import Oracle
from tests.simulation.records import Json, Observation, Violation
from tests.simulation.taint import TOKEN

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

_threads: Query[Any] = Query(
    select(DisputeRow.__table__.c.id, JobRow.__table__.c.thread_id).where(DisputeRow.job_id == JobRow.id)
)
MESSAGE = 600  # characters that a message counts for at least
LEAST_CUT = 50 * MESSAGE  # the market leaves out what is over 100 messages or 128 KB of a party, notes of actions too


class Made(NamedTuple):
    """A call, by its number and that of the last call that began before its answer."""

    number: int
    ended: int

    def precedes(self, other: "Made") -> bool:
        return self.ended < other.number


@dataclass(frozen=True, slots=True)
class File:
    """The messages of a case file, as one answer showed them."""

    dispute_id: str
    made: Made
    tokens: frozenset[bytes]  # of the taint oracle, unique to each message
    is_whole: bool  # no message is left out


@dataclass(slots=True)
class Case:
    """The calls about a dispute."""

    voted: list[Made] = field(default_factory=list)  # accepted
    perhaps: list[Made] = field(default_factory=list)  # accepted or not, because an earlier attempt had no answer
    posted: dict[bytes, Made] = field(default_factory=dict)  # by token

    def late(self, file: File) -> Iterator[bytes]:
        """Yield each message of a file that was posted after a vote."""
        for token, made in self.posted.items():
            if token in file.tokens and any(vote.precedes(made) for vote in self.voted):
                yield token

    def missing(self, file: File) -> Iterator[bytes]:
        """Yield each message that a file lacks, although it was posted before it and any vote."""
        for token, made in self.posted.items():
            before = made.precedes(file.made) and all(made.precedes(vote) for vote in (*self.voted, *self.perhaps))
            if before and file.is_whole and token not in file.tokens:
                yield token


class Evidence(Oracle):
    """Each case file has the parties' messages up to the first vote, and no later one."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.posts: dict[str, dict[bytes, Made]] = {}  # by thread and token
        self.said: dict[str, int] = defaultdict(int)  # by thread: characters and messages
        self.cases: dict[str, Case] = {}
        self.files: list[File] = []

    def observe(self, seen: Observation) -> None:
        given, made = seen.call.arguments, Made(seen.call.number, self.simulation.made)
        match seen.call.operation:
            case "post_message" if not seen.answer.refused:
                self.said[given["thread_id"]] += MESSAGE + len(orjson.dumps([given["body"], given.get("data")]))
                for token in TOKEN.findall(given["body"].encode()):
                    self.posts.setdefault(given["thread_id"], {})[token] = made
            case "submit_verdict" if not seen.answer.refused:
                self._case(given["dispute_id"]).voted.append(made)
            case "submit_verdict" if seen.tries > 1:
                self._case(given["dispute_id"]).perhaps.append(made)
            case "get_dispute" if not seen.answer.refused and seen.answer.body.get("case"):
                self._read(seen.answer.body, made)

    def _case(self, dispute_id: str) -> Case:
        return self.cases.setdefault(dispute_id, Case())

    def _read(self, record: Json, made: Made) -> None:
        file = record["case"]
        tokens = frozenset(TOKEN.findall(orjson.dumps(file["messages"])))
        self.files.append(File(record["id"], made, tokens, not file["messages_truncated"]))

    async def look(self) -> None: ...

    async def at_end(self) -> None:
        threads = dict(await self.simulation.read(lambda tx: tx.all(_threads)))
        for dispute_id in {file.dispute_id for file in self.files}:
            self._case(dispute_id).posted = self.posts.get(threads[dispute_id], {})
        for file in self.files:
            case = self.cases[file.dispute_id]
            if not file.is_whole and self.said[threads[file.dispute_id]] < LEAST_CUT:
                raise Violation(f"the case file of {file.dispute_id} leaves messages out, and no party wrote many")
            for token in case.late(file):
                raise Violation(f"the case file of {file.dispute_id} has {token.decode()}, posted after a vote")
            for token in case.missing(file):
                raise Violation(f"the case file of {file.dispute_id} lacks {token.decode()}, posted before any vote")
