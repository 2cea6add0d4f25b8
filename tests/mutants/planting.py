"""The command for planted mutants: the tests of ``make test``, and what came of each mutant."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import NamedTuple

from tests.mutants import matrix
from tests.mutants.copies import killers
from tests.mutants.planted import Planted, planted_in, traced_files
from tests.mutants.rounds import FAULT, KILLED, NO_MODULE, OUT_OF_REACH, Rounds, write_json

PROFILE = "--hypothesis-profile=fast"
SECONDS = 240.0


class End(NamedTuple):
    """What a mutant came to: who killed it, and after how many seconds of a processor."""

    killer: str | None
    seconds: float | None = None


def command(options: Namespace) -> int:
    """Make the mistakes that somebody has written: 0 when all die, else 1."""
    start = perf_counter()
    mutants = planted_in(options.planted)
    seconds = options.seconds or SECONDS
    every = bool(options.matrix)
    rounds = Rounds(traced_files(mutants), mutants, options.jobs, seconds=seconds, every=every)
    if not rounds.run(PROFILE, *options.tests):
        return 1
    ends = {mutant: _end(rounds, mutant) for mutant in mutants}
    if options.processes:
        left = [mutant for mutant, end in ends.items() if not end.killer]
        print(f"{len(left)} mutants in copies", flush=True)
        tests = {mutant: _tests_of_copies(rounds, mutant) for mutant in left}
        ends |= {mutant: End(killer) for mutant, killer in killers(tests, options.jobs).items()}
    survivors = {mutant: _why(rounds, mutant) for mutant, end in ends.items() if not end.killer}
    for mutant, why in survivors.items():
        print(f"survived  {mutant.where}: {mutant.change}  ({why})")
    print(
        f"{len(mutants) - len(survivors)} of {len(mutants)} planted mutants killed, "
        f"{len(survivors)} survived; {perf_counter() - start:.0f} seconds"
    )
    if options.report:
        write_json(options.report, _report(ends, survivors))
    if options.matrix:
        write_json(options.matrix, matrix.of_rounds(rounds))
    return int(bool(survivors))


def _end(rounds: Rounds, mutant: Planted) -> End:
    for death in rounds.deaths.get(mutant, ()):
        return End(rounds.items[death.test].nodeid, round(death.seconds, 3))
    if mutant in rounds.ended[NO_MODULE]:
        return End("the import of the module")
    return End("a limit of time or memory" if mutant in rounds.ended[KILLED] else None)


def _tests_of_copies(rounds: Rounds, mutant: Planted) -> list[str]:
    """Return the tests that start processes; also those that were not tried in a fork."""
    tests = [*rounds.traced.processes]
    if mutant in rounds.ended[OUT_OF_REACH]:
        tests = [*dict.fromkeys([*rounds.tried[mutant], *tests])]
    return [rounds.items[index].nodeid for index in tests]


def _why(rounds: Rounds, mutant: Planted) -> str:
    """Return what has not noticed a mutant."""
    if mutant in rounds.ended[OUT_OF_REACH]:
        return "not in a function or constant: only --processes makes it"
    if mutant in rounds.ended[FAULT]:
        return "not tried"
    if not rounds.tried[mutant]:
        return "no test runs it"
    left_out = rounds.left_out[mutant]
    return f"{len(rounds.tried[mutant])} tests" + (f", no time for {left_out}" if left_out else "")


def _report(
    ends: Mapping[Planted, End], survivors: Mapping[Planted, str]
) -> dict[str, Sequence[object]]:
    return {
        "survived": [
            {"where": mutant.where, "what": mutant.change, "why": why}
            for mutant, why in survivors.items()
        ],
        "killed": [
            {"where": mutant.where, "what": mutant.change, **end._asdict()}
            for mutant, end in ends.items()
            if end.killer
        ],
    }
