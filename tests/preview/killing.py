"""Kill processes of previews at random: python -m tests.preview.killing ROUNDS [SEED].

Each round starts a preview, saves now and then, kills its server, its nursery or its child at a
random moment, and counts the processes that are left when the server has ended.
"""

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.preview.processes import marked, none_left
from tests.preview.running import SUPPORT, preview

CODES = (
    SUPPORT,
    SUPPORT.replace("    with", "    while True: pass\n    with", 1),
    SUPPORT.replace("    with", "    print('x' * 10_000_000)\n    with", 1),
    SUPPORT.replace(
        "    with", "    import subprocess; subprocess.Popen(['sleep', '99'])\n    with", 1
    ),
)
"""Prompts: one that is good, one that never ends, one that prints, one that starts a process."""
LONGEST = 4.0
"""The seconds after which something is killed, at most."""


def killed(chance: random.Random, folder: Path) -> str:
    """Run a preview, kill one of its processes and then the server; return what is left."""
    (folder / "pyproject.toml").write_text("")
    (folder / "support.py").write_text(SUPPORT)
    options = ["--cold"] * chance.randrange(2)
    with preview(folder, "support.py:answer", "--model", "gpt-5", *options) as running:
        end = time.monotonic() + chance.uniform(0, LONGEST)
        while time.monotonic() < end:
            (folder / "support.py").write_text(chance.choice(CODES))
            time.sleep(chance.uniform(0, 0.3))
        victims = [pid for pid in marked(running.mark) if pid != running.process.pid]
        for pid in chance.sample(victims, min(len(victims), chance.randrange(3))):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # it ended by itself
                continue
        running.process.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        running.process.wait(60)
        return "" if none_left(running.mark) else f"left: {marked(running.mark)}"


def main(rounds: int, seed: int) -> int:
    """Print what was left after each round, and return how many rounds left something."""
    chance = random.Random(seed)
    problems = 0
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            problem = killed(chance, Path(folder))
        problems += bool(problem)
        print(f"round {number + 1}: {problem or 'nothing is left'}", flush=True)
    return problems


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
