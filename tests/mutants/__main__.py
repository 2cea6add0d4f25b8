"""Make mistakes in a room of the package, and tell which no test notices.

``python -m tests.mutants ROOM`` takes a seeded sample, one of each function and constant of the
room at least; ``--full`` takes all. Of the tests of ``make test`` those run that the room names.
"""

import argparse
import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter

import pytest

from tests.mutants.rooms import ROOMS, files_of, module_name
from tests.mutants.rounds import FAULT, KILLED, NO_MODULE, SURVIVED, Rounds, mutants_of, sampled

QUIETLY = (
    "-q",
    "-s",
    "-p",
    "no:cacheprovider",
    "--tb=no",
    "-m",
    "not slow and not sdk and not browser",
    # The package, a plug-in of pytest, is imported before pytest could look at its assertions.
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)
PROFILE = "--hypothesis-profile=mutants"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: 0 when enough mutants die, else 1."""
    options = _parser().parse_args(arguments)
    room = ROOMS[options.room]
    files = files_of(room)
    for path in files:
        # Some modules are loaded late, or by no test at all.
        import_module(module_name(path))
    found = mutants_of(files)
    if options.only:
        found = [mutant for mutant in found if mutant.name in options.only]
    wanted = found if options.full else sampled(found, options.sample, options.seed)
    rounds = Rounds(files, wanted, options.jobs)
    start = perf_counter()
    if pytest.main([*QUIETLY, PROFILE, *(options.tests or room.tests.split())], [rounds]) not in {
        0,
        5,
    }:
        return 1
    killed, survived = len(rounds.ended[KILLED]), rounds.ended[SURVIVED]
    share = killed / ((killed + len(survived)) or 1)
    chosen = "all" if options.full else f"seed {options.seed}"
    print(
        f"{options.room}: {killed + len(survived)} of {len(found)} mutants tried ({chosen}), "
        f"{killed} killed ({share:.1%}; {rounds.stopped} by time or memory), "
        f"{len(survived)} survived, {len(rounds.ended[NO_MODULE])} cannot be imported, "
        f"{len(rounds.ended[FAULT])} not tried; {perf_counter() - start:.0f} seconds"
    )
    if options.report:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        told = [f"{mutant.where}: {mutant.change}" for mutant in survived]
        options.report.write_text(json.dumps(told, indent=2, ensure_ascii=False), "utf-8")
    return int(share < room.wanted or bool(rounds.ended[FAULT]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("room", choices=ROOMS, help="the room to make mistakes in")
    parser.add_argument("tests", nargs="*", help="the tests to run, not the room's own")
    parser.add_argument("--sample", type=int, default=300, metavar="N", help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--full", action="store_true", help="every mutant")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--only", action="append", help="a function or a constant to mutate")
    parser.add_argument("--report", type=Path, help="a JSON file for the survivors")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
