"""Kill a program that runs five calls, again and again, and look for what is lost or runs twice.

Run it:  python -m tests.running.kills --rounds 200 --seed 1
"""

import argparse
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from promptdsl import (
    Message,
    SqliteStore,
    ToolResultBlock,
    ToolUseBlock,
    Transcript,
    run_calls,
)

CALLS = 5
MOMENTS = ("before", "in", "after")
"""Before the function of a call does anything, after it did, and after its result is stored."""
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


def work_on(folder: Path, moment: str, number: int) -> None:
    """Go on with the calls of a transcript; the program is killed at a moment of one of them.

    What happens is written to a file, a line for each event.
    """
    events = os.open(folder / "events.txt", os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def note(event: str, call: ToolUseBlock) -> None:
        if event != "before":
            os.write(events, f"{event} {call.id}\n".encode())
        if (event, call.id) == (moment, str(number)):
            os.kill(os.getpid(), signal.SIGKILL)

    def refund(call: ToolUseBlock) -> str:
        note("before", call)
        note("in", call)
        return f"refunded {call.id}"

    transcript = Transcript.open("chat", store=SqliteStore(folder / "chats.db"))
    if not transcript.messages:
        transcript.append("Refund all.")
    if len(transcript) == 1:
        calls = [ToolUseBlock(str(index), "refund", "{}") for index in range(CALLS)]
        transcript.append(Message("assistant", calls))
    for result in run_calls(transcript.pending_calls, [refund]):
        (block,) = result.content
        assert isinstance(block, ToolResultBlock)
        transcript.append(result)
        note("after", ToolUseBlock(block.tool_use_id, "refund", "{}"))


def killed(run: Callable[[], None], seconds: float | None) -> bool:
    """Run a function in a process of its own; return whether it was killed.

    It is killed from outside after some seconds, where they are given.
    """
    child = os.fork()
    if child == 0:
        try:
            run()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), f"the program failed: {status}"
    return status != 0


def stored_in(folder: Path) -> list[str]:
    """Return the texts of the results that are in the store."""
    transcript = Transcript.open("chat", store=SqliteStore(folder / "chats.db"))
    return [message.text for message in transcript if message.role == "tool"]


def events_in(folder: Path) -> list[tuple[str, str]]:
    """Return what happened: the events, each with the id of its call."""
    path = folder / "events.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(event, id) for event, _, id in (line.partition(" ") for line in lines)]


def problems_after(folder: Path, before: int, stored: list[str]) -> Iterator[str]:
    """Yield what is wrong after a kill: ``stored`` was in the store when the program began."""
    events, now = events_in(folder), stored_in(folder)
    if now != [f"refunded {index}" for index in range(len(now))]:
        yield f"the store has {now}"
    for event, id in events:
        if event == "after" and f"refunded {id}" not in now:
            yield f"the result of {id} was handed over, and is not in the store"
        if event == "in" and not {f"refunded {index}" for index in range(int(id))} <= {*now}:
            yield f"{id} ran before the results ahead of it were in the store"
    for event, id in events[before:]:
        if event == "in" and f"refunded {id}" in stored:
            yield f"{id} ran again, and its result was stored"


def play_round(random: Random, kills: Iterator[tuple[str, int]], counts: Counter[str]) -> None:
    """Kill a program until its calls are done: at moments, then at any time."""
    with TemporaryDirectory(dir=MEMORY) as name:
        folder = Path(name)
        while True:
            moment, number = next(kills, ("", 0))
            seconds = random.random() * 0.02 if not moment and random.random() < 0.7 else None
            before, stored = len(events_in(folder)), stored_in(folder)
            was_killed = killed(lambda: work_on(folder, moment, number), seconds)  # noqa: B023
            counts["kills"] += was_killed
            counts.update(problems_after(folder, before, stored))
            if not was_killed:
                break
        starts = Counter(id for event, id in events_in(folder) if event == "in")
        counts["calls"] += CALLS
        counts["ran again"] += sum(starts.values()) - CALLS
        if len(stored_in(folder)) != CALLS:
            counts["a round is not finished"] += 1


def play(rounds: int, seed: int) -> Counter[str]:
    """Return the figures of some rounds, and what is wrong, with its count."""
    random, counts = Random(seed), Counter[str]()
    moments = [(moment, number) for number in range(CALLS) for moment in MOMENTS]
    for index in range(rounds):
        # Each moment of each call comes first in a round; some rounds go on with further moments.
        first = moments[(7 * (index + seed)) % len(moments)]
        kills = iter([first, *random.sample(moments, random.randrange(4))])
        play_round(random, kills, counts)
    return counts


FIGURES = {"kills", "calls", "ran again"}
"""The figures that are no problem."""


def main() -> int:
    """Play rounds, print their figures, and return 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts = play(options.rounds, options.seed)
    for name, count in counts.items():
        print(f"{count:6} {name}")
    return int(not counts.keys() <= FIGURES)


if __name__ == "__main__":
    sys.exit(main())
