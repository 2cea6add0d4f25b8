"""A matrix of kills: the tests that ran on mutants, and all of them that killed each."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.mutants.rounds import Rounds


@dataclass(slots=True)
class Matrix:
    """Tests by their ids: what each claims, its seconds, and the mutants it kills, by number."""

    claims: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    kills: dict[str, set[int]] = field(default_factory=dict)
    mutants: list[str] = field(default_factory=list)
    left_out: int = 0
    """How many times there was no time for a test."""


def of_rounds(rounds: Rounds) -> dict[str, object]:
    """Return what is known after rounds in which every test was tried, as plain data."""
    tests = sorted({test for tests in rounds.tried.values() for test in tests})
    places = {test: place for place, test in enumerate(tests)}
    mutants = [*rounds.tried]
    return {
        "mutants": [
            {"where": each.where, "change": each.change, "left_out": rounds.left_out[each]}
            for each in mutants
        ],
        "tests": [
            {
                "nodeid": rounds.items[test].nodeid,
                "claim": _claim(rounds.items[test]),
                "seconds": round(rounds.seconds.get(test, rounds.traced.seconds[test]), 4),
            }
            for test in tests
        ],
        "kills": [
            [number, places[death.test]]
            for number, mutant in enumerate(mutants)
            for death in rounds.deaths.get(mutant, ())
        ],
    }


def read(paths: Iterable[Path]) -> Matrix:
    """Return what several matrices have, as one."""
    matrix = Matrix()
    for path in paths:
        content = json.loads(path.read_text("utf-8"))
        first = len(matrix.mutants)
        matrix.mutants += [f"{each['where']}: {each['change']}" for each in content["mutants"]]
        matrix.left_out += sum(each["left_out"] for each in content["mutants"])
        ids = [test["nodeid"] for test in content["tests"]]
        for test in content["tests"]:
            matrix.claims[test["nodeid"]] = test["claim"]
            matrix.seconds[test["nodeid"]] = test["seconds"]
            matrix.kills.setdefault(test["nodeid"], set())
        for mutant, test in content["kills"]:
            matrix.kills[ids[test]].add(first + mutant)
    return matrix


def _claim(item: pytest.Item) -> str:
    """Return the sentence of a test; an example of the documentation has none."""
    written = getattr(getattr(item, "function", None), "__doc__", None) or ""
    return written.strip().partition("\n")[0]
