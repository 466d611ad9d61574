"""`python -m tests.mutants`: change the rules, run their tests, and print which changes were not noticed."""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256

from tests.mutants import clauses
from tests.mutants.changes import ROOT, Change, Source, path_of, read, sample
from tests.mutants.excuses import EXCUSES
from tests.mutants.modules import TESTED_BY, paths_of
from tests.mutants.runner import limit_of, prepare, run

SEED, SAMPLE = "emporion", 900
MIN_NOTICED, MAX_EXCUSED = 0.90, 0.03
KEPT = ROOT / ".mutants" / "results.jsonl"


def main() -> int:
    """Run the requested changes; return 0 only if enough were noticed."""
    asked = _arguments()
    if asked.clauses:
        return clauses.main()
    modules = [
        name for name in TESTED_BY if not asked.modules or name.removeprefix("tools.") in asked.modules.split(",")
    ]
    sources = {name: read(name) for name in modules}
    found = [change for source in sources.values() for change in source.changes]
    wanted = sample(found, len(found) if asked.sample == "all" else int(asked.sample), asked.seed)
    print(f"{len(found)} changes in {len(modules)} modules, {len(wanted)} of them drawn with the seed {asked.seed!r}")
    noticed = judged(sources, wanted, workers=asked.workers, keep=not asked.again)
    return reported(wanted, noticed)


def judged(sources: dict[str, Source], wanted: list[Change], *, workers: int, keep: bool) -> dict[str, bool]:
    """Return by name if each change was noticed; reuse the stored results of earlier runs."""
    prints = {name: fingerprint(name) for name in sources}
    earlier = dict(_kept()) if keep else {}
    noticed = {one.name: earlier[key] for one in wanted if (key := _key(prints[one.module], one)) in earlier}
    missing = [one for one in wanted if one.name not in noticed]
    tests = {name: paths_of(name) for name in {one.module for one in missing}}
    prepare(dict.fromkeys(path for paths in tests.values() for path in paths))
    limits = {name: limit_of(sources[name], paths) for name, paths in tests.items()}
    KEPT.parent.mkdir(exist_ok=True)
    with KEPT.open("a", encoding="utf-8") as file:
        tried = run(((sources[one.module], one) for one in missing), tests, limits, workers=workers)
        for number, (change, ended) in enumerate(tried, 1):
            assert change is not None
            noticed[change.name] = ended.noticed
            file.write(json.dumps([_key(prints[change.module], change), ended.noticed]) + "\n")
            file.flush()
            if number % 100 == 0:
                print(f"{number} of {len(missing)} tried", flush=True)
    return noticed


def reported(wanted: list[Change], noticed: dict[str, bool]) -> int:
    """Print the unnoticed changes and the score; return 0 only if it is good enough."""
    excused = {one.name for one in EXCUSES}
    missed = [one for one in wanted if not noticed[one.name]]
    for one in sorted(missed, key=lambda change: (change.module, change.line)):
        if one.name not in excused:
            print(
                f"{one.module.replace('.', '/')}.py:{one.line} {one.operator} in {one.function or 'the module'}: {one.text}"
            )
    total, kinds = Counter(one.module for one in wanted), Counter(one.module for one in missed)
    forgiven = Counter(one.module for one in missed if one.name in excused)
    for name, number in total.items():
        print(f"{name:<28}{number:>6} changes{number - kinds[name]:>6} noticed{forgiven[name]:>4} excused")
    share, pardon = 1 - len(missed) / len(wanted), sum(forgiven.values()) / len(wanted)
    print(
        f"{len(wanted) - len(missed)} of {len(wanted)} noticed: {share:.1%} (at least {MIN_NOTICED:.0%}); {pardon:.1%} excused"
    )
    return 0 if share >= MIN_NOTICED and pardon <= MAX_EXCUSED else 1


def fingerprint(module: str) -> str:
    """Hash all rules and the module's tests: stored results are valid until one changes."""
    paths = [
        *sorted((ROOT / "tools" / "kernel").glob("*.py")),
        *map(path_of, TESTED_BY),
        *(ROOT / path for path in paths_of(module)),
        path_of(module),
    ]
    return sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()


def _key(printed: str, change: Change) -> str:
    return sha256(f"{printed}:{change.name}".encode()).hexdigest()[:32]


def _kept() -> Iterator[tuple[str, bool]]:
    if KEPT.exists():
        for line in KEPT.read_text(encoding="utf-8").splitlines():
            key, noticed = json.loads(line)
            yield key, noticed


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--modules", help="their last names, with commas; all without it")
    parser.add_argument("--sample", default=str(SAMPLE), help="how many changes, or `all`")
    parser.add_argument("--seed", default=SEED, help="what the sample is drawn with")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--again", action="store_true", help="try again what an earlier run has kept")
    parser.add_argument(
        "--clauses", action="store_true", help="the named changes that the test of a clause must notice"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
