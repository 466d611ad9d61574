"""The operators make exactly the changes that they are named after, and a sample is spread over the lines."""

from collections import Counter

from tests.mutants.changes import found_in, sample

CODE = '''
"""A module."""
from os import path
LEAST = 3
ROWS = (make("a", when=LEAST), make("b"))

def judged(one: int, given: list[int] | None = None) -> bool:
    """Say so."""
    assert one is not None
    if not given or one < LEAST:
        given.append(True)
        raise ValueError("few")
    return any(other == one + 1 for other in zip(given, given, strict=True) if other)

class Held:
    total: int = 0

    def add(self) -> None:
        self.total += 1
        return None
'''
EXPECTED = {
    ("constant", "", "LEAST = 3 -> LEAST = 4"),
    ("constant", "", "LEAST = 3 -> LEAST = 2"),
    ("removed row", "", "make('a', when=LEAST) -> (removed)"),
    ("removed row", "", "make('b') -> (removed)"),
    ("removed row", "", "when=LEAST -> (removed)"),
    ("removed statement", "judged", "if not given or one < LEAST: -> (removed)"),
    ("boolean", "judged", "not given or one < LEAST -> not given and one < LEAST"),
    ("boolean", "judged", "not given or one < LEAST -> not not given or one < LEAST"),
    ("comparison", "judged", "not given or one < LEAST -> not given or one <= LEAST"),
    ("comparison", "judged", "not given or one < LEAST -> not given or one >= LEAST"),
    ("removed statement", "judged", "given.append(True) -> (removed)"),
    ("boolean", "judged", "given.append(True) -> given.append(False)"),
    ("removed statement", "judged", "raise ValueError('few') -> (removed)"),
    ("removed statement", "Held.add", "self.total += 1 -> (removed)"),
    ("arithmetic", "Held.add", "self.total += 1 -> self.total -= 1"),
    ("constant", "Held.add", "self.total += 1 -> self.total += 2"),
    ("constant", "Held.add", "self.total += 1 -> self.total += 0"),
    ("return value", "Held.add", "return None -> return 1"),
    ("constant", "Held", "total: int = 0 -> total: int = 1"),
    ("constant", "Held", "total: int = 0 -> total: int = -1"),
}
RETURN = "return any((other == one + 1 for other in zip(given, given, strict=True) if other))"
OF_THE_RETURN = {
    ("return value", "return None"),
    ("boolean", RETURN.replace("any", "all")),
    ("comparison", RETURN.replace("==", "!=")),
    ("arithmetic", RETURN.replace("+", "-")),
    ("constant", RETURN.replace("1", "2")),
    ("constant", RETURN.replace("1", "0")),
    ("boolean", RETURN.replace("if other", "if not other")),
}


def test_each_operator_changes_what_it_is_named_for_and_nothing_else() -> None:
    made = {(one.operator, one.function, one.text) for one in found_in("m", CODE).changes}
    assert made == EXPECTED | {(operator, "judged", f"{RETURN} -> {text}") for operator, text in OF_THE_RETURN}


def test_a_change_is_compiled_and_taken_back() -> None:
    source = found_in("m", "def f(x: int) -> int:\n    if x > 3:\n        return 1\n    return 2\n")
    came: Counter[tuple[int, ...]] = Counter()
    for change in source.changes:
        held: dict[str, object] = {}
        exec(source.compiled(change), held)
        came[tuple(held["f"](x) for x in (2, 3, 4, 5))] += 1  # type: ignore[operator]
    held = {}
    exec(source.compiled(), held)
    assert [held["f"](x) for x in (3, 4)] == [2, 1]  # type: ignore[operator]
    assert (2, 2, 1, 1) not in came, "every change changes something"
    assert came[2, 1, 1, 1] == 2, "x >= 3 and x > 2"


def test_changes_that_are_written_alike_have_names_of_their_own() -> None:
    changes = found_in("m", "def f(x):\n    x.a()\n    x.a()\n").changes
    assert [one.text for one in changes] == ["x.a() -> (removed)", "x.a() -> (removed) (2)"]


def test_a_sample_takes_each_line_once_before_any_twice_and_is_the_same_for_a_seed() -> None:
    changes = list(found_in("m", "".join(f"A{n} = {n} + {n} + {n}\n" for n in range(20))).changes)
    drawn = sample(changes, 30, "a seed")
    assert drawn == sample(list(reversed(changes)), 30, "a seed")
    assert drawn != sample(changes, 30, "another")
    assert len({one.line for one in drawn[:20]}) == 20
    assert max(Counter(one.line for one in drawn).values()) == 2
    assert len(sample(changes, 10_000, "a seed")) == len(changes)
