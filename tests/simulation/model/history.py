"""Keep the states that a thing was seen in, and find those it may have been in at a moment."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import pairwise

from tests.simulation.model.observe import Rule, Sight, Span

TIME = "time"
PANEL, VERDICT = "panel", "verdict"  # what evaluators do to their case, and to its job
Moves = Mapping[str, tuple[tuple[str, str], ...]]


class Graph:
    """A lifecycle without circles: for each state its moves, as pairs of label and next state.

    A label is `action:role`, TIME for a deadline, or another cause that a caller knows.
    """

    def __init__(self, moves: Moves, starts: Iterable[str]) -> None:
        self.moves, self.starts = moves, tuple(starts)
        self.after = {state: frozenset(self._after(state)) for state in moves}

    def _after(self, state: str) -> Iterator[str]:
        for _, to in self.moves[state]:
            yield to
            yield from self._after(to)

    def leads(self, state: str, to: str) -> bool:
        return to in self.after[state]

    def final(self, state: str) -> bool:
        return not self.moves[state]

    def path(self, state: str, to: str, usable: Callable[[str, str], bool]) -> bool:
        """Say if usable moves lead from a state to another.

        `usable` gets the label of a move and the state before it.
        """
        for label, step in self.moves[state]:
            fits = step == to or to in self.after[step]
            if fits and usable(label, state) and (step == to or self.path(step, to, usable)):
                return True
        return False


@cache
def label(action: str, role: str) -> str:
    return f"{action}:{role}"


@dataclass(slots=True)
class Call:
    """A call that may have made a move.

    `state` is the one that its answer showed, or None if no answer arrived.
    """

    label: str
    span: Span
    state: str | None = None
    detail: object = None


@dataclass(slots=True)
class Visit:
    """A state that was seen: before answer `first_high`, and still after answer `last_low`."""

    state: str
    first: Span
    first_high: float
    last_low: float
    due: datetime | None = None  # when the clock ends it


@dataclass(slots=True)
class History:
    """The chain of states of one thing, and all calls that may have moved it."""

    graph: Graph
    subject: str
    visits: list[Visit] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def last(self) -> Visit:
        return self.visits[-1]

    def find(self, state: str) -> Visit | None:
        return next((one for one in self.visits if one.state == state), None)

    def show(self, state: str, sight: Sight) -> tuple[Visit, bool]:
        """Put a state that an answer shows into the chain; say if it is new there."""
        place = self._place(state, sight)
        span = sight.span
        found = place < len(self.visits) and self.visits[place].state == state
        if found and self.visits[place + 1 :]:
            self._set_back(place, span)
        earlier, later = self.visits[:place], self.visits[place + found :]
        if any(one.first_high <= span.low for one in later):
            sight.fail(Rule.ORDER, f"{state} is shown after {later[0].state} was seen", self.subject)
        if any(one.last_low >= span.high for one in earlier):
            sight.fail(Rule.ORDER, f"{state} is shown before {earlier[-1].state} was seen", self.subject)
        if found:
            visit = self.visits[place]
            visit.first_high, visit.last_low = min(visit.first_high, span.high), max(visit.last_low, span.low)
        else:
            visit = Visit(state, span, span.high, span.low)
            self.visits.insert(place, visit)
        return visit, not found

    def _set_back(self, place: int, span: Span) -> None:
        """Forget the states that a deadline began, if a clock shows an earlier time again."""
        if self._is_set_back(place, span):
            del self.visits[place + 1 :]

    def _is_set_back(self, place: int, span: Span) -> bool:
        """Tell if only deadlines ended this visit, but a later call began before them again."""
        visit, following = self.visits[place : place + 2]
        timed = all((TIME, to.state) in self.graph.moves[one.state] for one, to in pairwise(self.visits[place:]))
        back = visit.due is not None and span.began < visit.due <= following.first.ended
        return timed and back and following.first_high <= span.low and not self._called(visit, following)

    def _called(self, visit: Visit, following: Visit) -> bool:
        """Tell if the answer of a call shows that it began the state after a visit."""
        known = [one for one in self.calls if one.state == following.state]
        calls = [one for one in known if (one.label, following.state) in self.graph.moves[visit.state]]
        return any(self._made(one, following, [visit.state]) for one in calls)

    def stands(self, visit: Visit) -> bool:
        """Tell if a visit was not forgotten because a clock was set back."""
        return any(one is visit for one in self.visits)

    def _place(self, state: str, sight: Sight) -> int:
        place = len(self.visits)
        while place and self.visits[place - 1].state != state and self.graph.leads(state, self.visits[place - 1].state):
            place -= 1
        if not place:
            return 0
        before = self.visits[place - 1].state
        if before == state:
            return place - 1
        if not self.graph.leads(before, state):
            sight.fail(Rule.LIFECYCLE, f"{state} cannot follow {before}", self.subject)
        return place

    def before(self, visit: Visit) -> Visit | None:
        """Return the state before a visit, if one move leads from it."""
        place = self.visits.index(visit)
        found = self.visits[place - 1] if place else None
        return found if found and any(to == visit.state for _, to in self.graph.moves[found.state]) else None

    def causes(self, visit: Visit, extra: Callable[[str], bool]) -> bool:
        """Say if calls, deadlines or `extra` causes lead to a visit from the one before it."""
        if not self.stands(visit):
            return True
        place = self.visits.index(visit)
        starts = [self.visits[place - 1].state] if place else self.graph.starts
        labels = {one.label for one in self.calls if self._made(one, visit, starts)}

        def usable(name: str, state: str) -> bool:
            if name == TIME:
                due = self._due(state)
                return due is None or due <= visit.first.ended
            return name in labels or extra(name)

        return any(state == visit.state or self.graph.path(state, visit.state, usable) for state in starts)

    def _made(self, call: Call, visit: Visit, starts: Iterable[str]) -> bool:
        if call.state not in (None, visit.state) or not call.span.low < visit.first_high:
            return False
        return all((due := self._due(state)) is None or call.span.began <= due for state in starts)

    def _due(self, state: str) -> datetime | None:
        found = self.find(state)
        return found.due if found else None

    def possible(self, span: Span) -> set[str]:
        """Return the states that the thing may have been in at the moment of a call."""
        states: set[str] = set()
        for place, visit in enumerate(self.visits):
            is_last = place + 1 == len(self.visits)
            left = not is_last and self.visits[place + 1].first_high <= span.low
            if (not left or self._is_set_back(place, span)) and self._entered(place, span):
                states.add(visit.state)
        for state in list(states):
            self._spread(state, span, states)
        return states

    def _entered(self, place: int, span: Span) -> bool:
        visit = self.visits[place]
        if visit.first_high <= span.low or not place:
            return True
        before = self.visits[place - 1]
        moves = [name for name, to in self.graph.moves[before.state] if to == visit.state]
        calls = [one for one in self.calls if one.label in moves and one.state in (None, visit.state)]
        if any(one.span.low < span.high for one in calls):
            return True
        if not moves or any(name != TIME and (":" not in name or name.startswith("left")) for name in moves):
            return True
        return TIME in moves and (before.due is None or before.due <= span.ended)

    def _spread(self, state: str, span: Span, states: set[str]) -> None:
        lost = {one.label for one in self.calls if one.state is None and one.span.low < span.high}
        due = self._due(state)
        for name, to in self.graph.moves[state]:
            timed = name in (TIME, PANEL) and due is not None and due <= span.ended
            if (timed or name in lost or name == VERDICT) and to not in states:
                states.add(to)
                self._spread(to, span, states)
