"""The grades of this market's own tools, their bounds, and a table of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from protocol.mcp.tools import call_tool, tool_of
from protocol.mcp.toolsets import CALL, View, shown
from protocol.mcp.wording import Wording
from tests.evaluation import Graded, grade
from tests.evaluation.questions import Hits, measure, questions
from tools.catalogue import CATALOGUE
from tools.discovery.market_operations import tool_search
from tools.engine.caller import Surface

MIN_SCORE = 95  # of each tool
MIN_HITS = Hits(0.85, 0.97)  # of questions that nothing was tuned on
MAX_LISTED = 24  # tools in tools/list of a new client
MAX_LISTED_TOKENS = (
    7_550  # of these: names, descriptions and inputs. It is 8,000 tokens of o200k, which counts 6 % more
)
MAX_SCHEMA_TOKENS = 23_000  # of these: output schemas, which clients do not give to the model
MAX_ANSWER_TOKENS = 8_000  # of a page of ten records


@dataclass(frozen=True, slots=True)
class Report:
    """Every tool's grade, the tools listed to a new client, and the tokens of typical answers."""

    tools: list[Graded]
    listed: list[Graded]
    answers: Mapping[str, int]
    tuned: Hits = MIN_HITS  # of find_tools
    untuned: Hits = MIN_HITS

    @property
    def broken(self) -> list[str]:
        """The broken bounds."""
        low = [f"{tool.name}: {tool.score} < {MIN_SCORE}" for tool in self.tools if tool.score < MIN_SCORE]
        held = {
            f"find_tools finds {self.untuned.first:.0%} first": self.untuned.first >= MIN_HITS.first,
            f"find_tools finds {self.untuned.best:.0%} in the best three": self.untuned.best >= MIN_HITS.best,
            f"{len(self.listed)} tools are listed": len(self.listed) <= MAX_LISTED,
            f"tools/list takes {self.listed_tokens} tokens": self.listed_tokens <= MAX_LISTED_TOKENS,
            f"output schemas take {self.schema_tokens} tokens": self.schema_tokens <= MAX_SCHEMA_TOKENS,
            **{f"{name} answers {size} tokens": size <= MAX_ANSWER_TOKENS for name, size in self.answers.items()},
        }
        return [*low, *(bound for bound, holds in held.items() if not holds)]

    @property
    def listed_tokens(self) -> int:
        return sum(tool.input_tokens for tool in self.listed)

    @property
    def schema_tokens(self) -> int:
        return sum(tool.output_tokens for tool in self.listed)


def made(answers: Mapping[str, int]) -> Report:
    """Grade the tools as a new client sees them; `answers` has the tokens of typical answers."""
    offered = [op for op in CATALOGUE.values() if Surface.MCP in op.surfaces]
    listed = shown(View(), offered)
    wording = Wording(frozenset(op.name for op in offered).difference(listed))
    tools = {CALL: call_tool(is_anonymous=True, unlisted=wording.hidden)} | {
        op.name: wording.tool(tool_of(op, is_anonymous=True)) for op in offered
    }
    graded = {one.name: one for one in grade(tools.values())}
    hits = [measure(half, tool_search().find) for half in questions()]
    return Report([*graded.values()], [graded[name] for name in listed], answers, *hits)


def printed(report: Report) -> Iterator[str]:
    """Yield the lines of the table, the totals, and the broken bounds."""
    first = {tool.name for tool in report.listed}
    yield f"{'tool':28} {'score':>5} {'input':>6} {'output':>6} {'arguments':>9}  findings (* is listed first)"
    for tool in sorted(report.tools, key=lambda one: (one.score, one.name)):
        name = tool.name + ("*" if tool.name in first else "")
        yield f"{name:28} {tool.score:5} {tool.input_tokens:6} {tool.output_tokens:6} {tool.parameters:9}  {'; '.join(tool.findings)}"
    yield ""
    yield f"{'answer of':28} {'tokens':>6}"
    yield from (f"{name:28} {size:6}" for name, size in report.answers.items())
    yield ""
    worst = min(report.tools, key=lambda tool: tool.score)
    yield f"{len(report.tools)} tools, the worst is {worst.name} with {worst.score}"
    yield (
        f"{len(report.listed)} listed first: {report.listed_tokens} tokens of names, descriptions and inputs, "
        f"{report.schema_tokens} of output schemas"
    )
    for half, hits in (("tuned on", report.tuned), ("not tuned on", report.untuned)):
        yield f"find_tools, questions {half}: {hits.first:.0%} first, {hits.best:.0%} in the best three"
    yield from (f"BROKEN: {bound}" for bound in report.broken)
