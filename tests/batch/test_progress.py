"""How far a batch is: lines on standard error, every ten seconds."""

import time
from itertools import count

import pytest

from tests.batch.folders import Folder

ROWS = [{"question": "fail" if n % 16 == 9 else f"Is it number {n} of 64?"} for n in range(64)]


@pytest.mark.parametrize(
    "case",
    [
        (
            0.5,
            "--hints",
            [
                "21 rows, 1 failed, 2 a second, about 20 s left",
                "41 rows, 2 failed, 2 a second, about 11 s left",
                "61 rows, 4 failed, 2 a second, about 2 s left",
            ],
        ),
        (
            0.5,
            "--dry-run",
            [
                "22 rows, 1 failed, 2 a second, about 19 s left",
                "42 rows, 3 failed, 2 a second, about 11 s left",
                "62 rows, 4 failed, 2 a second, about 1 s left",
            ],
        ),
        (0.25, "--hints", ["41 rows, 2 failed, 4 a second, about 6 s left"]),
        (0.125, "--hints", []),
    ],
)
def test_lines_every_ten_seconds(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, case: tuple[float, str, list[str]]
) -> None:
    """Each has the rows, those that failed, the rate behind the first row, and the time left."""
    seconds, option, expected = case
    first = folder.table(ROWS[:32], "a.jsonl")
    second = folder.table(ROWS[32:], "b.jsonl")
    times = count(100)
    monkeypatch.setattr(time, "monotonic", lambda: next(times) * seconds)
    command = folder.batch("failing", first, second, option)
    assert expected == [line for line in command.err.splitlines() if line.endswith(" left")]
