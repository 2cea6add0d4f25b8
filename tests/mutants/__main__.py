"""Make mistakes in a room of the package, and tell which no test notices.

``python -m tests.mutants ROOM`` takes a seeded sample, one of each function and constant of the
room at least; ``--full`` takes all. Of the tests of ``make test`` those run that the room names.
With ``--matrix FILE`` each test is tried on each mutant: ``tests.mutants.cover`` reads the file.

``python -m tests.mutants --planted FILE`` makes the mistakes that somebody has written, and runs
the tests of ``make test``. The file is a JSON list of objects: ``file``, ``old`` (a text that is
once in the file), ``new`` (its replacement) and ``what`` (a sentence).
"""

import argparse
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module
from math import inf
from pathlib import Path
from time import perf_counter

from tests.mutants import matrix, planting
from tests.mutants.rooms import ROOMS, files_of, module_name
from tests.mutants.rounds import (
    FAULT,
    KILLED,
    NO_MODULE,
    SECONDS,
    SURVIVED,
    Rounds,
    mutants_of,
    sampled,
    write_json,
)

PROFILE = "--hypothesis-profile=mutants"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: 0 when enough mutants die, else 1."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.planted:
        # The first test stands where a room would stand.
        options.tests = [*filter(None, [options.room]), *options.tests]
        return planting.command(options)
    if options.room not in ROOMS:
        parser.error(f"no room: {options.room}; there are {', '.join(ROOMS)}")
    return _command(options)


def _command(options: Namespace) -> int:
    """Make mistakes in a room: 0 when the share of them dies that the room wants."""
    room = ROOMS[options.room]
    files = files_of(room)
    for path in files:
        # Some modules are loaded late, or by no test at all.
        import_module(module_name(path))
    found = mutants_of(files)
    if options.only:
        found = [mutant for mutant in found if mutant.name in options.only]
    wanted = found if options.full else sampled(found, options.sample, options.seed)
    seconds = options.seconds or (inf if options.matrix else SECONDS)
    rounds = Rounds(files, wanted, options.jobs, seconds=seconds, every=bool(options.matrix))
    start = perf_counter()
    if not rounds.run(PROFILE, *(options.tests or room.tests.split())):
        return 1
    killed, survived = len(rounds.ended[KILLED]), rounds.ended[SURVIVED]
    share = killed / ((killed + len(survived)) or 1)
    chosen = "all" if options.full else f"seed {options.seed}"
    print(
        f"{options.room}: {killed + len(survived)} of {len(found)} mutants tried ({chosen}), "
        f"{killed} killed ({share:.1%}; {len(rounds.stopped)} by time or memory), "
        f"{len(survived)} survived, {len(rounds.ended[NO_MODULE])} cannot be imported, "
        f"{len(rounds.ended[FAULT])} not tried; {perf_counter() - start:.0f} seconds"
    )
    if options.report:
        write_json(options.report, [f"{mutant.where}: {mutant.change}" for mutant in survived])
    if options.matrix:
        write_json(options.matrix, matrix.of_rounds(rounds))
    return int(share < room.wanted or bool(rounds.ended[FAULT]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("room", nargs="?", help="the room to make mistakes in")
    parser.add_argument("tests", nargs="*", help="the tests to run, not the room's own, or not all")
    parser.add_argument("--sample", type=int, default=300, metavar="N", help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--full", action="store_true", help="every mutant")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--only", action="append", help="a function or a constant to mutate")
    parser.add_argument(
        "--seconds",
        type=float,
        help="how long the tests of one mutant may take: 30, of a planted one "
        f"{planting.SECONDS:.0f}, for a matrix as long as they take",
    )
    parser.add_argument("--report", type=Path, help="a JSON file for the survivors")
    parser.add_argument("--matrix", type=Path, help="a JSON file for all tests that kill a mutant")
    parser.add_argument("--planted", type=Path, help="a JSON file with mutants, in place of a room")
    parser.add_argument(
        "--processes",
        action="store_true",
        help="try planted survivors in copies, with the tests that start processes",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
