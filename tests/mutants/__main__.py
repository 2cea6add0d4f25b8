"""Run the tests of the encoder against its mutants: ``python -m tests.mutants``."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import pytest

from promptdsl import encoding
from tests.mutants.module import mutants
from tests.mutants.rounds import KILLED, SURVIVED, Rounds

TESTS = "tests/test_encoding.py"
QUIETLY = ("-q", "-x", "-s", "-p", "no:cacheprovider", "--assert=plain", "--tb=no")
"""Nobody reads why a test failed, and some sets are long."""
WANTED = 0.95


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: 0 when enough mutants die, else 1."""
    options = _parser().parse_args(arguments)
    found = mutants(Path(encoding.__file__).read_text("utf-8"))
    asked = [mutant for mutant in found if options.only in {None, mutant.name}]
    rounds = Rounds(encoding, asked, options.jobs)
    start = perf_counter()
    if pytest.main([*QUIETLY, TESTS], [rounds]) not in {0, 5}:
        return 1
    print(f"{perf_counter() - start:.0f} seconds")
    shares = [_share("module", len(rounds.ended[KILLED]), len(rounds.ended[SURVIVED]))]
    if options.bodies:
        told = json.loads(options.bodies.read_text("utf-8"))
        dead = told["killed"] + told["timeout"]
        shares.append(_share("bodies", dead, told["total"] - dead))
    return int(min(shares) < WANTED)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--only", help="the constant or function to mutate")
    parser.add_argument("--bodies", type=Path, help="what mutmut exported about function bodies")
    return parser


def _share(what: str, killed: int, survived: int) -> float:
    share = killed / ((killed + survived) or 1)
    print(
        f"{what}: {killed + survived} mutants, {killed} killed ({share:.1%}), {survived} survived"
    )
    return share


if __name__ == "__main__":
    raise SystemExit(main())
