"""Tell which tests a room needs, and which kill no mutant that others would not kill.

``python -m tests.mutants.cover FILE...`` reads matrices that ``python -m tests.mutants ROOM
--matrix FILE`` has written. A candidate kills no mutant alone: it may be deleted, unless it claims
what no mutant breaks. Candidates may share a kill; those that are not in the cover may go at once.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.mutants.matrix import Matrix, read

LEAST = 0.001
"""The seconds that a test takes at least: below it nothing can be measured."""


class Chosen(NamedTuple):
    """A test of a cover, with how many mutants it kills that those before it do not."""

    test: str
    kills: int


class Candidate(NamedTuple):
    """A test function that kills no mutant alone, with how many kills it shares with which."""

    function: str
    tests: Sequence[str]
    kills: int
    shared: Sequence[tuple[str, int]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.cover", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a matrix")
    matrix = read(parser.parse_args(arguments).files)
    chosen = cover(matrix)
    _print_cover(matrix, chosen)
    _print_candidates(matrix, candidates(matrix), {function_of(each.test) for each in chosen})
    return 0


def cover(matrix: Matrix) -> list[Chosen]:
    """Return tests that kill all mutants which any test kills; most kills per second first."""
    left = set[int]().union(*matrix.kills.values())
    chosen: list[Chosen] = []
    while left:
        rates = {
            test: len(kills & left) / max(matrix.seconds[test], LEAST)
            for test, kills in matrix.kills.items()
        }
        best = max(rates, key=rates.__getitem__)
        chosen.append(Chosen(best, len(matrix.kills[best] & left)))
        left -= matrix.kills[best]
    return chosen


def candidates(matrix: Matrix) -> list[Candidate]:
    """Return the functions that kill no mutant alone, by file."""
    tests: dict[str, list[str]] = defaultdict(list)
    killers: dict[int, set[str]] = defaultdict(set)
    for test, kills in matrix.kills.items():
        tests[function_of(test)].append(test)
        for mutant in kills:
            killers[mutant].add(function_of(test))
    found: list[Candidate] = []
    for function in sorted(tests):
        shared = [others - {function} for others in killers.values() if function in others]
        if all(shared):
            counts = Counter(other for others in shared for other in others)
            most = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:3]
            found.append(Candidate(function, tests[function], len(shared), most))
    return found


def function_of(test: str) -> str:
    """Return the id of the function of a test: those that differ in their arguments share it."""
    return test.partition("[")[0]


def _print_cover(matrix: Matrix, chosen: Sequence[Chosen]) -> None:
    killed = sum(each.kills for each in chosen)
    seconds = sum(matrix.seconds[each.test] for each in chosen)
    print(
        f"{len(matrix.mutants)} mutants, of which {len(matrix.kills)} tests kill {killed} "
        f"in {sum(matrix.seconds.values()):.1f} s; the cover: {len(chosen)} tests, {seconds:.1f} s"
    )
    if matrix.left_out:
        print(f"there was no time for a test {matrix.left_out} times: what follows may be wrong")
    for each in chosen:
        print(f"{each.kills:5} kills {matrix.seconds[each.test]:8.3f} s  {each.test}")


def _print_candidates(matrix: Matrix, found: Sequence[Candidate], needed: set[str]) -> None:
    print(f"\n{len(found)} functions kill no mutant alone; those with * are in the cover")
    file = ""
    for each in found:
        if each.function.partition("::")[0] != file:
            file = each.function.partition("::")[0]
            print(f"\n{file}")
        seconds = sum(matrix.seconds[test] for test in each.tests)
        print(
            f"{'*' if each.function in needed else ' '} {each.function.partition('::')[2]}  "
            f"{len(each.tests)} tests, {seconds:.3f} s, {each.kills} kills: "
            f"{matrix.claims[each.tests[0]]}"
        )
        for other, count in each.shared:
            print(f"      {count} shared with {other}")


if __name__ == "__main__":
    raise SystemExit(main())
